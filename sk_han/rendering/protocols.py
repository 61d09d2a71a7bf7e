"""What renderings draw: results, of whose classes they know values and attributes alone."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Level = Literal["word", "sentence"]
Quantity = Literal["contributions", "attention"]
Part = Literal["network", "ngrams"]

# One class of `sk_han.inspection.results` has each of these, and says what is in it.
Explained: TypeAlias = Any  # DocumentExplanation
ExplainedDocuments: TypeAlias = Any  # ExplanationList
Audited: TypeAlias = Any  # LabelAudit
Measured: TypeAlias = Any  # FaithfulnessReport
Reported: TypeAlias = Any  # Report
Summarized: TypeAlias = Any  # Summary, with its parts
SummarizedClass: TypeAlias = Any
SummarizedTerm: TypeAlias = Any
Removed: TypeAlias = Any
