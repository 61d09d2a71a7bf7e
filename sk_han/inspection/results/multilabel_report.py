"""A report on a model of several labels a document: read-only data, without the model."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.report import HeldOutReport, What, largest_first
from sk_han.inspection.results.result import Shape
from sk_han.rendering.charts import plot_taken
from sk_han.rendering.report_page import render_label_report, report_frame, taken_frame
from sk_han.utils.messages import counted
from sk_han.utils.metrics import (
    averages,
    calibration_error_of_labels,
    effective_groups,
    interval_of,
    log_losses,
    resampled,
    resampled_half_width,
    resampled_share_interval,
    shares_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

# Of fewer documents or groups intervals are not told: those of macro figures of seven documents and
# three labels held the figure in 85 to 90 of 100 samples.
_FEWEST = 10
_ALIKE = 1e-9  # what all samples have says nothing of how others vary


class LabelScores(NamedTuple):
    """How well one label is found.

    `precision` is None if no document gets the label, `recall` and `average_precision` if none
    has it. `log_loss` is in nats, a mean over all documents; `threshold` is the probability from
    which on a document gets the label, None if it is not known.
    """

    label: Any
    n_documents: int
    n_predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    average_precision: float | None
    log_loss: float
    threshold: float | None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MultilabelReport(HeldOutReport):
    """Labels given by a fitted model to held-out documents, and where they are wrong.

    `report` returns it for a model of several labels a document. Its page (`to_html`) shows all
    parts; `print` shows the short form.

    Parameters
    ----------
    estimator, n_words, texts, duplicates, trained_on, baseline_note, history, notes, groups
        As of `Report`.
    labels : sequence of length n_labels
        In the order of the model's `classes_`.
    targets : ndarray of bool, shape (n_documents, n_labels)
        The labels that documents have.
    predicted : ndarray of bool, shape (n_documents, n_labels)
        The labels that the model gives them.
    probabilities : ndarray of float64, shape (n_documents, n_labels)
    mistakes : ExplanationList of n_mistakes DocumentExplanation, or empty
        The worst mistakes, explained for the label that is most wrong; empty if that is not
        possible.
    mistake_rows, mistake_labels : ndarray of int64, shape (n_mistakes,)
        The documents of the worst mistakes, and the position of the label that is missed or wrongly
        given with the most wrong probability.
    suspects : ndarray of int64, shape (n_suspects, 2)
        Documents and labels that look wrongly marked or unmarked, the most suspicious first.
    baseline : ndarray of float64, shape (n_documents, n_labels), or None
        Probabilities by TF-IDF and a logistic regression for each label.
    baseline_predicted : ndarray of bool, shape (n_documents, n_labels), default=None
        The labels that the baseline gives; None for those of a probability of one half or more.
    thresholds : ndarray of float64, shape (n_labels,), default=None
        The probabilities from which on documents get the labels.
    """

    predicted: NDArray[np.bool_]
    mistake_labels: NDArray[np.int64]
    baseline_predicted: NDArray[np.bool_] | None = None
    thresholds: NDArray[np.float64] | None = None

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether all labels of each document are right."""
        return (self.predicted == self.targets).all(axis=1)

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Scores of the model, and of the baseline if there is one.

        Precision, recall and F1 as `micro`, `macro` and `samples` average (`micro_f1`, ...), and
        `subset_accuracy`, each with the ends of its 95 % interval (`micro_f1_low`,
        `micro_f1_high`), and `mean_average_precision` over the labels that documents have, NaN
        where they have none.
        Intervals are Wilson's, of averages by the bias and variance of bootstrap samples; these are
        NaN with fewer than ten documents or groups and where all samples have the same. Macro
        intervals hold less often than they say where labels have one to four documents: 18 to 92 %
        of the time, least where there are many such labels. Labels that no document has or gets are
        left out of macro averages, and a document that has and gets none is right. `log_loss` is
        the mean of all labels; `calibration_error` is how far the share of documents with a label
        is from its probability, on average over ten bins of all probabilities above 0.05.
        """
        found = {}
        for name, probabilities, given in self._models():
            values = averages(given, self.targets)
            for figure, drawn in self._resampled[name].items():
                if figure == "subset_accuracy":
                    right = (given == self.targets).all(axis=1)
                    low, high = interval_of(right, self.groups)
                elif not self._n_drawn or np.ptp(drawn) < _ALIKE:
                    low = high = np.nan
                else:
                    low, high = resampled_share_interval(values[figure], drawn, self._n_drawn)
                values |= {f"{figure}_low": low, f"{figure}_high": high}
            precisions = [
                p for p in _average_precisions(probabilities, self.targets) if p is not None
            ]
            values["mean_average_precision"] = float(np.mean(precisions or [np.nan]))
            values["log_loss"] = float(log_losses(probabilities, self.targets).mean())
            values["calibration_error"] = calibration_error_of_labels(probabilities, self.targets)
            found[name] = values
        return found

    @cached_property
    def gain(self) -> tuple[float, float, float] | None:
        """How much higher micro F1 is than the baseline's, and its 95 % interval; or None.

        The interval is that of Student's t for the variance of bootstrap samples, NaN with fewer
        than ten documents or groups. Where all samples agree it has no width, and tells nothing of
        other documents.
        """
        if self.baseline is None:
            return None
        model, baseline = (self._resampled[name]["micro_f1"] for name in ("model", "baseline"))
        gain = self.scores["model"]["micro_f1"] - self.scores["baseline"]["micro_f1"]
        if not self._n_drawn:
            return gain, np.nan, np.nan
        half = resampled_half_width(model - baseline, self._n_drawn)
        return gain, max(-1.0, gain - half), min(1.0, gain + half)

    @cached_property
    def label_scores(self) -> list[LabelScores]:
        """Precision, recall, F1, average precision, log loss and threshold of each label."""
        counts = self.targets, self.predicted, self.predicted & self.targets
        columns = (
            self.labels,
            *shares_of(*(each.sum(axis=0) for each in counts)),
            _average_precisions(self.probabilities, self.targets),
            log_losses(self.probabilities, self.targets).tolist(),
            [None] * len(self.labels) if self.thresholds is None else self.thresholds.tolist(),
        )
        return [LabelScores(*of_label) for of_label in zip(*columns, strict=True)]

    @cached_property
    def taken(self) -> NDArray[np.int64]:
        """Number of documents by label missed (row) and label wrongly given (column).

        Shape (n_labels + 1, n_labels + 1). The last row counts documents in which none is missed,
        the last column those in which none is wrongly given; their corner is empty.
        """
        missed, wrong = self.targets & ~self.predicted, self.predicted & ~self.targets
        counts = [
            np.column_stack([labels, ~labels.any(axis=1)]).astype(np.int64)
            for labels in (missed, wrong)
        ]
        found: NDArray[np.int64] = counts[0].T @ counts[1]
        found[-1, -1] = 0
        return found

    def taken_for(self) -> list[tuple[Any, Any, int]]:
        """Return (missed label, label wrongly given, number of documents), most first.

        A label is None where a document has no label of the kind.
        """
        names = (*self.labels, None)
        return [(names[missed], names[given], n) for missed, given, n in largest_first(self.taken)]

    def marked(self, row: int) -> tuple[Any, ...]:
        """Return the labels that a document has."""
        return self._names(self.targets[row])

    def answer(self, row: int) -> tuple[Any, ...]:
        """Return the labels that a document gets."""
        return self._names(self.predicted[row])

    def to_frame(self, what: What = "documents") -> DataFrame:
        """Return one part of the report as a pandas DataFrame; see `Report.to_frame`.

        "confusion" is how often a label is missed where another is wrongly given, as `taken_for`.
        """
        return report_frame(self, what, self.label_scores, taken_frame)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often a label is missed (rows) where another is wrongly given (columns).

        Of more than 25 labels, those with the most mistakes are drawn. Shades are shares of the
        row.
        """
        return plot_taken(self, ax)

    def _markup(self, *, full_page: bool) -> str:
        return render_label_report(self, full_page=full_page)

    def __repr__(self) -> str:
        return (
            f"MultilabelReport({self.estimator}, {counted(self.n_documents)}, "
            f"{counted(len(self.labels), 'label')}, "
            f"micro F1 {averages(self.predicted, self.targets)['micro_f1']:.3f})"
        )

    def _own_values(self) -> dict[str, Any]:
        mistakes = zip(self.mistake_rows, self.mistake_labels, self.mistakes, strict=False)
        return {
            "classes": self.label_scores,
            "taken_for": self.taken_for(),
            "mistakes": [
                {"row": row, "label": self.labels[label], "explanation": explanation}
                for row, label, explanation in mistakes
            ],
            "suspects": [(row, self.labels[label]) for row, label in self.suspects],
        }

    def _shapes(self) -> dict[str, Shape]:
        table = self.n_documents, len(self.labels)
        return {
            "targets": (table, np.bool_),
            "predicted": (table, np.bool_),
            "probabilities": (table, np.float64),
            "baseline_predicted": (table, np.bool_),
            "mistake_labels": ((len(self.mistake_rows),), np.int64),
            "thresholds": ((len(self.labels),), np.float64),
            "suspects": ((None, 2), np.int64),
        }

    def _names(self, has: NDArray[np.bool_]) -> tuple[Any, ...]:
        return tuple(self.labels[i] for i in np.flatnonzero(has).tolist())

    def _models(self) -> list[tuple[str, NDArray[np.float64], NDArray[np.bool_]]]:
        """Return name, probabilities and labels given, of model and baseline."""
        found = [("model", self.probabilities, self.predicted)]
        if self.baseline is not None:
            given = self.baseline_predicted
            found.append(
                ("baseline", self.baseline, self.baseline >= 0.5 if given is None else given)
            )
        return found

    @property
    def _n_drawn(self) -> float:
        """Number of documents, or of groups by what they tell; 0 if there are too few."""
        if self.groups is None:
            return self.n_documents if self.n_documents >= _FEWEST else 0
        return effective_groups(self.groups) if len(np.unique(self.groups)) >= _FEWEST else 0

    @cached_property
    def _resampled(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        return {
            name: resampled(given, self.targets, self.groups) for name, _, given in self._models()
        }


def _average_precisions(
    probabilities: NDArray[np.float64], targets: NDArray[np.bool_]
) -> list[float | None]:
    """Return the average precision of each label; None of one that no document has."""
    from sklearn.metrics import average_precision_score

    return [
        float(average_precision_score(t, p)) if t.any() else None
        for t, p in zip(targets.T, probabilities.T, strict=True)
    ]
