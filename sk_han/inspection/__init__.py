"""How predictions come about: explanations, summaries, reports and measures of them, as data.

The classes load on first use, since a `Scorer` predicts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_han.inspection.results.document import ScoredText
    from sk_han.inspection.results.faithfulness import FaithfulnessReport
    from sk_han.inspection.results.fit_summary import FitSummary, TrainingSummary
    from sk_han.inspection.results.label_audit import DoubtfulLabel, LabelAudit
    from sk_han.inspection.results.report import ClassScores, LengthBin, Report
    from sk_han.inspection.results.result import Result
    from sk_han.inspection.results.selective import SelectiveThreshold
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
    "SelectiveThreshold",
    "Term",
    "TrainingSummary",
]

_MODULE_OF = {
    "ClassScores": "report",
    "ClassSummary": "summary",
    "Context": "summary",
    "DoubtfulLabel": "label_audit",
    "FaithfulnessReport": "faithfulness",
    "FitSummary": "fit_summary",
    "LabelAudit": "label_audit",
    "LengthBin": "report",
    "Removal": "summary",
    "Report": "report",
    "Result": "result",
    "ScoredText": "document",
    "SelectiveThreshold": "selective",
    "Term": "summary",
    "TrainingSummary": "fit_summary",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.results.{_MODULE_OF[name]}"), name)
