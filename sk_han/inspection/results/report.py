"""Where a fitted model fails on held-out documents: read-only data, without the model."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.held_out import HeldOutReport, Shapes, shares_of
from sk_han.inspection.results.result import plain
from sk_han.rendering.numbers import counted
from sk_han.rendering.report.confusion import plot_confusion
from sk_han.rendering.report.page import render_report
from sk_han.rendering.report.report_tables import confusion_frame, document_columns, report_frame
from sk_han.rendering.report.report_text import render_report_text
from sk_han.utils.caching import cached_property
from sk_han.utils.metrics import (
    Bin,
    difference_interval,
    figures,
    interval_of,
    reliability,
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
        Words of each document that the model read; None if it does not tell.
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
        Documents whose words stand in a training document too; None if neither training documents
        nor hashes of them were at hand.
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

    Notes
    -----
    Rows are numbered from 0 in the order of the documents. A document whose label the model does
    not know counts as a mistake everywhere but in the log loss, which would be infinite.
    """

    n_classes: int

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The predicted label of each document as its position in `labels`."""
        return self.probabilities.argmax(axis=1)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each document is predicted right."""
        return self.predicted == self.targets

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Number of documents of each label (row) by predicted label (column), square."""
        return figures(self._padded, self.targets)["confusion"]

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Scores of the model, of the baseline if there is one, and of the commonest label.

        Each has `accuracy`, `accuracy_low` and `accuracy_high` (a 95 % interval) and `macro_f1`;
        the first two also `log_loss` and `calibration_error`.
        """
        found = {"model": self._scores_of(self._padded)}
        if self.baseline is not None:
            found["baseline"] = self._scores_of(self.baseline)
        counts = np.bincount(self.targets, minlength=len(self.labels))
        commonest = np.zeros_like(self._padded)
        commonest[:, counts.argmax()] = 1
        scores = self._scores_of(commonest)
        found["commonest"] = {
            name: scores[name] for name in scores if name not in ("log_loss", "calibration_error")
        }
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
        rows = zip(self.labels, *(each.tolist() for each in counts), strict=True)
        return [ClassScores(label, *shares_of(*of_label)) for label, *of_label in rows]

    @property
    def reliability(self) -> list[Bin]:
        """Confidence and accuracy of documents of similar confidence, in 15 bins."""
        return reliability(self._padded, self.targets, groups=self.groups)

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
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        rows, columns = np.nonzero(wrong)
        counts = wrong[rows, columns]
        order = np.argsort(-counts, kind="stable")
        return list(
            zip(rows[order].tolist(), columns[order].tolist(), counts[order].tolist(), strict=True)
        )

    def rows(self, label: int, predicted: int) -> NDArray[np.int64]:
        """Return the documents of a cell of the confusion matrix, the most confident first.

        Parameters
        ----------
        label, predicted : int
            Positions in `labels`.
        """
        found = np.flatnonzero((self.targets == label) & (self.predicted == predicted))
        return found[np.argsort(-self.confidence[found], kind="stable")]

    def marked(self, row: int) -> Any:
        """Return the label that a document has."""
        return self.labels[self.targets[row]]

    def answer(self, row: int) -> Any:
        """Return the predicted label of a document."""
        return self.labels[self.predicted[row]]

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, strings and numbers, which JSON can hold."""
        same = ("estimator", "labels", "n_classes", "notes", "scores", "gain", "baseline_note")
        values = {name: getattr(self, name) for name in same} | {
            "classes": self.class_scores,
            "confusion": self.confusion,
            "reliability": self.reliability,
            "lengths": self.by_length,
            "history": self.history,
            "documents": document_columns(self),
            "mistakes": [
                {"row": row, "explanation": explanation}
                for row, explanation in zip(self.mistake_rows, self.mistakes, strict=False)
            ],
            "suspects": self.suspects,
            "duplicates": self.duplicates,
            "trained_on": self.trained_on,
        }
        return {name: plain(value) for name, value in values.items()}

    def to_frame(self, what: What = "documents") -> DataFrame:
        """Return one part of the report as a pandas DataFrame.

        Parameters
        ----------
        what : {"documents", "classes", "scores", "confusion"}, default="documents"
            A row for each document, each label, or the model and what it is compared with; or
            numbers of documents by label (rows) and predicted label (columns).
        """
        return report_frame(self, what, self.class_scores, confusion_frame)

    def to_text(self, *, width: int | None = None) -> str:
        """Return the report as lines for a terminal.

        Parameters
        ----------
        width : int, optional
            Columns of a line; by default those of the terminal.
        """
        return render_report_text(self, width=width)

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

    def _shapes(self) -> Shapes:
        return {
            "targets": ((self.n_documents,), np.int64),
            "probabilities": ((self.n_documents, self.n_classes), np.float64),
            "suspects": ((None,), np.int64),
        }

    @cached_property
    def _padded(self) -> NDArray[np.float64]:
        """Probabilities of all labels, zero for those that the model does not know."""
        padded = np.zeros((self.n_documents, len(self.labels)))
        padded[:, : self.n_classes] = self.probabilities
        return padded

    def _scores_of(self, probabilities: NDArray[np.float64]) -> dict[str, float]:
        found = figures(probabilities, self.targets)
        known = self.targets < self.n_classes
        low, high = interval_of(probabilities.argmax(axis=1) == self.targets, self.groups)
        return {
            "accuracy": found["accuracy"],
            "accuracy_low": low,
            "accuracy_high": high,
            "macro_f1": found["macro_f1"],
            "log_loss": figures(probabilities[known], self.targets[known])["log_loss"],
            "calibration_error": found["calibration_error"],
        }
