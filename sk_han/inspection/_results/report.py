"""Result of `report`: predictions on held-out documents and their scores; data without a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import Block
from sk_han._rendering.figures import plot_matrix
from sk_han._rendering.report import confusion_matrix, report_blocks
from sk_han._rendering.result import Extent, ReadOnlyResult, plain
from sk_han._utils.containers import column_dtype, make_frame
from sk_han._utils.messages import check_choice, plural
from sk_han._utils.metrics import (
    Bin,
    Figures,
    accuracy_interval,
    averages,
    bootstrap,
    calibration_error_of_labels,
    difference_interval,
    distance_figures,
    effective_groups,
    figures,
    indicator,
    label_scores,
    log_losses,
    pad_labels,
    reliability,
    resampled_half_width,
    resampled_share_interval,
)
from sk_han.inspection._results.collection import ExplanationList

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

What = Literal["documents", "classes", "scores", "confusion"]

LENGTH_BINS = 5
_COVERAGES = (1, 0.9, 0.8, 0.7, 0.5)
# Fewer documents or groups get no bootstrap interval: with seven documents and three labels, those
# of macro averages covered the true value in only 85 to 90 of 100 samples.
_FEWEST = 10
_ALIKE = 1e-9  # samples that differ by less are equal, and give no interval


class LengthBin(NamedTuple):
    """Accuracy of documents of similar length, with the ends of its 95 % interval."""

    fewest_words: int
    most_words: int
    n_documents: int
    accuracy: float
    low: float
    high: float


class Slice(NamedTuple):
    """Documents with something in common, of which significantly more are wrong than of the others.

    `kind` is "word", "column", "length", "label" or "group", and `name` what they have in common.
    `error` is the share of wrong documents; of numbers, that of documents among the quarter with
    the largest errors. `low` and `high` are the ends of its 95 % interval, and `p_value` is
    corrected for all slices that were tested. `also` has the names of slices of nearly the same
    documents, and `examples` the rows of up to three of the worst mistakes.
    """

    kind: str
    name: str
    n_documents: int
    error: float
    low: float
    high: float
    p_value: float
    also: tuple[str, ...]
    examples: tuple[int, ...]


class ClassScores(NamedTuple):
    """Scores of one label.

    `precision` is None if the label was never predicted, `recall` and `average_precision` if no
    document has it. `threshold` is the lowest probability at which one of several labels per
    document is predicted; None if unknown.
    """

    label: Any
    n_documents: int
    n_predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    average_precision: float | None
    threshold: float | None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOutReport(ReadOnlyResult):
    """Held-out documents of a report and what is predicted for them: base class of results."""

    what: ClassVar[str] = "label"  # of a document, which the model predicts

    estimator: str
    targets: NDArray[Any]
    predicted: NDArray[Any]
    n_words: NDArray[np.int64] | None
    texts: tuple[str, ...] | None
    mistakes: ExplanationList
    mistake_rows: NDArray[np.int64]
    duplicates: tuple[tuple[int, ...], ...]
    trained_on: NDArray[np.int64] | None
    baseline: NDArray[np.float64] | None
    baseline_note: str
    baseline_name: str = "baseline"
    notes: tuple[str, ...]
    groups: NDArray[np.int64] | None = None
    ids: tuple[Any, ...] | None = None
    slices: tuple[Slice, ...] = ()
    n_slices: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "duplicates", tuple(tuple(map(int, group)) for group in self.duplicates))
        for name in ("notes", "texts"):
            value = getattr(self, name)
            put(self, name, value if value is None else tuple(value))
        super().__post_init__()

    @property
    def n_documents(self) -> int:
        """Number of held-out documents."""
        return len(self.targets)

    def true_label(self, row: int) -> Any:
        """Return the true label or number of a document; a tuple if there may be several."""
        return self.targets[row].item()

    def has_conflict(self, group: tuple[int, ...]) -> bool:
        """Return whether documents of a group of `duplicates` have different labels or numbers."""
        return len({self.true_label(row) for row in group}) > 1

    @property
    def _n_drawn(self) -> float:
        """Number of documents, or effective number of groups; 0 if there are too few."""
        if self.groups is None:
            return self.n_documents if self.n_documents >= _FEWEST else 0
        return effective_groups(self.groups) if len(np.unique(self.groups)) >= _FEWEST else 0

    def _with_ends(
        self, values: Figures, drawn: Figures, ends: dict[str, tuple[float, float]]
    ) -> dict[str, float]:
        """Return figures with the ends of their intervals, which are within `ends`."""
        found: dict[str, float] = {}
        for name, (value,) in values.items():
            is_drawn = self._n_drawn and np.ptp(drawn[name]) >= _ALIKE
            half = resampled_half_width(drawn[name], self._n_drawn) if is_drawn else np.nan
            low, high = np.clip([value - half, value + half], *ends.get(name, (-1, 1))).tolist()
            found |= {name: float(value), f"{name}_low": low, f"{name}_high": high}
        return found

    def _pair_interval(self, gain: float, drawn: NDArray[np.float64]) -> tuple[float, float, float]:
        """Return a gain over the baseline and its interval, by gains in paired samples."""
        half = resampled_half_width(drawn, self._n_drawn) if self._n_drawn else np.nan
        return gain, gain - half, gain + half

    def _further_columns(self, baseline: list[Any] | None) -> dict[str, list[Any]]:
        """Return the last columns of a table of documents."""
        columns = {
            "n_words": None if self.n_words is None else self.n_words.tolist(),
            "baseline": baseline,
            "group": None if self.groups is None else self.groups.tolist(),
            "text": None if self.texts is None else list(self.texts),
        }
        return {name: values for name, values in columns.items() if values is not None}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report(HeldOutReport):
    """Predictions of a fitted model on held-out documents, and where they are wrong.

    `report` returns it. `to_html` writes the full page; `print` shows a short form.

    Parameters
    ----------
    estimator : str
        Name of the model's class.
    labels : sequence of length n_labels
        All labels: the classes of the model, in the order of `classes_`, then labels of the
        documents that it does not know.
    targets : ndarray of int64, shape (n_documents,)
        Position of each document's label in `labels`; with several labels per document an ndarray
        of bool, shape (n_documents, n_labels).
    probabilities : ndarray of float64, shape (n_documents, n_classes)
        Predicted probabilities of the model's classes.
    predicted : ndarray like targets
        Predicted labels: the most probable one, with `values` the median or, with several labels
        per document, those whose probability is at least their threshold.
    n_words : ndarray of int64, shape (n_documents,), or None
        Number of words that a HANClassifier reads of each document; for other models the number of
        parts between white space, and None if documents are not texts.
    texts : sequence of n_documents str, or None
        None if the documents are word ids without known words.
    mistakes : ExplanationList of n_mistakes DocumentExplanation, or empty
        The most confident mistakes, explained for the predicted label (with several labels per
        document, for that of `mistake_labels`); empty if that is not possible.
    mistake_rows : ndarray of int64, shape (n_mistakes,)
        Documents of these mistakes, the most confident first.
    mistake_labels : ndarray of int64, shape (n_mistakes,), default=None
        With several labels per document, the position of the missed or wrongly predicted label
        whose probability is furthest from the truth.
    suspects : ndarray of int64, shape (n_suspects,)
        Documents that look mislabelled, the most suspicious first; with several labels per document
        pairs of document and label, shape (n_suspects, 2).
    duplicates : sequence of sequence of int
        Groups of documents that have the same words.
    trained_on : ndarray of int64, shape (n_leaks,), or None
        Documents with the same words (of those that the model reads) as a training document or, if
        the training texts are known, more than half of whose runs of three words are in one of
        them, from 30 words on; None if neither training documents nor their hashes are known.
    baseline : ndarray of float64, shape (n_documents, n_labels), or None
        Probabilities predicted by the baseline.
    baseline_note : str
        What the baseline is, or why there is none.
    baseline_name : str, default="baseline"
        Name of the baseline's class.
    baseline_predicted : ndarray like targets, default=None
        Labels predicted by the baseline.
    notes : sequence of str
        Remarks on documents, labels and explanations.
    groups : ndarray of int64, shape (n_documents,), default=None
        Number of each document's group, if intervals are over groups.
    thresholds : ndarray of float64, shape (n_classes,), default=None
        With several labels per document, the lowest probability at which each is predicted.
    values : ndarray of float64, shape (n_classes,), default=None
        With ordered classes, the numbers that they are, or else their ranks.
    ids : sequence of length n_documents, default=None
        Ids by which pages and tables name documents; None for rows.
    slices : sequence of up to ten Slice
        Documents with something in common, of which significantly more are wrong than of the
        others; those that add most mistakes come first.
    n_slices : int, default=0
        Number of slices that were tested.

    Notes
    -----
    Rows are numbered from 0 in the order of the documents. A document with a label that the model
    does not know counts as a mistake, and is left out of the log loss, which would be infinite.
    """

    labels: tuple[Any, ...]
    probabilities: NDArray[np.float64]
    mistake_labels: NDArray[np.int64] | None = None
    suspects: NDArray[np.int64]
    baseline_predicted: NDArray[Any] | None = None
    thresholds: NDArray[np.float64] | None = None
    values: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        super().__post_init__()

    @property
    def n_classes(self) -> int:
        """Number of `labels` that are classes of the model."""
        return self.probabilities.shape[1]

    @property
    def several_labels(self) -> bool:
        """Whether a document may have several labels."""
        return bool(np.ndim(self.targets) == 2)

    @property
    def measure(self) -> str:
        """Name of the score that `gain` is of."""
        return "Micro F1" if self.several_labels else "Accuracy"

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each document is predicted right; with several labels, all of them."""
        return self._is_right(self.predicted)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Probability of each document's predicted label, shape (n_documents,).

        With several labels per document, that of the most probable one.
        """
        if self.several_labels:
            return self.probabilities.max(axis=1)
        return self.probabilities[np.arange(self.n_documents), self.predicted]

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Number of documents by true label (row) and predicted label (column), square.

        With several labels per document: by missed label (row) and wrongly predicted label
        (column), shape (n_labels + 1, n_labels + 1). The last row counts documents without a missed
        label, the last column those without a wrongly predicted one; their corner is 0.
        """
        n = len(self.labels)
        rows, columns = (indicator(codes, n) for codes in (self.targets, self.predicted))
        if self.several_labels:
            wrong = rows & ~columns, columns & ~rows
            rows, columns = (np.column_stack([each, ~each.any(axis=1)]) for each in wrong)
        found: NDArray[np.int64] = rows.astype(np.int64).T @ columns.astype(np.int64)
        if self.several_labels:
            found[-1, -1] = 0
        return found

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Scores of the model, of the baseline if there is one, and of the most frequent label.

        Each has `accuracy`, `accuracy_low` and `accuracy_high` (95 % interval) and `macro_f1`; the
        first two also `log_loss` and `calibration_error`. With ordered classes each also has, with
        intervals, `mean_absolute_error`, in the numbers that classes are, or else in steps from
        class to class, `within_one_step`, the share of documents whose prediction is right or next
        to the label, and `quadratic_kappa`; the baseline predicts its median, too.

        With several labels per document, model and baseline have precision, recall and F1 as
        `micro`, `macro` and `samples` average (`micro_f1`, ...) and `subset_accuracy`, each with
        the ends of its 95 % interval (`micro_f1_low`, `micro_f1_high`), and
        `mean_average_precision` over the labels that occur. Intervals are Wilson's; for averages
        they use the bias and variance of bootstrap samples, and are NaN with fewer than ten
        documents or groups or if all samples are equal. Intervals of macro averages cover the true
        value less often (18 to 92 % of the time) if labels have one to four documents. Labels that
        are neither given nor predicted are left out of macro averages; a document without labels
        given or predicted is right. `log_loss` is the mean over labels, and `calibration_error` is
        over ten bins of all probabilities above 0.05.
        """
        if self.several_labels:
            return {name: self._label_scores(name, p, t) for name, p, t in self._models()}
        found = {name: self._class_scores(p, given) for name, p, given in self._models()}
        commonest = np.full(self.n_documents, self.labels.index(self.commonest_label))
        found["commonest"] = self._class_scores(self._padded, commonest)
        for name in ("log_loss", "calibration_error"):  # nothing has these probabilities
            del found["commonest"][name]
        return found

    @property
    def commonest_label(self) -> Any:
        """The most frequent label of the documents."""
        counts = self.targets.sum(axis=0) if self.several_labels else np.bincount(self.targets)
        return self.labels[counts.argmax()]

    @cached_property
    def gain(self) -> tuple[float, float, float] | None:
        """Gain in accuracy over the baseline, and its 95 % interval; None without baseline.

        Both predict the same documents, and the interval is that of paired proportions (Agresti
        and Min, 2005). With several labels per document it is the gain in micro F1; its interval
        (Student's t with the variance of paired bootstrap samples) is NaN with fewer than ten
        documents or groups.
        """
        if self.baseline_predicted is None:
            return None
        if not self.several_labels:
            other = self._is_right(self.baseline_predicted)
            low, high = difference_interval(self.right, other, self.groups)
            return float(self.right.mean() - other.mean()), low, high
        model, baseline = (self._resampled[name]["micro_f1"] for name in ("model", "baseline"))
        gain = self.scores["model"]["micro_f1"] - self.scores["baseline"]["micro_f1"]
        _, low, high = np.clip(self._pair_interval(gain, model - baseline), -1, 1).tolist()
        return gain, low, high

    @cached_property
    def class_scores(self) -> list[ClassScores]:
        """Precision, recall, F1 and average precision of each label."""
        n = len(self.labels)
        has, gets = (indicator(codes, n) for codes in (self.targets, self.predicted))
        thresholds = [] if self.thresholds is None else self.thresholds.tolist()
        columns = (
            *label_scores(*(each.sum(axis=0) for each in (has, gets, has & gets))),
            _average_precisions(self._padded, has),
            [*thresholds, *[None] * (n - len(thresholds))],
        )
        return list(map(ClassScores, self.labels, *columns))

    @property
    def reliability(self) -> list[Bin]:
        """Confidence and accuracy of documents of similar confidence, in 15 bins.

        Empty with several labels per document.
        """
        if self.several_labels:
            return []
        return reliability(self._padded, self.targets, groups=self.groups, decided=self.predicted)

    @property
    def baseline_reliability(self) -> list[Bin]:
        """The same for the baseline; empty without one."""
        if self.baseline is None or self.several_labels:
            return []
        other = self.baseline_predicted
        return reliability(self.baseline, self.targets, groups=self.groups, decided=other)

    @property
    def by_distance(self) -> NDArray[np.int64]:
        """Number of documents by steps from label to prediction, (n_classes,), if ordered."""
        known = self.targets < self.n_classes
        steps = np.abs(self.predicted - self.targets)[known]
        return np.bincount(steps, minlength=self.n_classes)

    @cached_property
    def risk_coverage(self) -> list[Bin]:
        """Accuracy of the most confident 100, 90, 80, 70 and 50 % of the documents.

        `confidence` is the lowest probability among them. Empty with several labels per document.
        """
        found, order = [], np.argsort(-self.confidence, kind="stable")
        shares = () if self.several_labels else _COVERAGES
        for n in dict.fromkeys(math.ceil(share * self.n_documents) for share in shares):
            rows = order[:n]
            ends = accuracy_interval(
                self.right[rows], None if self.groups is None else self.groups[rows]
            )
            least, accuracy = self.confidence[rows[-1]], self.right[rows].mean()
            found.append(Bin(len(rows), float(least), float(accuracy), *ends))
        return found

    @cached_property
    def by_length(self) -> list[LengthBin]:
        """Accuracy of documents of similar length, in up to five bins of about equal size."""
        if self.n_words is None:
            return []
        found = []
        for these in equal_bins(self.n_words):
            lengths, right = self.n_words[these], self.right[these]
            ends_of = accuracy_interval(right, None if self.groups is None else self.groups[these])
            shortest, longest = int(lengths.min()), int(lengths.max())
            found.append(LengthBin(shortest, longest, len(right), float(right.mean()), *ends_of))
        return found

    def mixed_up(self) -> list[tuple[int, int, int]]:
        """Return (label, predicted label, number of documents) of mistakes, most frequent first.

        Labels are positions in `labels`. With several labels per document they are the missed and
        the wrongly predicted one; n_labels stands for none.
        """
        rows, columns = np.nonzero(self.confusion)
        counts = self.confusion[rows, columns]
        order = np.argsort(-counts, kind="stable")
        cells = zip(*(each[order].tolist() for each in (rows, columns, counts)), strict=True)
        return [cell for cell in cells if cell[0] != cell[1]]

    def true_label(self, row: int) -> Any:
        """Return the true label of a document; a tuple if there may be several."""
        return self._label_names(self.targets[row])

    def answer(self, row: int) -> Any:
        """Return the predicted label of a document; a tuple if there may be several."""
        return self._label_names(self.predicted[row])

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, strings and numbers, ready for JSON."""
        same = (
            *("estimator", "labels", "n_classes", "notes", "scores", "gain", "baseline_name"),
            *("baseline_note", "duplicates", "trained_on", "confusion", "reliability"),
            *("risk_coverage", "slices", "n_slices"),
        )
        values = {name: getattr(self, name) for name in same}
        labels = [None] * len(self.mistake_rows)
        if self.mistake_labels is not None:
            labels = [self.labels[i] for i in self.mistake_labels]
        mistakes = zip(self.mistake_rows, labels, self.mistakes, strict=False)
        values["mistakes"] = [
            {"row": row, "label": label, "explanation": explanation}
            for row, label, explanation in mistakes
        ]
        values["suspects"] = self.suspects
        if self.several_labels:
            values["suspects"] = [(row, self.labels[label]) for row, label in self.suspects]
        values |= {"classes": self.class_scores, "lengths": self.by_length}
        if self.values is not None:
            values |= {"values": self.values, "by_distance": self.by_distance}
        found: dict[str, Any] = plain(values | {"documents": self._document_columns()})
        return found

    def to_frame(self, what: What = "documents") -> DataFrame:
        """Return one part of the report as a pandas DataFrame.

        Parameters
        ----------
        what : {"documents", "classes", "scores", "confusion"}, default="documents"
            One row per document, per label, or for the model and each baseline; or `confusion`,
            with several labels per document with a last row and column for none.
        """
        check_choice("what", what, get_args(What))
        import pandas

        if what == "documents":
            return make_frame(self._document_columns())
        if what == "classes":
            columns = zip(*self.class_scores, strict=True)
            named = dict(zip(ClassScores._fields, map(list, columns), strict=True))
            return make_frame(named).set_index("label")
        if what == "scores":
            return pandas.DataFrame(self.scores).T
        labels: list[Any] = [*self.labels, *[None] * self.several_labels]
        rows, columns_of = (
            pandas.Index(labels, name=name, dtype=column_dtype(labels)) for name in self.axes
        )
        return pandas.DataFrame(self.confusion, index=rows, columns=columns_of)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the confusion matrix, shaded by shares of the row.

        With more than 25 labels, those with the most mistakes are shown.
        """
        return plot_matrix(confusion_matrix(self), ax, "Report.plot")

    def __repr__(self) -> str:
        measure = "micro F1" if self.several_labels else "accuracy"
        n = len(self.labels)
        labels = (indicator(codes, n) for codes in (self.predicted, self.targets))
        score = averages(*labels)["micro_f1"]  # of one label per document, the accuracy
        on = f"{plural(self.n_documents)}, {plural(len(self.labels), 'label')}"
        return f"Report({self.estimator}, {on}, {measure} {score:.3f})"

    @property
    def axes(self) -> tuple[str, str]:
        """Names of the rows and columns of `confusion`."""
        return ("missed", "wrongly predicted") if self.several_labels else ("label", "predicted")

    @cached_property
    def _padded(self) -> NDArray[np.float64]:
        """Probabilities of all labels, zero for those that the model does not know."""
        return pad_labels(self.probabilities, len(self.labels))

    def _label_names(self, answer: NDArray[Any]) -> Any:
        if self.several_labels:
            return tuple(self.labels[i] for i in np.flatnonzero(answer).tolist())
        return self.labels[int(answer)]

    def _models(self) -> Iterator[tuple[str, NDArray[np.float64], NDArray[Any]]]:
        """Yield name, probabilities and predicted labels of model and baseline."""
        yield "model", self._padded, self.predicted
        if self.baseline is not None and self.baseline_predicted is not None:
            yield "baseline", self.baseline, self.baseline_predicted

    def _is_right(self, predicted: NDArray[Any]) -> NDArray[np.bool_]:
        same = np.equal(predicted, self.targets).reshape(self.n_documents, -1)
        right: NDArray[np.bool_] = same.all(axis=1)
        return right

    @cached_property
    def _resampled(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        return {
            name: bootstrap(given, self.targets, self.groups) for name, _, given in self._models()
        }

    def _class_scores(
        self, probabilities: NDArray[np.float64], predicted: NDArray[np.int64]
    ) -> dict[str, float]:
        found = figures(probabilities, self.targets, predicted)
        known = self.targets < self.n_classes
        low, high = accuracy_interval(predicted == self.targets, self.groups)
        return {
            "accuracy": found["accuracy"],
            "accuracy_low": low,
            "accuracy_high": high,
            "macro_f1": found["macro_f1"],
            "log_loss": figures(probabilities[known], self.targets[known])["log_loss"],
            "calibration_error": found["calibration_error"],
            **self._distance_scores(predicted),
        }

    def _distance_scores(self, predicted: NDArray[np.int64]) -> dict[str, float]:
        """Return the scores of ordered classes, over documents whose label the model knows."""
        if self.values is None or predicted.max() >= self.n_classes:
            return {}
        known = self.targets < self.n_classes
        groups = None if self.groups is None else self.groups[known]
        given, true = predicted[known], self.targets[known]
        figures_of = partial(distance_figures, values=self.values)
        drawn = bootstrap(given, true, groups, figures_of)
        values = figures_of(given, true, np.ones((1, len(true))))
        found = self._with_ends(values, drawn, {"mean_absolute_error": (0, math.inf)})
        near = accuracy_interval(np.abs(given - true) <= 1, groups)
        return found | dict(zip(("within_one_step_low", "within_one_step_high"), near, strict=True))

    def _label_scores(
        self, name: str, probabilities: NDArray[np.float64], given: NDArray[np.bool_]
    ) -> dict[str, float]:
        values = averages(given, self.targets)
        for figure, drawn in self._resampled[name].items():
            low = high = np.nan
            if figure == "subset_accuracy":
                low, high = accuracy_interval((given == self.targets).all(axis=1), self.groups)
            elif self._n_drawn and np.ptp(drawn) >= _ALIKE:
                low, high = resampled_share_interval(values[figure], drawn, self._n_drawn)
            values |= {f"{figure}_low": low, f"{figure}_high": high}
        precisions = [p for p in _average_precisions(probabilities, self.targets) if p is not None]
        values["mean_average_precision"] = float(np.mean(precisions or [np.nan]))
        losses = log_losses(probabilities, self.targets)[: self.n_classes]
        values["log_loss"] = float(losses.mean())
        values["calibration_error"] = calibration_error_of_labels(probabilities, self.targets)
        return values

    def _document_columns(self) -> dict[str, list[Any]]:
        rows, several = range(self.n_documents), self.several_labels
        suspects = set((self.suspects[:, 0] if several else self.suspects).tolist())
        columns: dict[str, list[Any]] = {} if self.ids is None else {"document": list(self.ids)}
        columns |= {
            "labels" if several else "label": [self.true_label(row) for row in rows],
            "predicted": [self.answer(row) for row in rows],
        }
        if not several:
            columns["confidence"] = self.confidence.tolist()
        columns["right"] = self.right.tolist()
        columns["looks_mislabelled"] = [row in suspects for row in rows]
        answers = self.baseline_predicted
        baseline = None if answers is None else [self._label_names(answer) for answer in answers]
        return columns | self._further_columns(baseline)

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        return report_blocks(self, extent)


def equal_bins(values: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return the rows of up to five bins of about equal size, the lowest values first."""
    ends = np.unique(np.quantile(values, np.linspace(0, 1, LENGTH_BINS + 1)[1:]))
    bins = np.searchsorted(ends, values)
    return [np.flatnonzero(bins == i) for i in np.unique(bins)]


def _average_precisions(
    probabilities: NDArray[np.float64], targets: NDArray[np.bool_]
) -> list[float | None]:
    """Return the average precision of each label; None for a label that no document has."""
    from sklearn.metrics import average_precision_score

    return [
        float(average_precision_score(t, p)) if t.any() else None
        for t, p in zip(targets.T, probabilities.T, strict=True)
    ]
