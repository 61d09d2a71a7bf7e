"""What renderings ask of results: values and attributes. Which class has them, they do not know.

What each attribute means is said where the class is, in `sk_han.inspection.results`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Explained",
    "ExplainedDocuments",
    "Level",
    "Measured",
    "Part",
    "Quantity",
    "Removed",
    "Reported",
    "Summarized",
    "SummarizedClass",
    "SummarizedTerm",
]

Level = Literal["word", "sentence"]
Quantity = Literal["contributions", "attention"]
Part = Literal["network", "ngrams"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Explained(Protocol):
    """An explanation of one document."""

    @property
    def text(self) -> str: ...
    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def sentences(self) -> tuple[str, ...]: ...
    @property
    def word_spans(self) -> Integers: ...
    @property
    def sentence_spans(self) -> Integers: ...
    @property
    def sentence_of_word(self) -> Integers: ...
    @property
    def word_attention(self) -> Floats: ...
    @property
    def sentence_attention(self) -> Floats: ...
    @property
    def combined_attention(self) -> Floats: ...
    @property
    def combine(self) -> str: ...
    @property
    def contributions(self) -> Floats: ...
    @property
    def sentence_contributions(self) -> Floats: ...
    @property
    def ngram_contributions(self) -> Floats | None: ...
    @property
    def method(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def spread(self) -> float | None: ...
    @property
    def completeness_error(self) -> float | None: ...
    @property
    def classes(self) -> NDArray[Any]: ...
    @property
    def probabilities(self) -> Floats: ...
    @property
    def predicted(self) -> Any: ...
    @property
    def predicted_probability(self) -> float: ...
    @property
    def labels(self) -> tuple[Any, ...] | None: ...
    @property
    def answer(self) -> Any: ...
    @property
    def target(self) -> Any: ...
    @property
    def unknown(self) -> NDArray[np.bool_]: ...
    @property
    def truncated(self) -> bool: ...
    def top(self, k: int | None = 10, level: Level = "word") -> Sequence[Any]: ...


class ExplainedDocuments(Protocol):
    """Explanations of several documents, with their numbers and true labels."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Explained: ...
    def __iter__(self) -> Iterator[Explained]: ...
    @property
    def numbers(self) -> Integers: ...
    @property
    def y_true(self) -> NDArray[np.object_] | None: ...
    def by_document(self) -> Iterator[ExplainedDocuments]: ...


# One class has each of these, in `sk_han.inspection.results`, and says what is in it.
Measured: TypeAlias = Any  # FaithfulnessReport
Reported: TypeAlias = Any  # Report
Summarized: TypeAlias = Any  # Summary, with its parts
SummarizedClass: TypeAlias = Any
SummarizedTerm: TypeAlias = Any
Removed: TypeAlias = Any
