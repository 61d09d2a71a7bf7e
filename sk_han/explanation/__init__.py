"""Explanations as data: read-only arrays and texts, without a model."""

from sk_han.explanation.alignment import Alignment
from sk_han.explanation.collection import ExplanationList
from sk_han.explanation.description import FitCost, TextDescription
from sk_han.explanation.document import DocumentExplanation, ScoredText
from sk_han.explanation.fit_summary import FitSummary
from sk_han.explanation.report import ClassScores, LengthBin, Report
from sk_han.explanation.summary import ClassSummary, Context, Removal, Summary, Term

__all__ = [
    "Alignment",
    "ClassScores",
    "ClassSummary",
    "Context",
    "DocumentExplanation",
    "ExplanationList",
    "FitCost",
    "FitSummary",
    "LengthBin",
    "Removal",
    "Report",
    "ScoredText",
    "Summary",
    "Term",
    "TextDescription",
]
