"""What reports on one class and on several labels a document share."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.result import Result
from sk_han.inspection.results.span_checks import frozen
from sk_han.utils.caching import cached_property

Shapes = dict[str, tuple[tuple[int | None, ...], type[np.generic]]]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOutReport(Result):
    """Held-out documents, what a model says of them, and what it is compared with."""

    estimator: str
    labels: tuple[Any, ...]
    targets: NDArray[Any]
    probabilities: NDArray[np.float64]
    n_words: NDArray[np.int64] | None
    texts: tuple[str, ...] | None
    mistakes: ExplanationList
    mistake_rows: NDArray[np.int64]
    suspects: NDArray[np.int64]
    duplicates: tuple[tuple[int, ...], ...]
    trained_on: NDArray[np.int64] | None
    baseline: NDArray[np.float64] | None
    baseline_note: str
    history: tuple[Mapping[str, float], ...]
    notes: tuple[str, ...]
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n, put = self.n_documents, object.__setattr__
        put(self, "labels", tuple(self.labels))
        put(self, "duplicates", tuple(tuple(map(int, group)) for group in self.duplicates))
        put(self, "history", tuple(dict(epoch) for epoch in self.history))
        put(self, "notes", tuple(self.notes))
        shapes: Shapes = {
            "n_words": ((n,), np.int64),
            "groups": ((n,), np.int64),
            "mistake_rows": ((None,), np.int64),
            "trained_on": ((None,), np.int64),
            "baseline": ((n, len(self.labels)), np.float64),
        }
        for name, (shape, dtype) in (shapes | self._shapes()).items():
            value = getattr(self, name)
            if value is not None:
                put(self, name, frozen(value, name, shape, dtype))
        if len(self.mistakes) not in (0, len(self.mistake_rows)):
            raise ValueError(
                f"mistakes must hold none or {len(self.mistake_rows)} explanations, one for each "
                f"of mistake_rows; got {len(self.mistakes)}."
            )
        if self.texts is not None:
            put(self, "texts", tuple(self.texts))
            if len(self.texts) != n:
                raise ValueError(
                    f"texts must be {n}, one for each document; got {len(self.texts)}."
                )

    @property
    def n_documents(self) -> int:
        """Number of held-out documents."""
        return len(self.targets)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of the most probable label of each document, shape (n_documents,)."""
        return self.probabilities.max(axis=1)

    @abstractmethod
    def marked(self, row: int) -> Any:
        """Return the label, or the labels, that a document has."""

    def has_conflict(self, group: tuple[int, ...]) -> bool:
        """Return whether the documents of a group of `duplicates` have different labels."""
        return len({self.marked(row) for row in group}) > 1

    @abstractmethod
    def _shapes(self) -> Shapes:
        """Return shape and type of the arrays that only one kind of report has so."""


def shares_of(
    n: int, n_predicted: int, n_right: int
) -> tuple[int, int, float | None, float | None, float | None]:
    """Return both numbers of documents, precision, recall and F1; None for a share of nothing."""
    precision = n_right / n_predicted if n_predicted else None
    recall = n_right / n if n else None
    f1 = 2 * n_right / (n + n_predicted) if n + n_predicted else None
    return n, n_predicted, precision, recall, f1
