"""Summaries of a fit, and the plot of its history."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sk_han._model.fit_summary import ENDS
from sk_han._model.fitted_model import FittedModel
from sk_han._rendering.blocks import Block, Heading, Span, Table, amount, percent
from sk_han._rendering.figures import themed_axes
from sk_han._rendering.result import Extent, Result
from sk_han._utils.messages import in_one_line, plural
from sk_han._utils.metrics import share_interval
from sk_han._utils.progress import duration
from sk_han.inspection._estimators import fitted_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Facts: TypeAlias = list[tuple[str, str]]
LOSSES = ("train_loss", "valid_loss")
SCORE_MARKERS = "s^Dv<>P"


class SummaryOfFit(Result):
    """Base class of both summaries, which are rendered as tables of facts."""

    @property
    @abstractmethod
    def in_short(self) -> str:
        """The training data, the accuracy and the duration in one phrase."""

    @abstractmethod
    def _facts(self) -> tuple[str, Facts]:
        """Return the title and the facts, which are pairs of name and value."""

    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        title, facts = self._facts()
        rows = [(name, Span(value)) for name, value in facts]
        return [Heading(title, 1), Table(rows, kind="facts")]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_short})"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class FitSummary(SummaryOfFit):
    """Summary of a fit of a `HANClassifier` or `HANRegressor`; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table. Scores are measured on held-out documents (or
    `X_val`), with a network and linear models that were not fitted to them, and are None without
    such documents.

    Parameters
    ----------
    n_documents : int
        Number of documents with a label, including held-out ones.
    n_classes : int
    n_conflicting : int
        Number of documents with the same words as a document with another label.
    n_epochs : int
        Epochs of this fit.
    kept_epoch : int or None
        The epoch whose weights were kept, counted from 1; None for the last epoch, without scores.
    ended : {"all epochs", "two cycles", "no improvement", "all learnt", "a callback", \
"the time", "an interrupt", "one portion"}
        Why training ended: `max_epochs` or `n_iter_no_change` was reached, the training loss was
        almost 0 (with ``max_epochs="auto"``), a callback stopped it, such as `StopOnInterrupt`, or
        the time of `time_limit` or `StopAfter` was over. "two cycles" means that
        ``max_epochs="auto"`` added a second cycle, and "one portion" that this was `partial_fit`,
        whose last portion all values refer to.
    n_scored : int
        Number of documents used for the scores.
    accuracy, loss : float or None
        Accuracy of the whole model, and its mean negative log-likelihood in nats, weighted by
        `class_weight` and `sample_weight`.
    network_accuracy, linear_accuracy : float or None
        Accuracy of the network alone, and of the linear models alone.
    majority_accuracy : float or None
        Accuracy of always predicting the most frequent class.
    shares : mapping of str to float
        Mean absolute contribution of each part to the log-odds of these documents, as a share of
        the total; empty without scores.
    seconds : mapping of str to float
        Wall-clock time of each stage.
    total_seconds : float
        Wall-clock time of the whole fit.
    several_labels : bool, default=False
        Whether a document may have several labels. Then accuracy is the share of documents with all
        labels right, `loss` is summed over labels, and `majority_accuracy` is that of always
        predicting the most frequent set of labels.
    macro_f1 : float or None, default=None
        Unweighted mean of the F1 of all classes or labels.
    worst_class : str or None, default=None
        The class or label (as text) with the lowest recall among those that occur.
    worst_recall : float or None, default=None
        Recall of `worst_class`.
    n_worst : int or None, default=None
        Number of documents of `worst_class`.
    columns : mapping of str to str or None, default=None
        For a table, the kind of each column, and its numbers of values, bins and missing cells.
    cuts : sequence of str or None, default=None
        What was left out to keep to `time_limit`.
    is_number : bool or None, default=None
        Whether a number is predicted. Then `n_classes` is the number of knots, and the scores are
        the following.
    r2, network_r2, linear_r2 : float or None, default=None
        Explained share of the variance, by the whole model, the network alone, and the linear
        models alone.
    mean_absolute_error : float or None, default=None

    Notes
    -----
    Accuracy and loss are slightly optimistic, since the scales of the parts, a few numbers, are
    fitted to the same documents. So is the accuracy of the network, since it chose the epoch.
    Thresholds of ``threshold="f1"`` are cross-validated on them. Evaluate on further documents.
    """

    n_documents: int
    n_classes: int
    n_conflicting: int
    n_epochs: int
    kept_epoch: int | None
    ended: str
    n_scored: int
    accuracy: float | None
    loss: float | None
    network_accuracy: float | None
    linear_accuracy: float | None
    majority_accuracy: float | None
    shares: Mapping[str, float]
    seconds: Mapping[str, float]
    total_seconds: float
    several_labels: bool = False
    macro_f1: float | None = None
    worst_class: str | None = None
    worst_recall: float | None = None
    n_worst: int | None = None
    columns: Mapping[str, str] | None = None
    cuts: Sequence[str] | None = None
    is_number: bool | None = None
    r2: float | None = None
    network_r2: float | None = None
    linear_r2: float | None = None
    mean_absolute_error: float | None = None

    @property
    def accuracy_interval(self) -> tuple[float, float] | None:
        """Ends of Wilson's 95 % interval of `accuracy`; None without scores."""
        if self.accuracy is None:
            return None
        return share_interval(self.accuracy * self.n_scored, self.n_scored)

    @property
    def in_short(self) -> str:
        """The documents, the classes, the accuracy and the duration in one phrase."""
        classes = plural(self.n_classes, "label" if self.several_labels else "class")
        documents = plural(self.n_documents)
        if self.ended == "one portion":
            documents += " in the last portion"
        if self.is_number:
            score = "" if self.r2 is None else f"held-out R2 {self.r2:.3f}, "
            return f"{documents}, {score}{duration(self.total_seconds)}"
        measure = "subset accuracy" if self.several_labels else "accuracy"
        score = "" if self.accuracy is None else f"held-out {measure} {self.accuracy:.3f}, "
        return f"{documents}, {classes}, {score}{duration(self.total_seconds)}"

    def _facts(self) -> tuple[str, Facts]:
        classes = plural(self.n_classes, "label" if self.several_labels else "class")
        portion = "a portion of " if self.ended == "one portion" else ""
        of = "" if self.is_number else f" of {classes}"
        title = (
            f"Fitted to {portion}{plural(self.n_documents)}{of} in {duration(self.total_seconds)}"
        )
        facts = []
        interval = self.accuracy_interval
        if self.r2 is not None:
            held_out = plural(self.n_scored, "held-out document")
            alone = [("network", self.network_r2), ("linear", self.linear_r2)]
            facts = [
                ("R2", f"{self.r2:.3f} on {held_out}"),
                ("mean absolute error", amount(self.mean_absolute_error or 0.0)),
                ("R2 of each part alone", _named_scores(alone)),
            ]
        elif interval is None:
            facts.append(
                (
                    "R2" if self.is_number else "accuracy",
                    "not measured: no held-out documents that are new to the model",
                )
            )
        else:
            held_out = plural(self.n_scored, "held-out document")
            measure = "all labels right" if self.several_labels else "accuracy"
            ends = "95 % interval: {:.3f} to {:.3f}".format(*interval)
            facts.append((measure, f"{self.accuracy:.3f} on {held_out} ({ends})"))
            summed = ", summed over labels" if self.several_labels else ""
            facts.append(("loss", f"{self.loss:.3f}{summed}"))
            facts += self._by_class()
            alone = [("network", self.network_accuracy), ("linear", self.linear_accuracy)]
            if None not in dict(alone).values():
                decided = " (threshold 0.5)" if self.several_labels else ""
                facts.append(("each part alone", f"{_named_scores(alone)}{decided}"))
            guess = "most frequent labels" if self.several_labels else "most frequent class"
            facts.append((guess, f"{self.majority_accuracy:.3f}"))
        if len(self.shares) > 1:
            shares = [f"{name} {percent(share)}" for name, share in self.shares.items()]
            facts.append(("share of each part", ", ".join(shares)))
        facts.append(("training", _training(self, "document")))
        columns = self.columns or {}
        facts += [(in_one_line(f"column {name}"), what) for name, what in columns.items()]
        if self.n_conflicting:
            other = "labels" if self.several_labels else "label"
            facts.append((f"same words, other {other}", plural(self.n_conflicting)))
        if self.cuts:
            facts.append(("left out in time_limit", ", ".join(self.cuts)))
        facts.append(("time", _time(self)))
        return title, facts

    def _by_class(self) -> Facts:
        """Return macro F1 and the class with the lowest recall, with advice on raising it."""
        if self.macro_f1 is None:
            return []
        facts = [("macro F1", f"{self.macro_f1:.3f}")]
        if self.worst_recall is not None and self.n_worst is not None:
            worst = f"{in_one_line(self.worst_class)}: {self.worst_recall:.3f} of {self.n_worst:,}"
            is_rare = self.n_worst * self.n_classes < self.n_scored / 2
            if is_rare and self.worst_recall < 0.5:
                repair = "a lower threshold" if self.several_labels else "a larger class_weight"
                worst += f"; {repair} raises it, at the cost of precision"
            facts.append(("lowest recall", worst))
        return facts


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class TrainingSummary(SummaryOfFit):
    """Summary of a fit of a network without other parts; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table.

    Parameters
    ----------
    unit : str
        The noun for a sample, such as "sentence".
    n_trained : int
        Number of training samples.
    n_scored : int
        Number of held-out samples.
    n_epochs, kept_epoch, ended, seconds, total_seconds
        See `FitSummary`.
    accuracy : float or None
        Accuracy on the words of held-out samples in the kept epoch; slightly optimistic, since it
        chose this epoch.
    """

    unit: str
    n_trained: int
    n_scored: int
    n_epochs: int
    kept_epoch: int | None
    ended: str
    accuracy: float | None
    seconds: Mapping[str, float]
    total_seconds: float

    @property
    def in_short(self) -> str:
        """The samples, the accuracy and the duration in one phrase."""
        score = "" if self.accuracy is None else f"held-out accuracy {self.accuracy:.3f}, "
        return f"{plural(self.n_trained, self.unit)}, {score}{duration(self.total_seconds)}"

    def _facts(self) -> tuple[str, Facts]:
        unit = self.unit
        accuracy = f"not measured: no {unit} was held out"
        if self.accuracy is not None:
            held_out = plural(self.n_scored, f"held-out {unit}")
            accuracy = f"{self.accuracy:.3f} on the words of {held_out}"
        return (
            f"Fitted to {plural(self.n_trained, unit)} in {duration(self.total_seconds)}",
            [
                ("accuracy", accuracy),
                ("training", _training(self, unit)),
                ("time", _time(self)),
            ],
        )


