"""How predictions come about: explanations, summaries, reports and measures of them, as data.

The classes load on first use, since a `Scorer` predicts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sk_han.inspection.coarsening import CoarserClassifier, LevelClassifier
    from sk_han.inspection.results.document import ScoredText
    from sk_han.inspection.results.faithfulness import FaithfulnessReport
    from sk_han.inspection.results.label_audit import DoubtfulLabel, LabelAudit
    from sk_han.inspection.results.report import ClassScores, LengthBin, Report
    from sk_han.inspection.results.selective import SelectiveThreshold
    from sk_han.inspection.results.summary import ClassSummary, Context, Removal, Term
    from sk_han.model.class_mix import MixEstimate
    from sk_han.model.comparing import Comparison, DriftReport
    from sk_han.model.fit_summary import FitSummary, TrainingSummary
    from sk_han.rendering.result import Result

__all__ = [
    "ClassScores",
    "ClassSummary",
    "CoarserClassifier",
    "Comparison",
    "Context",
    "DoubtfulLabel",
    "DriftReport",
    "FaithfulnessReport",
    "FitSummary",
    "LabelAudit",
    "LengthBin",
    "LevelClassifier",
    "MixEstimate",
    "Removal",
    "Report",
    "Result",
    "ScoredText",
    "SelectiveThreshold",
    "Term",
    "TrainingSummary",
]

_MODULE_OF = {
    "ClassScores": "sk_han.inspection.results.report",
    "ClassSummary": "sk_han.inspection.results.summary",
    "CoarserClassifier": "sk_han.inspection.coarsening",
    "Comparison": "sk_han.model.comparing",
    "Context": "sk_han.inspection.results.summary",
    "DriftReport": "sk_han.model.comparing",
    "DoubtfulLabel": "sk_han.inspection.results.label_audit",
    "FaithfulnessReport": "sk_han.inspection.results.faithfulness",
    "FitSummary": "sk_han.model.fit_summary",
    "LabelAudit": "sk_han.inspection.results.label_audit",
    "LengthBin": "sk_han.inspection.results.report",
    "LevelClassifier": "sk_han.inspection.coarsening",
    "MixEstimate": "sk_han.model.class_mix",
    "Removal": "sk_han.inspection.results.summary",
    "Report": "sk_han.inspection.results.report",
    "Result": "sk_han.rendering.result",
    "ScoredText": "sk_han.inspection.results.document",
    "SelectiveThreshold": "sk_han.inspection.results.selective",
    "Term": "sk_han.inspection.results.summary",
    "TrainingSummary": "sk_han.model.fit_summary",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
