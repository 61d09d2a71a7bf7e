"""How predictions come about: explanations, summaries, reports and measures of them, as data."""

from sk_han.inspection.results.document import ScoredText
from sk_han.inspection.results.faithfulness import FaithfulnessReport
from sk_han.inspection.results.fit_summary import FitSummary, TrainingSummary
from sk_han.inspection.results.label_audit import DoubtfulLabel, LabelAudit
from sk_han.inspection.results.report import ClassScores, LengthBin, Report
from sk_han.inspection.results.result import Result
from sk_han.inspection.results.summary import ClassSummary, Context, Removal, Term

__all__ = [
    "ClassScores",
    "ClassSummary",
    "Context",
    "DoubtfulLabel",
    "FaithfulnessReport",
    "FitSummary",
    "LabelAudit",
    "LengthBin",
    "Removal",
    "Report",
    "Result",
    "ScoredText",
    "Term",
    "TrainingSummary",
]