def _named_scores(scores: Iterable[tuple[str, float | None]]) -> str:
    return ", ".join(f"{name} {score:.3f}" for name, score in scores if score is not None)


def _time(summary: Any) -> str:
    other = max(0.0, summary.total_seconds - sum(summary.seconds.values()))
    stages = {**summary.seconds, "other": other}
    return ", ".join(f"{name} {duration(seconds)}" for name, seconds in stages.items())


def _training(summary: Any, unit: str) -> str:
    epochs = plural(summary.n_epochs, "epoch")
    if summary.ended == "one portion":
        return f"{epochs} {ENDS[summary.ended]}"
    why = ENDS[summary.ended].format(unit=unit)
    kept = "the last one" if summary.kept_epoch is None else f"epoch {summary.kept_epoch}"
    return f"{epochs}, {why}; kept the weights of {kept}"


def plot_history(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw losses and, on a second scale, validation scores by epoch.

    Parameters
    ----------
    estimator : HANClassifier, Scorer, Pipeline, search or sequence of mapping
        A fitted classifier, a fitted Pipeline or search around one, or a history like
        ``history_``: a mapping for each epoch with `epoch`, `train_loss` and perhaps `valid_loss`
        and scores, whose names start with ``valid_``. Without `epoch`, epochs are counted from 1.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the losses; scores are drawn on a twin of them.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If the estimator keeps no history, or an epoch is not a mapping.
    ValueError
        If the history has no epoch, or no loss and no score to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sk_han.inspection import plot_history
    >>> history = [{"epoch": 1, "train_loss": 0.7}, {"epoch": 2, "train_loss": 0.5}]
    >>> ax = plot_history(history, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['training loss']
    """
    history = [{"epoch": i, **epoch} for i, epoch in enumerate(_read_history(estimator), start=1)]
    names = _names(history)
    ax, theme = themed_axes(ax, "plot_history")
    from matplotlib.ticker import MaxNLocator

    lines = _curve(ax, history, "train_loss", "training loss", theme.toward[1], "o--")
    lines += _curve(ax, history, "valid_loss", "validation loss", theme.against[1], "o-")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    scores = [name for name in names if name not in LOSSES]
    if scores:
        twin = ax.twinx()
        twin.set_ylabel("score")
        # With equal margins, the lines of losses and scores over two epochs would coincide.
        twin.margins(y=0.15)
        for i, name in enumerate(scores):
            label = name.replace("valid_", "validation ", 1)
            # The first two colours of most style sheets resemble those of the losses.
            marker = SCORE_MARKERS[i % len(SCORE_MARKERS)]
            lines += _curve(twin, history, name, label, f"C{i + 2}", f"{marker}:")
    labels = [in_one_line(line.get_label()) for line in lines]
    columns = min(3, len(lines))
    legend = ax.legend(
        lines, labels, frameon=False, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1)
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax


def _read_history(estimator: Any) -> Any:
    if isinstance(estimator, Sequence) and not isinstance(estimator, str):
        return estimator
    model = fitted_steps(estimator)[-1]
    # A Scorer has no history_, but its model has the history.
    if isinstance(getattr(model, "model_", None), FittedModel):
        return model.model_.history
    if not hasattr(model, "history_"):
        raise TypeError(
            "plot_history needs a fitted estimator of sk_han, a Pipeline that ends in one, a "
            f"search, or its history_; got {type(model).__name__}."
        )
    return model.history_


def _names(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of losses and scores, in the order of their first occurrence."""
    names = dict.fromkeys(
        name for epoch in history for name, value in epoch.items() if value is not None
    )
    drawable = [name for name in names if name == "train_loss" or name.startswith("valid_")]
    if not drawable:
        raise ValueError(
            "history has nothing to draw: its epochs need train_loss, valid_loss or scores whose "
            f"names start with valid_; got {plural(len(history), 'epoch')} with {list(names)}."
        )
    return drawable


def _curve(
    ax: Axes, history: Sequence[Mapping[str, Any]], key: str, label: str, color: str, style: str
) -> list[Any]:
    points = [(epoch["epoch"], epoch[key]) for epoch in history if epoch.get(key) is not None]
    if not points:
        return []
    return ax.plot(*zip(*points, strict=True), style, color=color, label=label)
