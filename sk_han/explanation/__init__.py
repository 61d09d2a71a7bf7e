"""Explanations as data: frozen arrays and texts, with no model inside."""

from sk_han.explanation.collection import ExplanationList
from sk_han.explanation.document import DocumentExplanation, ScoredText

__all__ = ["DocumentExplanation", "ExplanationList", "ScoredText"]
