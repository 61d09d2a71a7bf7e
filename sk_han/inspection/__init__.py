"""How predictions come about: explanations, summaries, reports and measures of them, as data."""

from sk_han.inspection.results import (
    Alignment,
    ClassScores,
    ClassSummary,
    Context,
    FaithfulnessReport,
    FitCost,
    FitSummary,
    LengthBin,
    Removal,
    Report,
    ScoredText,
    Term,
    TextDescription,
)

__all__ = [
    "Alignment",
    "ClassScores",
    "ClassSummary",
    "Context",
    "FaithfulnessReport",
    "FitCost",
    "FitSummary",
    "LengthBin",
    "Removal",
    "Report",
    "ScoredText",
    "Term",
    "TextDescription",
]
