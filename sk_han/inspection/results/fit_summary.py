"""Summaries of fits: read-only data."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from sk_han.inspection.results.result import Extent, Result
from sk_han.rendering.blocks import Block, Heading, Span, Table, percent
from sk_han.utils.messages import counted, in_one_line
from sk_han.utils.progress import duration

_Summary = TypeVar("_Summary", bound="SummaryOfFit")
Facts: TypeAlias = list[tuple[str, str]]
# Why a fit has ended, in words.
ENDS = {
    "all epochs": "all that were planned",
    "no improvement": "ended since the held-out {unit}s showed no improvement",
    "a callback": "ended by a callback",
    "the time": "ended by StopAfter",
    "an interrupt": "ended by Ctrl-C",
    "one portion": "over this portion",
}


class SummaryOfFit(Result):
    """Base class of both summaries: they are read from files, and shown as facts."""

    @property
    @abstractmethod
    def in_short(self) -> str:
        """What matters most, as a phrase: what it was fitted to, accuracy, seconds."""

    @classmethod
    def from_dict(cls: type[_Summary], values: Any) -> _Summary:
        """Make a summary of what `to_dict` returned.

        Raises
        ------
        ValueError
            If a value is missing, of another kind, or one too many.
        """
        described: Any = cls  # a dataclass
        fields = dataclasses.fields(described)
        kinds = {field.name: str(field.type) for field in fields}
        needed = {field.name for field in fields if field.default is dataclasses.MISSING}
        if not isinstance(values, Mapping) or not needed <= values.keys() <= kinds.keys():
            raise ValueError(f"a summary of a fit has the values {sorted(kinds)}")
        for name, value in values.items():
            if not _is_of_kind(value, kinds[name]):
                raise ValueError(
                    f"{name} in the summary of a fit must be of the type {kinds[name]}"
                )
        if values["ended"] not in ENDS:
            raise ValueError(f"a fit ends by one of {tuple(ENDS)}")
        return cls(**values)

    @abstractmethod
    def _facts(self) -> tuple[str, Facts]:
        """Return a title, and names with values."""

    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        title, facts = self._facts()
        rows = [(name, Span(value)) for name, value in facts]
        return [Heading(title, 1), Table(rows, kind="facts")]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_short})"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class FitSummary(SummaryOfFit):
    """The summary of a fit of a `HANClassifier`; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table. Scores are of documents that the network was
    not fitted to, by linear models that were not fitted to them: held-out documents, or
    `X_val`. They are None where there are no such documents.

    Parameters
    ----------
    n_documents : int
        Documents with a label, held-out ones included.
    n_classes : int
    n_conflicting : int
        Documents with the same words as one with another label.
    n_epochs : int
        Epochs of this fit.
    kept_epoch : int or None
        The epoch whose weights were kept, from 1; None for the last one, without scores.
    ended : {"all epochs", "no improvement", "a callback", "the time", "an interrupt", \
"one portion"}
        Why training ended: there were no more epochs, `n_iter_no_change` was reached, or a callback
        asked for it, such as `StopAfter` and `StopOnInterrupt`. "one portion": this was
        `partial_fit`, and all values are of its last portion.
    n_scored : int
        Documents that the scores are of.
    accuracy, loss : float or None
        Of the whole model, which predicts: accuracy, and mean negative log-likelihood in nats, with
        the weights of classes and documents, if any.
    network_accuracy, linear_accuracy : float or None
        Accuracy of the network alone, and of the linear models alone.
    majority_accuracy : float or None
        Accuracy of always predicting the most frequent class.
    shares : mapping of str to float
        What each part brings to the log-odds of these documents, as a share of all (mean absolute
        values); empty without scores.
    seconds : mapping of str to float
        Of each stage, by the clock.
    total_seconds : float
        Of the whole fit.
    several_labels : bool, default=False
        Whether a document may have several labels. Accuracy is then the share of documents with all
        labels right, `loss` that of all labels together, and `majority_accuracy` that of always
        predicting the most frequent set of labels.
    macro_f1 : float or None, default=None
        Mean of the F1 of all classes or labels, whether frequent or not.
    worst_class : str or None, default=None
        The class or label, as text, of the lowest recall among those that these documents have.
    worst_recall : float or None, default=None
        The share of its documents that were found.
    n_worst : int or None, default=None
        How many of these documents have it.

    Notes
    -----
    The scale of the network is fitted to the same documents, one or two numbers, so accuracy and
    loss are a little too good; the kept epoch is chosen by the accuracy of the network on them,
    which is therefore too good too. Thresholds by ``threshold="f1"`` are found on the same
    documents as well: here each fifth of them is decided by those of the others. Measure what
    matters on documents of your own.
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

    @property
    def in_short(self) -> str:
        """What matters most, as a phrase: documents, classes, accuracy, seconds."""
        classes = counted(self.n_classes, "label" if self.several_labels else "class")
        documents = counted(self.n_documents)
        if self.ended == "one portion":
            documents += " in the last portion"
        measure = "subset accuracy" if self.several_labels else "accuracy"
        score = "" if self.accuracy is None else f"held-out {measure} {self.accuracy:.3f}, "
        return f"{documents}, {classes}, {score}{duration(self.total_seconds)}"

    def _facts(self) -> tuple[str, Facts]:
        classes = counted(self.n_classes, "label" if self.several_labels else "class")
        portion = "a portion of " if self.ended == "one portion" else ""
        title = (
            f"Fitted to {portion}{counted(self.n_documents)} of {classes} in "
            f"{duration(self.total_seconds)}"
        )
        facts = []
        if self.accuracy is None:
            facts.append(
                ("accuracy", "not measured: no held-out document is known to be new to the model")
            )
        else:
            held_out = counted(self.n_scored, "held-out document")
            measure = "all labels right" if self.several_labels else "accuracy"
            facts.append((measure, f"{self.accuracy:.3f} on {held_out}"))
            of_all = ", the sum of all labels" if self.several_labels else ""
            facts.append(("loss", f"{self.loss:.3f} on the same{of_all}"))
            facts += self._by_class()
            alone = [("network", self.network_accuracy), ("linear", self.linear_accuracy)]
            named = [f"{name} {score:.3f}" for name, score in alone if score is not None]
            if len(named) > 1:
                decided = ", labels from one half on" if self.several_labels else ""
                facts.append(("each alone", f"{', '.join(named)}{decided}"))
            guess = "most frequent labels" if self.several_labels else "most frequent class"
            facts.append((guess, f"{self.majority_accuracy:.3f}"))
        if len(self.shares) > 1:
            shares = [f"{name} {percent(share)}" for name, share in self.shares.items()]
            facts.append(("share of each part", ", ".join(shares)))
        facts.append(("training", _training(self, "document")))
        if self.n_conflicting:
            other = "labels" if self.several_labels else "label"
            facts.append((f"same text, other {other}", counted(self.n_conflicting)))
        facts.append(("time", _time(self)))
        return title, facts

    def _by_class(self) -> Facts:
        """Return macro F1 and the class that is found least, with what would find more of it."""
        if self.macro_f1 is None:
            return []
        facts = [("macro F1", f"{self.macro_f1:.3f}")]
        if self.worst_recall is not None and self.n_worst is not None:
            worst = f"{in_one_line(self.worst_class)}: {self.worst_recall:.3f} of {self.n_worst:,}"
            is_rare = self.n_worst * self.n_classes < self.n_scored / 2
            if is_rare and self.worst_recall < 0.5:
                repair = "a lower threshold" if self.several_labels else "a larger class_weight"
                worst += f"; {repair} finds more of it, and more that is not"
            facts.append(("lowest recall", worst))
        return facts


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class TrainingSummary(SummaryOfFit):
    """The summary of a fit of a network without other parts; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table.

    Parameters
    ----------
    unit : str
        What it was fitted to, such as "sentence".
    n_trained : int
        Units that the network was fitted to.
    n_scored : int
        Held-out units.
    n_epochs, kept_epoch, ended, seconds, total_seconds
        As of `FitSummary`.
    accuracy : float or None
        Of the words of held-out units, in the kept epoch. It has chosen this epoch, and is a little
        too good.
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
        """What matters most, as a phrase: units, accuracy, seconds."""
        score = "" if self.accuracy is None else f"held-out accuracy {self.accuracy:.3f}, "
        return f"{counted(self.n_trained, self.unit)}, {score}{duration(self.total_seconds)}"

    def _facts(self) -> tuple[str, Facts]:
        unit = self.unit
        accuracy = f"not measured: no {unit} was held out"
        if self.accuracy is not None:
            held_out = counted(self.n_scored, f"held-out {unit}")
            accuracy = f"{self.accuracy:.3f} on the words of {held_out}"
        return (
            f"Fitted to {counted(self.n_trained, unit)} in {duration(self.total_seconds)}",
            [
                ("accuracy", accuracy),
                ("training", _training(self, unit)),
                ("time", _time(self)),
            ],
        )


def _time(summary: Any) -> str:
    other = max(0.0, summary.total_seconds - sum(summary.seconds.values()))
    stages = {**summary.seconds, "other": other}
    return ", ".join(f"{name} {duration(seconds)}" for name, seconds in stages.items())


def _training(summary: Any, unit: str) -> str:
    epochs = counted(summary.n_epochs, "epoch")
    if summary.ended == "one portion":
        return f"{epochs} {ENDS[summary.ended]}"
    why = ENDS[summary.ended].format(unit=unit)
    kept = "the last one" if summary.kept_epoch is None else f"epoch {summary.kept_epoch}"
    return f"{epochs}, {why}; the weights of {kept} were kept"


def _is_of_kind(value: Any, kind: str) -> bool:
    """Return whether a value is of an annotated kind; numbers are finite and not negative."""
    kind, _, or_none = kind.partition(" | ")
    if value is None:
        return bool(or_none)
    if kind.startswith("Mapping"):
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and _is_of_kind(number, "float") for name, number in value.items()
        )
    if type(value).__name__ != kind:
        return False
    return kind not in ("int", "float") or (math.isfinite(value) and value >= 0)
