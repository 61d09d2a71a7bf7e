"""Explanations as data: read-only arrays and texts, without a model."""

from sk_han.explanation.alignment import Alignment
from sk_han.explanation.collection import ExplanationList
from sk_han.explanation.document import DocumentExplanation, ScoredText
from sk_han.explanation.report import ClassScores, LengthBin, Report

__all__ = [
    "Alignment",
    "ClassScores",
    "DocumentExplanation",
    "ExplanationList",
    "LengthBin",
    "Report",
    "ScoredText",
]
