"""Result of `faithfulness_report`: data without a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import (
    Bar,
    Block,
    Fold,
    Heading,
    Sentence,
    Span,
    Table,
    Text,
    decimal,
    with_minus,
)
from sk_han._rendering.figures import plot_faithfulness
from sk_han._rendering.result import Extent, Result
from sk_han._utils.containers import make_frame
from sk_han._utils.messages import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

HIGHER_IS_BETTER = {
    "comprehensiveness": True,
    "sufficiency": False,
    "flip": False,
    "lds": True,
}
# Column heading and meaning of each metric.
COLUMNS = {
    "comprehensiveness": (
        "drop without the top words",
        "how much the probability of the predicted class, or the difference of a predicted number "
        "from that without words, drops when the words ranked highest are removed. A large drop "
        "means that the prediction depended on them.",
    ),
    "sufficiency": (
        "drop with the top words alone",
        "how much it drops when only these words are kept; below 0 it rises.",
    ),
    "flip": (
        "words to change the prediction",
        "the smallest share of words that must be removed, the highest ranked first, to change the "
        "predicted class, or to reverse that difference; 1 if it never changes.",
    ),
    "lds": (
        "linear datamodeling score",
        "the rank correlation between sums of contributions of random sets of sentences and what "
        "the model predicts from these sentences alone (Cohen-Wang et al., 2024). 1 means that "
        "sizes of contributions are right, 0 that they are no better than chance.",
    ),
}
BETTER = {
    True: "\N{UPWARDS ARROW} higher is better",
    False: "\N{DOWNWARDS ARROW} lower is better",
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FaithfulnessReport(Result):
    """Faithfulness of explanation methods to one estimator, on one set of documents.

    `faithfulness_report` returns it; `print` shows it as a table.

    Parameters
    ----------
    values : mapping of str to mapping of str to ndarray of float64, shape (n_documents,)
        ``values[metric][method]``: a value for each document, NaN if it was left out.
    means : mapping of str to mapping of str to float
        ``means[metric][method]`` over the documents that were not left out.
    intervals : mapping of str to mapping of str to (float, float)
        Ends of the 95 % confidence interval of each mean (Student's t); NaN with fewer than three
        documents or if all values are equal.
    differences : mapping of str to mapping of str to (float, float)
        The same for the paired difference between each method and the control "random". If this
        interval contains 0 or is NaN, there is no evidence that the method is better than chance.
    seconds : mapping of str to float
        Time that each method takes to explain one document.
    fractions : tuple of float
        Fractions of words over which comprehensiveness and sufficiency are averaged.
    n_without_words : int
        Number of documents without words, which are left out of all metrics.

    Notes
    -----
    The metrics are `comprehensiveness`, `sufficiency`, `flip` and `lds`; see `faithfulness_report`.
    """

    values: Mapping[str, Mapping[str, NDArray[np.float64]]]
    means: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    differences: Mapping[str, Mapping[str, tuple[float, float]]]
    seconds: Mapping[str, float]
    fractions: tuple[float, ...]
    n_without_words: int

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods in the given order; an added control is last."""
        return tuple(self.seconds)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(self.values)

    @property
    def n_documents(self) -> int:
        """Number of documents, including those left out."""
        return len(next(iter(self.values["flip"].values())))

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame indexed by method.

        Its columns are ``metric``, ``metric_low`` and ``metric_high`` for each metric, then
        ``seconds``.
        """
        columns: dict[str, Any] = {"method": self.methods}
        for metric in self.metrics:
            columns[metric] = [self.means[metric][method] for method in self.methods]
            intervals = np.array([self.intervals[metric][method] for method in self.methods])
            columns[f"{metric}_low"], columns[f"{metric}_high"] = intervals.T
        columns["seconds"] = list(self.seconds.values())
        return make_frame(columns).set_index("method")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot comprehensiveness and sufficiency of each method with their intervals."""
        return plot_faithfulness(self, ax)

    def __repr__(self) -> str:
        return f"FaithfulnessReport({plural(self.n_documents)}, {', '.join(self.methods)})"

    def may_be_chance(self, metric: str, method: str) -> bool:
        """Return whether a method's difference from "random" is not significant."""
        if method not in self.differences[metric]:  # the control itself
            return False
        low, high = self.differences[metric][method]
        return not (low > 0 or high < 0)

    @property
    def coverage(self) -> str:
        """Number of documents measured and left out, and the shares of words."""
        left_out = ""
        if self.n_without_words:
            left_out = f" ({self.n_without_words:,} without words left out)"
        shares = ", ".join(f"{100 * fraction:g}" for fraction in self.fractions)
        return (
            f"{plural(self.n_documents)}{left_out}. Means with 95 % confidence intervals; "
            f"comprehensiveness and sufficiency are averaged over {shares} % of the words."
        )

    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        yield Heading(f"Faithfulness of explanations of {plural(self.n_documents)}", 1)
        in_short = extent == "terminal"
        if not in_short:
            yield Sentence(
                [
                    "Do explanations name the words that decide? Each method ranked the words of "
                    "each document; then the top words were removed, and the model predicted "
                    "again. Compare each method with the random ranking (",
                    Span("random", "strong"),
                    "): a method that is not better does not explain this model.",
                ]
            )  # fmt: skip
        heads: list[Text] = [
            f"{metric} {BETTER[HIGHER_IS_BETTER[metric]][0]}"
            if in_short
            else [COLUMNS[metric][0], Span(metric, "small"), Span(BETTER[better], "small")]
            for metric, better in ((metric, HIGHER_IS_BETTER[metric]) for metric in self.metrics)
        ]
        rows = [
            [
                Span(method),
                *(self._cell(metric, method) for metric in self.metrics),
                f"{1000 * self.seconds[method]:.1f}",
            ]
            for method in self.methods
        ]
        yield Table(rows, ["method", *heads, "ms per document"], "report")
        notes: list[Block] = [Sentence(note) for note in (self.coverage, *self._notes())]
        if in_short:
            yield from notes
        else:
            terms = [
                Sentence([Span(metric, "strong"), f": {COLUMNS[metric][1]}"])
                for metric in self.metrics
            ]
            yield Fold("What the columns mean", [*terms, *notes])

    def _cell(self, metric: str, method: str) -> Text:
        mean = self.means[metric][method]
        if math.isnan(mean):
            return decimal(mean)
        low, high = self.intervals[metric][method]
        ends = "\N{EN DASH}" if math.isnan(low) else f"{decimal(low)}, {decimal(high)}"
        chance = " \N{ALMOST EQUAL TO}" if self.may_be_chance(metric, method) else ""
        interval = Span(with_minus(f"[{ends}]"), "small")
        return [
            Bar(mean / max(1.0, *self.means[metric].values()), "attention"),
            Span(with_minus(decimal(mean)), "strong"),
            f"{chance} ",
            interval,
        ]

    def _notes(self) -> Iterable[str]:
        """Yield the meaning of the symbols in the table."""
        yield " ".join(f"{better}." for better in BETTER.values())
        pairs = [
            (metric, method)
            for metric, method in product(self.metrics, self.methods)
            if not math.isnan(self.means[metric][method])
        ]
        if any(self.may_be_chance(metric, method) for metric, method in pairs):
            yield (
                "\N{ALMOST EQUAL TO} may be chance: the confidence interval of the difference from "
                "random contains 0 or is missing."
            )
        if any(math.isnan(self.intervals[metric][method][0]) for metric, method in pairs):
            yield (
                "[\N{EN DASH}] no interval: fewer than three documents, or all values are equal."
            )
