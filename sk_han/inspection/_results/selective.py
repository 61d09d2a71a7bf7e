"""The result of `selective_threshold`: the threshold and the risk-coverage curve."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import Bar, Block, Heading, Sentence, Span, Table, decimal, percent
from sk_han._rendering.result import Extent, ReadOnlyResult, plain
from sk_han._utils.containers import make_frame
from sk_han._utils.messages import plural

if TYPE_CHECKING:
    from pandas import DataFrame

# The coverages that the table shows.
SHARES = (1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectiveThreshold(ReadOnlyResult):
    """The threshold from which predictions are accepted, and the risk-coverage curve.

    It is the result of `selective_threshold`.

    Parameters
    ----------
    threshold : float
        A prediction is accepted if its probability, the largest, is at least this; infinite if no
        threshold passed, so that nothing is accepted.
    max_error : float
        Highest share of mistakes among accepted documents.
    confidence_level : float
        Probability that the threshold keeps to `max_error`.
    thresholds : ndarray of float64, shape (n_thresholds,)
        All thresholds, the strictest first; the last one accepts all documents except blank texts.
    n_accepted : ndarray of int64, shape (n_thresholds,)
        Number of documents that each threshold accepts.
    n_errors : ndarray of int64, shape (n_thresholds,)
        Number of mistakes among them.
    upper_bounds : ndarray of float64, shape (n_thresholds,)
        Upper bound of the error at each threshold. Each bound holds by itself, but not for the
        threshold that is best by these bounds.
    tested : ndarray of bool, shape (n_thresholds,)
        Whether a threshold was tested; testing ends with the first one that fails.
    notes : tuple of str, default=()
        Remarks on the documents.
    n_blank : int, default=0
        Number of blank texts, which no threshold accepts.
    label : object, default=None
        With several labels per document, the label that is accepted, for documents predicted to
        have it.
    nearest_error : float, default=None
        If no threshold passed, the smallest whole percentage above `max_error` for which one would.
    of_groups : bool, default=False
        Whether this is a threshold of `coarser`, which answers with a class or a group.
    """

    threshold: float
    max_error: float
    confidence_level: float
    thresholds: NDArray[np.float64]
    n_accepted: NDArray[np.int64]
    n_errors: NDArray[np.int64]
    upper_bounds: NDArray[np.float64]
    tested: NDArray[np.bool_]
    notes: tuple[str, ...] = ()
    n_blank: int = 0
    label: Any = None
    nearest_error: float | None = None
    of_groups: bool = False

    @property
    def n_documents(self) -> int:
        """Number of documents by which the threshold was chosen."""
        return int(self.n_accepted[-1]) + self.n_blank

    @property
    def coverage(self) -> float:
        """Share of the documents that are accepted."""
        return self._at_threshold(self._shares, 0.0)

    @property
    def error(self) -> float:
        """Share of mistakes among accepted documents; NaN if no document is accepted."""
        return self._at_threshold(self._errors, math.nan)

    @property
    def upper_bound(self) -> float:
        """Upper bound of the error among accepted documents; NaN if no document is accepted."""
        return self._at_threshold(self.upper_bounds, math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, strings and numbers, ready for JSON."""
        names = "n_documents", "coverage", "error", "upper_bound"
        fields: dict[str, Any] = super().to_dict()
        return fields | {name: plain(getattr(self, name)) for name in names}

    def to_frame(self) -> DataFrame:
        """Return the risk-coverage curve as a pandas DataFrame with a row per threshold.

        Its columns are ``threshold``, ``coverage``, ``n_accepted``, ``n_errors``, ``error``,
        ``upper_bound`` and ``tested``.
        """
        columns = {
            "threshold": self.thresholds,
            "coverage": self._shares,
            "n_accepted": self.n_accepted,
            "n_errors": self.n_errors,
            "error": self._errors,
            "upper_bound": self.upper_bounds,
            "tested": self.tested,
        }
        return make_frame(columns)

    @property
    def _shares(self) -> NDArray[np.float64]:
        return self.n_accepted / max(self.n_documents, 1)

    @property
    def _errors(self) -> NDArray[np.float64]:
        nothing = np.full(len(self.thresholds), np.nan)
        return np.divide(self.n_errors, self.n_accepted, out=nothing, where=self.n_accepted > 0)

    def _at_threshold(self, values: NDArray[np.float64], otherwise: float) -> float:
        if math.isinf(self.threshold):
            return otherwise
        return float(values[self.thresholds == self.threshold][0])

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        title = f"Selective classification: {plural(self.n_documents)}"
        yield Heading([title, *([] if self.label is None else [" with ", Span(self.label)])], 1)
        yield from (Sentence(note, "han-note") for note in self.notes)
        yield Sentence(self._result(), "han-lead")
        yield Heading("Risk-coverage curve")
        least = (math.ceil(share * self.n_accepted[-1]) for share in SHARES)
        chosen = {int(np.argmax(self.n_accepted >= n)) for n in least}
        rows = [
            [
                f"{self.thresholds[i]:g}",
                Bar(float(self._shares[i]), "toward"),
                percent(float(self._shares[i])),
                percent(float(self._errors[i]), 1),
                percent(float(self.upper_bounds[i]), 1),
            ]
            for i in sorted({*chosen, *np.flatnonzero(self.thresholds == self.threshold).tolist()})
        ]
        head = ["threshold", "", "accepted", "wrong", "upper bound"]
        yield Table(rows, head, "classes")
        yield Sentence(
            "Wrong: the share of mistakes among accepted documents. Each upper bound holds by "
            "itself; choosing a threshold by them would break the promise.",
            "han-small",
        )

    def _result(self) -> str:
        level, wanted = percent(self.confidence_level), percent(self.max_error)
        if not math.isinf(self.threshold):
            rule = f"Accept predictions with a probability of at least {self.threshold:g}"
            if self.of_groups:
                rule = f"Answer with a class or a group, at a threshold of {self.threshold:g}"
            return (
                f"{rule}: {percent(self.coverage)} of the documents, {percent(self.error, 1)} of "
                f"them wrong. With {level} confidence at most {wanted} are wrong (upper bound: "
                f"{percent(self.upper_bound, 1)}), if documents to come are like these."
            )
        text = f"No threshold keeps the error to {wanted} with {level} confidence."
        if self.nearest_error is not None:
            text += (
                f" The nearest error that these documents support is {percent(self.nearest_error)}."
                " To promise it, test it on other documents."
            )
        first = int(self.tested.argmax())
        if not self.tested.any() or self._errors[first] < self.max_error:
            return f"{text} {wanted} may need no more than more documents."
        return f"{text} {wanted} needs a better model."

    def __repr__(self) -> str:
        n, coverage = plural(self.n_documents), decimal(self.coverage)
        return f"SelectiveThreshold({self.threshold:g}, {n}, coverage {coverage})"
