"""What fits have come to: read-only data."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from sk_han.inspection.results.result import Result
from sk_han.rendering.fit_page import ENDS, Facts, facts_page, facts_text, fit_facts, training_facts
from sk_han.utils.messages import counted
from sk_han.utils.progress import duration

_Summary = TypeVar("_Summary", bound="SummaryOfFit")


class SummaryOfFit(Result):
    """What both kinds of summary share: they are read from files, and shown as facts."""

    @property
    @abstractmethod
    def in_short(self) -> str:
        """What matters most, as a phrase: what was learnt from, accuracy, seconds."""

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
                raise ValueError(f"{name} in the summary of a fit is no {kinds[name]}")
        if values["ended"] not in ENDS:
            raise ValueError(f"a fit ends by one of {tuple(ENDS)}")
        return cls(**values)

    def to_text(self) -> str:
        """Return the summary as lines of text."""
        return facts_text(*self._facts())

    @abstractmethod
    def _facts(self) -> tuple[str, Facts]:
        """Return a title, and names with values."""

    def _markup(self, *, full_page: bool) -> str:
        return facts_page(*self._facts(), full_page)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_short})"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class FitSummary(SummaryOfFit):
    """The summary of a fit of a `HANClassifier`; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table. Scores are of documents that the network has
    not learnt from, by linear models that have not learnt from them: held-out documents, or
    `X_val`. They are None where there are no such documents.

    Parameters
    ----------
    n_documents : int
        Documents with a label that were learnt from, held-out ones included.
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
        return fit_facts(self)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class TrainingSummary(SummaryOfFit):
    """The summary of a fit of a network without other parts; its attribute ``fit_summary_``.

    ``print`` shows it as text, a notebook as a table.

    Parameters
    ----------
    unit : str
        What was learnt from, such as "sentence".
    n_trained : int
        Units that the network has learnt from.
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
        return training_facts(self)


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
