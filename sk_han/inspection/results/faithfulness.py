"""Measurements of methods of explanation: read-only data, without a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.result import Result
from sk_han.rendering.faithfulness_page import plot_faithfulness, render_faithfulness
from sk_han.rendering.fit_page import table_lines
from sk_han.rendering.shading import decimal
from sk_han.utils.containers import frame_of
from sk_han.utils.messages import agreeing, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

HIGHER_IS_BETTER = {
    "comprehensiveness": True,
    "sufficiency": False,
    "flip": False,
    "auprc": True,
    "token_f1": True,
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FaithfulnessReport(Result):
    """Faithfulness of methods of explanation to one estimator, on one set of documents.

    `faithfulness_report` returns it; `print` shows it as a table.

    Parameters
    ----------
    values : mapping of str to mapping of str to ndarray of float64, shape (n_documents,)
        ``values[metric][method]``: a value for each document, NaN if it was left out.
    means : mapping of str to mapping of str to float
        ``means[metric][method]`` over the documents that were not left out.
    intervals : mapping of str to mapping of str to (float, float)
        Lower and upper end of the 95 % interval of each mean (Student's t); NaN if it is of fewer
        than three documents, or all have the same, which does not tell how others vary.
    differences : mapping of str to mapping of str to (float, float)
        The same for the mean difference of every other method to the control "random", document
        by document. This interval shows whether a method is better than the control: if it
        contains 0 or is NaN, there is no evidence of a difference from chance.
    seconds : mapping of str to float
        Time of each method for the explanation of one document.
    fractions : tuple of float
        Fractions over which comprehensiveness and sufficiency are means.
    n_without_words : int
        Number of documents left out of all metrics, since they have no words.
    n_without_rationale : int or None
        Number of documents left out of `auprc` and `token_f1`, since none of their words is
        marked. None without rationales.

    Notes
    -----
    The metrics are `comprehensiveness`, `sufficiency` and `flip`, with rationales also `auprc`
    and `token_f1`; see `faithfulness_report`.
    """

    values: Mapping[str, Mapping[str, NDArray[np.float64]]]
    means: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    differences: Mapping[str, Mapping[str, tuple[float, float]]]
    seconds: Mapping[str, float]
    fractions: tuple[float, ...]
    n_without_words: int
    n_without_rationale: int | None

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the given order; the control is last if it was added."""
        return tuple(self.seconds)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(self.values)

    @property
    def n_documents(self) -> int:
        """Number of documents, including those that were left out."""
        return len(next(iter(self.values["flip"].values())))

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one row for each method, which is its index.

        For each metric it has the columns ``metric``, ``metric_low`` and ``metric_high``, then
        ``seconds``.
        """
        columns: dict[str, Any] = {"method": self.methods}
        for metric in self.metrics:
            columns[metric] = [self.means[metric][method] for method in self.methods]
            intervals = np.array([self.intervals[metric][method] for method in self.methods])
            columns[f"{metric}_low"], columns[f"{metric}_high"] = intervals.T
        columns["seconds"] = list(self.seconds.values())
        return frame_of(columns, "FaithfulnessReport.to_frame").set_index("method")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw comprehensiveness and sufficiency of each method, with their intervals."""
        return plot_faithfulness(self, ax)

    def __repr__(self) -> str:
        return f"FaithfulnessReport({counted(self.n_documents)}, {', '.join(self.methods)})"

    def to_text(self) -> str:
        """Return the table as lines of text."""
        signs = ("+" if self.higher_is_better(metric) else "-" for metric in self.metrics)
        names = (f"{metric} ({sign})" for metric, sign in zip(self.metrics, signs, strict=True))
        header = ["", *names, "ms a document"]
        rows = [
            [
                method,
                *(self._cell(metric, method) for metric in self.metrics),
                f"{1000 * self.seconds[method]:.1f}",
            ]
            for method in self.methods
        ]
        lines = table_lines(header, rows)
        return "\n".join([*lines, self._footnote])

    def _cell(self, metric: str, method: str) -> str:
        if math.isnan(self.means[metric][method]):
            return "\N{EN DASH} "
        low, high = self.intervals[metric][method]
        ends = "-" if math.isnan(low) else f"{decimal(low, 3)}, {decimal(high, 3)}"
        mark = "=" if self.may_be_chance(metric, method) else " "
        return f"{decimal(self.means[metric][method], 3)} [{ends}]{mark}"

    def may_be_chance(self, metric: str, method: str) -> bool:
        """Return whether the interval of a method's difference to "random" holds 0, or is none."""
        if method not in self.differences[metric]:  # the control itself
            return False
        low, high = self.differences[metric][method]
        return not (low > 0 or high < 0)

    def higher_is_better(self, metric: str) -> bool:
        """Return whether a higher value of a metric is a better one."""
        return HIGHER_IS_BETTER[metric]

    @property
    def coverage(self) -> str:
        """How many documents were measured and left out, and with which shares of words."""
        left_out = ""
        if self.n_without_words:
            left_out = f", {self.n_without_words} of them without words and left out"
        if self.n_without_rationale:
            n = self.n_without_rationale
            left_out += f"; {n:,} without a marked word {agreeing(n, 'count')} for no rationale"
        shares = ", ".join(f"{100 * fraction:g}" for fraction in self.fractions)
        return (
            f"{counted(self.n_documents)}{left_out}. Means with 95 % intervals (Student's t);\n"
            f"comprehensiveness and sufficiency over {shares} % of the words."
        )

    def _markup(self, *, full_page: bool) -> str:
        return render_faithfulness(self, full_page=full_page)

    @property
    def _footnote(self) -> str:
        meaning = ""
        pairs = [
            (metric, method)
            for metric, method in product(self.metrics, self.methods)
            if not math.isnan(self.means[metric][method])
        ]
        if any(self.may_be_chance(metric, method) for metric, method in pairs):
            meaning = (
                "\n= may be chance here: "
                "the interval of the difference to random holds 0, or there is none."
            )
        if any(math.isnan(self.intervals[metric][method][0]) for metric, method in pairs):
            why = "one or two documents, or equal values, do not tell how others vary"
            meaning += f"\n[-] no interval: {why}."
        return f"{self.coverage} (+) higher is better, (-) lower.{meaning}"
