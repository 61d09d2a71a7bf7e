"""Explanations as data: read-only arrays and texts, without a model."""

from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.description import FitCost, TextDescription
from sk_han.inspection.results.document import DocumentExplanation, ScoredText
from sk_han.inspection.results.faithfulness import FaithfulnessReport
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.inspection.results.label_audit import DoubtfulLabel, LabelAudit
from sk_han.inspection.results.multilabel_report import LabelScores, MultilabelReport
from sk_han.inspection.results.report import ClassScores, LengthBin, Report
from sk_han.inspection.results.result import Result
from sk_han.inspection.results.suggestions import SuggestedDocument, Suggestions
from sk_han.inspection.results.summary import ClassSummary, Context, Removal, Summary, Term
from sk_han.inspection.results.training_summary import TrainingSummary

__all__ = [
    "ClassScores",
    "ClassSummary",
    "Context",
    "DocumentExplanation",
    "DoubtfulLabel",
    "ExplanationList",
    "FaithfulnessReport",
    "FitCost",
    "FitSummary",
    "LabelAudit",
    "LabelScores",
    "LengthBin",
    "MultilabelReport",
    "Removal",
    "Report",
    "Result",
    "ScoredText",
    "SuggestedDocument",
    "Suggestions",
    "Summary",
    "Term",
    "TextDescription",
    "TrainingSummary",
]
