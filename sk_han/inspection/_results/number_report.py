"""Result of `report` for a model of numbers: predictions on held-out documents and their errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import Block, Matrix, amount
from sk_han._rendering.figures import plot_matrix
from sk_han._rendering.report import number_report_blocks
from sk_han._rendering.result import Extent, plain
from sk_han._utils.containers import make_frame
from sk_han._utils.messages import plural
from sk_han._utils.metrics import Figures, accuracy_interval, bootstrap, number_figures
from sk_han.inspection._results.report import HeldOutReport, equal_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

COVERAGES = (0.5, 0.8, 0.9)
RANGES = 8  # of true numbers in the picture
_NO_LIMIT = dict.fromkeys(("mean_absolute_error", "root_mean_squared_error"), (0.0, np.inf))
_ENDS = {**_NO_LIMIT, "r2": (-np.inf, 1.0)}


class ErrorBin(NamedTuple):
    """Errors of documents of similar numbers or lengths, `lowest` to `highest`.

    `mean_error` is the mean of predicted less true numbers.
    """

    lowest: float
    highest: float
    n_documents: int
    mean_absolute_error: float
    mean_error: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NumberReport(HeldOutReport):
    """Numbers that a fitted model predicts of held-out documents, and where they are far off.

    `report` returns it. `to_html` writes the full page; `print` shows a short form.

    Parameters
    ----------
    estimator : str
        Name of the model's class.
    targets, predicted : ndarray of float64, shape (n_documents,)
        True and predicted numbers.
    intervals : ndarray of float64, shape (3, n_documents, 2), default=None
        Ends of the intervals of 50, 80 and 90 %, if the model has them.
    n_words, texts, duplicates, trained_on, notes, groups, ids, slices, n_slices
        See `Report`.
    mistakes : ExplanationList of n_mistakes DocumentExplanation, or empty
        The largest errors, explained; empty if that is not possible.
    mistake_rows : ndarray of int64, shape (n_mistakes,)
        Documents of these errors, the largest first.
    baseline : ndarray of float64, shape (n_documents,), or None
        Numbers predicted by the baseline.
    baseline_note : str
        What the baseline is, or why there is none.
    baseline_name : str, default="baseline"
        Name of the baseline's class.
    """

    what, measure = "number", "R2"

    intervals: NDArray[np.float64] | None = None

    @property
    def commonest_label(self) -> float:
        """The median of the true numbers, with four digits."""
        return float(f"{np.median(self.targets):.4g}")

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Scores of the model, of the baseline if there is one, and of always the median.

        Each has `mean_absolute_error`, `root_mean_squared_error` and `r2` with the ends of their
        95 % intervals (`r2_low`, `r2_high`), Student's t with the variance of bootstrap samples.
        With fewer than ten documents or groups they are NaN. If errors have heavy tails, intervals
        of the root mean squared error are too narrow. `coverage_90` is the share of true numbers in
        the intervals of 90 % of the model.
        """
        every = np.ones((1, self.n_documents))
        result = {
            name: self._with_ends(
                number_figures(predicted, self.targets, every), self._resampled[name], _ENDS
            )
            for name, predicted in self._models()
        }
        for share, ends in zip(
            COVERAGES, () if self.intervals is None else self.intervals, strict=False
        ):
            inside = (ends[:, 0] <= self.targets) & (self.targets <= ends[:, 1])
            low, high = accuracy_interval(inside, self.groups)
            name = f"coverage_{100 * share:.0f}"
            result["model"] |= {
                name: inside.mean().item(),
                f"{name}_low": low,
                f"{name}_high": high,
            }
        return result

    @property
    def gain(self) -> tuple[float, float, float] | None:
        """Gain in R2 over the baseline, and its 95 % interval; None without baseline.

        The interval (Student's t with the variance of paired bootstrap samples) is NaN with fewer
        than ten documents or groups.
        """
        if self.baseline is None:
            return None
        model, baseline = (self._resampled[name]["r2"] for name in ("model", "baseline"))
        gain = self.scores["model"]["r2"] - self.scores["baseline"]["r2"]
        return self._pair_interval(gain, model - baseline)

    @property
    def by_number(self) -> list[ErrorBin]:
        """Errors of documents of similar true numbers, in up to five bins of about equal size."""
        return self._error_bins(self.targets)

    @property
    def by_length(self) -> list[ErrorBin]:
        """Errors of documents of similar length, in up to five bins of about equal size."""
        return [] if self.n_words is None else self._error_bins(self.n_words)

    @property
    def matrix(self) -> Matrix:
        """Number of documents by ranges of true (rows) and predicted numbers (columns).

        There are up to eight ranges, each with about as many true numbers.
        """
        edges = np.unique(np.quantile(self.targets, np.linspace(0, 1, RANGES + 1)[1:-1]))
        n, written = len(edges) + 1, [amount(edge) for edge in edges.tolist()]
        rows, columns = (
            np.searchsorted(edges, numbers) for numbers in (self.targets, self.predicted)
        )
        counts = np.bincount(n * rows + columns, minlength=n**2).reshape(n, n)
        ends = zip(["", *written], [*written, ""], strict=True)
        names = [f"above {low}" if not high else f"{low} to {high}".strip() for low, high in ends]
        shares = counts / counts.sum(axis=1, keepdims=True).clip(1)
        return Matrix(names, names, shares, ("true", "predicted"), counts, diagonal=True)

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, strings and numbers, ready for JSON."""
        same = (
            *("estimator", "notes", "scores", "gain", "baseline_name", "baseline_note"),
            *("duplicates", "trained_on", "by_number", "by_length", "slices", "n_slices"),
        )
        values = {name: getattr(self, name) for name in same}
        mistakes = zip(self.mistake_rows, self.mistakes, strict=False)
        values["mistakes"] = [{"row": row, "explanation": mistake} for row, mistake in mistakes]
        result: dict[str, Any] = plain(values | {"documents": self._document_columns()})
        return result

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one row per document."""
        return make_frame(self._document_columns())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the number of documents by ranges of true and predicted numbers."""
        return plot_matrix(self.matrix, ax, "NumberReport.plot")

    def __repr__(self) -> str:
        on, r2 = plural(self.n_documents), self.scores["model"]["r2"]
        return f"NumberReport({self.estimator}, {on}, R2 {r2:.3f})"

    def _models(self) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield name and predicted numbers of model, baseline and median."""
        yield "model", self.predicted
        if self.baseline is not None:
            yield "baseline", self.baseline
        yield "commonest", np.full(self.n_documents, self.commonest_label)

    @cached_property
    def _resampled(self) -> dict[str, Figures]:
        return {
            name: bootstrap(predicted, self.targets, self.groups, number_figures)
            for name, predicted in self._models()
        }

    def _error_bins(self, values: NDArray[Any]) -> list[ErrorBin]:
        result = []
        for rows in equal_bins(values):
            errors, ends = (self.predicted - self.targets)[rows], values[rows]
            means = float(np.abs(errors).mean()), float(errors.mean())
            result.append(ErrorBin(ends.min().item(), ends.max().item(), len(rows), *means))
        return result

    def _document_columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {} if self.ids is None else {"document": list(self.ids)}
        columns |= {"number": self.targets.tolist(), "predicted": self.predicted.tolist()}
        if self.intervals is not None:
            columns["lower"], columns["upper"] = self.intervals[-1].T.tolist()
        baseline = None if self.baseline is None else self.baseline.tolist()
        return columns | self._further_columns(baseline)

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        return number_report_blocks(self, extent)
