"""Where a fitted model fails on held-out documents: read-only data, without the model."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.result import ReadOnlyResult, Shape, freeze, plain
from sk_han.rendering.charts import plot_confusion
from sk_han.rendering.report_page import (
    confusion_frame,
    document_columns,
    render_report,
    report_frame,
)
from sk_han.rendering.report_text import render_report_text
from sk_han.utils.messages import counted
from sk_han.utils.metrics import (
    Bin,
    difference_interval,
    figures,
    interval_of,
    reliability,
    shares_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

What = Literal["documents", "classes", "scores", "confusion"]

LENGTH_BINS = 5


class LengthBin(NamedTuple):
    """Documents of similar length: their range of words, their number, and how many are right.

    `low` and `high` are the ends of the 95 % interval of `accuracy`.
    """

    fewest_words: int
    most_words: int
    n_documents: int
    accuracy: float
    low: float
    high: float


class ClassScores(NamedTuple):
    """How well documents of one label are found.

    `precision` is None if the label was never predicted, `recall` if no document has it.
    """

    label: Any
    n_documents: int
    n_predicted: int
    precision: float | None
    recall: float | None
    f1: float | None


def largest_first(counts: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return (row, column, count) of the cells that are not empty."""
    rows, columns = np.nonzero(counts)
    found = counts[rows, columns]
    order = np.argsort(-found, kind="stable")
    return list(zip(*(each[order].tolist() for each in (rows, columns, found)), strict=True))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOutReport(ReadOnlyResult):
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
        shapes: dict[str, Shape] = {
            "n_words": ((n,), np.int64),
            "groups": ((n,), np.int64),
            "mistake_rows": ((None,), np.int64),
            "trained_on": ((None,), np.int64),
            "baseline": ((n, len(self.labels)), np.float64),
        }
        freeze(self, shapes | self._shapes())
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

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits that tell these answers from those of other reports."""
        seen = hashlib.sha256(self.confidence.tobytes() + self.targets.tobytes())
        return seen.hexdigest()[:8]

    @abstractmethod
    def marked(self, row: int) -> Any:
        """Return the label, or the labels, that a document has."""

    def has_conflict(self, group: tuple[int, ...]) -> bool:
        """Return whether the documents of a group of `duplicates` have different labels."""
        return len({self.marked(row) for row in group}) > 1

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, strings and numbers, which JSON can hold."""
        same = ("estimator", "labels", "notes", "scores", "gain", "baseline_note", "history")
        values = {name: getattr(self, name) for name in (*same, "duplicates", "trained_on")}
        found: dict[str, Any] = plain(
            values | {"documents": document_columns(self)} | self._own_values()
        )
        return found

    def to_text(self, *, width: int | None = None) -> str:
        """Return the report as lines for a terminal.

        Parameters
        ----------
        width : int, optional
            Columns of a line; by default those of the terminal.
        """
        return render_report_text(self, width=width)

    @abstractmethod
    def _own_values(self) -> dict[str, Any]:
        """Return what only one kind of report has of `to_dict`."""

    @abstractmethod
    def _shapes(self) -> dict[str, Shape]:
        """Return shape and type of the arrays that only one kind of report has so."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report(HeldOutReport):
    """Predictions of a fitted model on held-out documents, and where they are wrong.

    `report` returns it. Its page (`to_html`) shows all parts; `print` shows the short form.

    Parameters
    ----------
    estimator : str
        What the model is.
    labels : sequence of length n_labels
        All labels: first the classes of the model, in the order of its `classes_`, then labels of
        the documents that it does not know.
    n_classes : int
        How many of `labels` are classes of the model.
    targets : ndarray of int64, shape (n_documents,)
        The label of each document, as its position in `labels`.
    probabilities : ndarray of float64, shape (n_documents, n_classes)
        Of the classes of the model.
    n_words : ndarray of int64, shape (n_documents,), or None
        Words of each document: those that a HANClassifier reads; of other models the parts between
        white space, and None where documents are no texts.
    texts : sequence of n_documents str, or None
        None if the documents are word ids whose words are not known.
    mistakes : ExplanationList of n_mistakes DocumentExplanation, or empty
        The worst mistakes, explained for the predicted label; empty if that is not possible.
    mistake_rows : ndarray of int64, shape (n_mistakes,)
        The documents of the worst mistakes, the most confident first.
    suspects : ndarray of int64, shape (n_suspects,)
        Documents that look mislabelled, the most suspicious first.
    duplicates : sequence of sequence of int
        Groups of documents that have the same words.
    trained_on : ndarray of int64, shape (n_leaks,), or None
        Documents whose words, as far as the model reads them, stand in a training document too;
        None if neither training documents nor hashes of them were at hand.
    baseline : ndarray of float64, shape (n_documents, n_labels), or None
        Probabilities by TF-IDF and logistic regression.
    baseline_note : str
        What the baseline learnt from, or why there is none.
    history : sequence of mapping of str to float
        The ``history_`` of the model; empty if it keeps none.
    notes : sequence of str
        What a reader must know of the documents, the labels and the explanations.
    groups : ndarray of int64, shape (n_documents,), default=None
        The number of each document's group; then 95 % intervals are those of samples of groups.
    decided : ndarray of int64, shape (n_documents,), default=None
        The label that the model predicts for each document, as its position in `labels`, where a
        threshold decides; None if it predicts the most probable label.

    Notes
    -----
    Rows are numbered from 0 in the order of the documents. A document whose label the model does
    not know counts as a mistake everywhere but in the log loss, which would be infinite.
    """

    n_classes: int
    decided: NDArray[np.int64] | None = None

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The predicted label of each document as its position in `labels`."""
        return self.probabilities.argmax(axis=1) if self.decided is None else self.decided

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each document is predicted right."""
        return self.predicted == self.targets

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of the predicted label of each document, shape (n_documents,)."""
        return self.probabilities[np.arange(self.n_documents), self.predicted]

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Number of documents of each label (row) by predicted label (column), square."""
        return figures(self._padded, self.targets, self.predicted)["confusion"]

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Scores of the model, of the baseline if there is one, and of the commonest label.

        Each has `accuracy`, `accuracy_low` and `accuracy_high` (a 95 % interval) and `macro_f1`;
        the first two also `log_loss` and `calibration_error`.
        """
        found = {"model": self._scores_of(self._padded, self.predicted)}
        if self.baseline is not None:
            found["baseline"] = self._scores_of(self.baseline, self.baseline.argmax(axis=1))
        commonest = np.full(self.n_documents, np.bincount(self.targets).argmax())
        found["commonest"] = self._scores_of(self._padded, commonest)
        for name in ("log_loss", "calibration_error"):  # nothing has these probabilities
            del found["commonest"][name]
        return found

    @property
    def commonest_label(self) -> Any:
        """The label that most of the documents have."""
        return self.labels[np.bincount(self.targets).argmax()]

    @cached_property
    def gain(self) -> tuple[float, float, float] | None:
        """How much higher accuracy is than the baseline's, and its 95 % interval; or None."""
        if self.baseline is None:
            return None
        other = self.baseline.argmax(axis=1) == self.targets
        low, high = difference_interval(self.right, other, self.groups)
        return float(self.right.mean() - other.mean()), low, high

    @cached_property
    def class_scores(self) -> list[ClassScores]:
        """Precision, recall and F1 of each label."""
        counts = self.confusion.sum(axis=1), self.confusion.sum(axis=0), np.diag(self.confusion)
        return list(map(ClassScores, self.labels, *shares_of(*counts)))

    @property
    def reliability(self) -> list[Bin]:
        """Confidence and accuracy of documents of similar confidence, in 15 bins."""
        return reliability(self._padded, self.targets, groups=self.groups, decided=self.predicted)

    @property
    def baseline_reliability(self) -> list[Bin]:
        """The same of the baseline; empty without one."""
        if self.baseline is None:
            return []
        return reliability(self.baseline, self.targets, groups=self.groups)

    @cached_property
    def by_length(self) -> list[LengthBin]:
        """Accuracy of documents of similar length, in up to five bins of about equal size."""
        if self.n_words is None:
            return []
        ends = np.unique(np.quantile(self.n_words, np.linspace(0, 1, LENGTH_BINS + 1)[1:]))
        bins = np.searchsorted(ends, self.n_words)
        found = []
        for i in np.unique(bins):
            these = bins == i
            lengths, right = self.n_words[these], self.right[these]
            interval = interval_of(right, None if self.groups is None else self.groups[these])
            found.append(
                LengthBin(
                    int(lengths.min()),
                    int(lengths.max()),
                    len(right),
                    float(right.mean()),
                    *interval,
                )
            )
        return found

    def mixed_up(self) -> list[tuple[int, int, int]]:
        """Return (label, predicted label, number of documents) of all mistakes, most first."""
        return [cell for cell in largest_first(self.confusion) if cell[0] != cell[1]]

    def rows(self, label: int, predicted: int) -> NDArray[np.int64]:
        """Return the documents of a cell of `confusion`, the most confident first."""
        found = np.flatnonzero((self.targets == label) & (self.predicted == predicted))
        return found[np.argsort(-self.confidence[found], kind="stable")]

    def marked(self, row: int) -> Any:
        """Return the label that a document has."""
        return self.labels[self.targets[row]]

    def answer(self, row: int) -> Any:
        """Return the predicted label of a document."""
        return self.labels[self.predicted[row]]

    def to_frame(self, what: What = "documents") -> DataFrame:
        """Return one part of the report as a pandas DataFrame.

        Parameters
        ----------
        what : {"documents", "classes", "scores", "confusion"}, default="documents"
            A row for each document, each label, or the model and what it is compared with; or
            numbers of documents by label (rows) and predicted label (columns).
        """
        return report_frame(self, what, self.class_scores, confusion_frame)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the confusion matrix: numbers of documents by label (rows) and predicted label.

        Of more than 25 labels, those with the most mistakes are drawn. Shades are shares of the
        documents of a label.
        """
        return plot_confusion(self, ax)

    def _markup(self, *, full_page: bool) -> str:
        return render_report(self, full_page=full_page)

    def __repr__(self) -> str:
        accuracy = f"accuracy {self.right.mean():.3f}"
        return f"Report({self.estimator}, {counted(self.n_documents)}, {accuracy})"

    def _own_values(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "classes": self.class_scores,
            "confusion": self.confusion,
            "reliability": self.reliability,
            "lengths": self.by_length,
            "mistakes": [
                {"row": row, "explanation": explanation}
                for row, explanation in zip(self.mistake_rows, self.mistakes, strict=False)
            ],
            "suspects": self.suspects,
        }

    def _shapes(self) -> dict[str, Shape]:
        return {
            "targets": ((self.n_documents,), np.int64),
            "probabilities": ((self.n_documents, self.n_classes), np.float64),
            "decided": ((self.n_documents,), np.int64),
            "suspects": ((None,), np.int64),
        }

    @cached_property
    def _padded(self) -> NDArray[np.float64]:
        """Probabilities of all labels, zero for those that the model does not know."""
        padded = np.zeros((self.n_documents, len(self.labels)))
        padded[:, : self.n_classes] = self.probabilities
        return padded

    def _scores_of(
        self, probabilities: NDArray[np.float64], predicted: NDArray[np.int64]
    ) -> dict[str, float]:
        found = figures(probabilities, self.targets, predicted)
        known = self.targets < self.n_classes
        low, high = interval_of(predicted == self.targets, self.groups)
        return {
            "accuracy": found["accuracy"],
            "accuracy_low": low,
            "accuracy_high": high,
            "macro_f1": found["macro_f1"],
            "log_loss": figures(probabilities[known], self.targets[known])["log_loss"],
            "calibration_error": found["calibration_error"],
        }
