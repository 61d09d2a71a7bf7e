"""How predictions come about: explanations, summaries, reports and measures of them, as data."""

from sk_han.inspection.results import (
    ClassScores,
    ClassSummary,
    Context,
    FaithfulnessReport,
    FitCost,
    FitSummary,
    LabelScores,
    LengthBin,
    MultilabelReport,
    Removal,
    Report,
    Result,
    ScoredText,
    Term,
    TextDescription,
    TrainingSummary,
)

__all__ = [
    "ClassScores",
    "ClassSummary",
    "Context",
    "FaithfulnessReport",
    "FitCost",
    "FitSummary",
    "LabelScores",
    "LengthBin",
    "MultilabelReport",
    "Removal",
    "Report",
    "Result",
    "ScoredText",
    "Term",
    "TextDescription",
    "TrainingSummary",
]
