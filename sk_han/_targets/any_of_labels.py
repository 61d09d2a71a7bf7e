"""Any of several labels: a sigmoid, a threshold and a binary problem for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._storage.schema import Array, Field, Schema, label_names
from sk_han._targets.target import Target, log_sigmoid, most_frequent, one_problem_each
from sk_han._utils.containers import Flags, Floats, Integers, listed
from sk_han._utils.messages import warn_user
from sk_han._utils.metrics import averages
from sk_han._validation.labels import (
    append_unknown,
    check_indicator,
    check_names,
    document_weights,
    in_label_order,
    is_indicator,
    unknown_labels_note,
    warn_of_names,
)

# With this many documents of a label, the network has half the weight that it has for frequent
# ones.
_FEW = 10.0
# Pseudo-count: at this many positives, labels and predicted probabilities weigh equally in the
# threshold.
_PRIOR = 10.0
# Pseudo-count of the ratio of true to predicted positives.
_ADDED = 1.0
# Other thresholds are advised where fewer labels are given than this share of those there are: it
# is the ratio of recall to precision.
_MOST_GIVEN = 0.8
# No threshold is lower: its F1 would be below 4 %, and many documents would get a rare label.
_LOWEST = 0.02
# With fewer documents, one label of each may be chance.
_ENOUGH_DOCUMENTS = 20
# Numbers of labels that attend to words by themselves (docs/what_was_tried.md).
ATTENDING = range(31, 501)


@dataclass(frozen=True, eq=False)
class AnyOfLabels(Target):
    """The target of a classifier whose documents have none, one or several of L labels.

    Encoded labels are an indicator, bool of shape (D, L). Each label is a binary problem.
    Names are in the order of the user's columns. A document gets a label from its threshold on.
    """

    names: NDArray[Any]  # (L,)
    thresholds: Floats  # (L,)
    # (2, L), in a fit with class weights: weights of documents without and with each label.
    sides: Floats | None = None

    kind, labelling = "any_of_labels", "several labels a document"
    has_one_label = False
    SCHEMA = Schema(
        (Field("labels", label_names), Field("thresholds", Array("float64", "K", 0, 1))),
        rules=(one_problem_each,),
    )

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return whether labels come in columns."""
        return is_indicator(y)

    @classmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, Flags]:
        """Check an indicator, and take the names of its columns."""
        values, columns = check_indicator(y, n_documents, "y")
        if classes is not None:
            names = cls.read_classes(classes)
        else:
            names = np.arange(values.shape[1]) if columns is None else columns
        t = in_label_order(values, columns, names, "y")
        if classes is None:
            warn_of_labels(t, names)
        warn_of_names(names)
        return cls(names, np.full(len(names), 0.5)), t

    @classmethod
    def read_classes(cls, classes: Any) -> NDArray[Any]:
        """Return names in their order; a number stands for as many columns without names."""
        return check_names(classes)

    def encode(self, y: Any, n_documents: int, name: str = "y") -> Flags:
        """Check an indicator, and put named columns in the order of the labels, (D, L)."""
        values, columns = check_indicator(y, n_documents, name)
        return in_label_order(values, columns, self.names, name)

    def decide_by_proba(self, p: Floats) -> Flags:
        """Return which labels have a probability of their thresholds or more, (D, L)."""
        return p >= self.thresholds

    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return an indicator of integers."""
        return t.astype(np.int64)

    def encode_to_compare(self, y: Any) -> Flags:
        """Return an indicator of the labels, then of those that are unknown, (D, L + U)."""
        n_documents = y.shape[0] if hasattr(y, "shape") else len(y)
        t, unknown = append_unknown(*check_indicator(y, n_documents, "y"), self.names, "y")
        if n_with := int(t[:, self.n_scores :].any(axis=1).sum()):
            warn_user(unknown_labels_note(n_with, unknown))
        return t

    def note_on_recall(self, given: Flags, t: Flags) -> str:
        """Advise other thresholds if far fewer labels (D, L) are given than documents have."""
        if given.sum() >= _MOST_GIVEN * t.sum() or (self.thresholds != 0.5).any():
            return ""
        mean = averages(given, t)
        return (
            f"Many labels are missed: micro recall is {mean['micro_recall']:.2f}, micro precision "
            f"{mean['micro_precision']:.2f}. A fit with threshold='f1' chooses the threshold of "
            "each label that has the highest F1 on held-out documents."
        )

    def codes(self, t: NDArray[Any]) -> Integers:
        """Return the numbers of the sets of labels."""
        codes: Integers = np.unique(t, axis=0, return_inverse=True)[1].reshape(-1)
        return codes

    def strata(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the labels: their sets may be too many to stratify by."""
        return t

    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Check weights: those of classes belong to the sides of each label."""
        weights = document_weights(sample_weight, None, np.arange(len(t)), np.arange(len(t)))
        sides = None
        if class_weight is not None:
            sides = weights_of_sides(class_weight, t, weights, self.names)
        return replace(self, sides=sides), weights

    def problem_weights(self, t: NDArray[Any], w: Floats) -> Floats:
        """Multiply the weight of each document by that of its side of each label, (D, L)."""
        if self.sides is None:
            return np.broadcast_to(w[:, np.newaxis], t.shape)
        return w[:, np.newaxis] * np.where(t > 0, self.sides[1], self.sides[0])

    def mean_of(self, values: NDArray[Any], t: NDArray[Any], w: Floats) -> Floats:
        """Return the mean of a value of each label, with the weights of its sides."""
        mean: Floats = np.average(values, axis=0, weights=self.problem_weights(t, w))
        return mean

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, Flags]:
        """Return the target of the labels with most documents on their rarer side; keep all rows.

        A label that nearly all documents have is as uninformative as one that nearly none has.
        """
        n_positive = t.sum(axis=0)
        kept = most_frequent(np.minimum(n_positive, len(t) - n_positive), most)
        sides = None if self.sides is None else self.sides[:, kept]
        target = AnyOfLabels(self.names[kept], self.thresholds[kept], sides)
        return target, np.arange(len(t)), t[:, kept]

    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether a label has documents with it and without it."""
        return bool((t.any(axis=0) & ~t.all(axis=0)).any())

    def criterion(self) -> Any:
        """Return the sum of the binary cross-entropies, which takes probabilities too."""
        from sk_han.nn._training import BinaryLosses

        if self.sides is None:
            return BinaryLosses
        from torch import from_numpy

        negative, positive = (from_numpy(side.astype(np.float32)) for side in self.sides)
        return partial(BinaryLosses, positive=positive, negative=negative)

    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Return the binary cross-entropies of all labels together, and the gradient of the sum."""
        weights = self.problem_weights(t, w)
        losses = np.logaddexp(0, np.where(t, -z, z))
        return (weights * losses).sum(axis=1), weights * (self.probabilities(z) - t)

    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Return the sum of the entropies of the labels, as weighted."""
        weights = self.problem_weights(t, w)
        with_label, whole = (weights * t).sum(axis=0), weights.sum(axis=0)
        share = with_label / whole
        share, whole = share[(share > 0) & (share < 1)], whole[(share > 0) & (share < 1)]
        entropies = -(share * np.log(share) + (1 - share) * np.log1p(-share))
        return float(whole @ entropies / w.sum())

    def probabilities(self, z: Floats) -> Floats:
        """Return the sigmoids, (D, L)."""
        return np.exp(log_sigmoid(z))

    def log_probabilities(self, z: Floats) -> Floats:
        """Return the logarithms of the sigmoids, (D, L)."""
        return log_sigmoid(z)

    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 for the labels of a document and 0 for the others, (D, L)."""
        return t.astype(np.float32)

    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the score of the label, which is its log-odds."""
        return z[np.arange(len(z)), of]

    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return 1 for the label and 0 for the others, (D, L)."""
        return np.eye(self.n_scores)[of]

    def reliance(self, t: NDArray[Any]) -> Floats:
        """Return n / (n + 10) for a label of n documents: a network learns little from few."""
        n: Integers = t.sum(axis=0)
        return n / (n + _FEW)

    @property
    def attends_per_label(self) -> bool:
        """True for 31 to 500 labels: fewer gain nothing, more take too long."""
        return len(self.names) in ATTENDING

    def check_threshold(self, threshold: Any) -> None:
        """Check that there is one threshold for all labels, or one for each."""
        if isinstance(threshold, str):  # "f1"
            return
        try:
            found = np.asarray(threshold, dtype=np.float64)
            is_valid = bool(((found >= 0) & (found <= 1)).all())
        except (TypeError, ValueError):
            found, is_valid = np.empty(0), False
        if found.shape not in ((), self.names.shape) or not is_valid:
            raise ValueError(
                f"threshold is {brief(threshold)}; it takes a number between 0 and 1, an "
                f"array of one for each of the {self.n_scores} labels, or 'f1'."
            )

    def with_decisions(
        self,
        threshold: Any,
        labelled: tuple[NDArray[Any], NDArray[Any]],
        unseen: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None,
    ) -> Target:
        """Set thresholds: the given ones, or those of the highest F1 on held-out documents."""
        if not isinstance(threshold, str):
            thresholds = np.broadcast_to(np.asarray(threshold, dtype=np.float64), self.names.shape)
        elif unseen is None:
            thresholds = self.thresholds
            stays = "labels are given from a probability of 0.5 on"
            if (thresholds != 0.5).any():
                stays = "the thresholds of the earlier fit stay"
            warn_user(
                f"threshold={threshold!r} needs documents that are new to the model, and none is "
                f"known to be: {stays}. Give X_val and y_val, or fit anew to enough documents "
                "to hold some out."
            )
        else:
            z, t, w = unseen
            thresholds = best_thresholds(self.probabilities(z), t, w, *labelled)
        return replace(self, thresholds=thresholds.copy(), sides=None)

    def to_state(self) -> dict[str, Any]:
        """Return the labels and their thresholds."""
        return {"kind": self.kind, "labels": self.names, "thresholds": self.thresholds}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AnyOfLabels:
        """Restore the target of these labels."""
        return cls(state["labels"].copy(), state["thresholds"].copy())


def best_thresholds(
    p: Floats,
    t: Flags,
    w: Floats,
    t_labelled: Flags,
    w_labelled: Floats,
) -> Floats:
    """Return the threshold of each label with the highest F1 on held-out documents, (L,).

    If probabilities are right, the best threshold is half of the F1 that it reaches, and no label
    need be known (Lipton et al., 2014). So the truth is estimated as a mixture of labels and
    probabilities; labels weigh more the more positives there are. Where probabilities predict more
    positives than there are, both among all labelled documents and among the held-out ones, they
    are scaled down by that ratio: class weights raise the odds of rare labels.
    """
    thresholds, w = np.full(p.shape[1], 0.5), w / w.mean()
    n, n_with = len(t_labelled), w_labelled / w_labelled.mean() @ t_labelled
    for label in range(p.shape[1]):
        order = np.argsort(-p[:, label], kind="stable")
        sure, has, counts = p[order, label], t[order, label], w[order]
        of_labels = has.sum() / (has.sum() + _PRIOR)
        promised = counts @ sure
        of_labelled = (n_with[label] + _ADDED) / (n * promised / len(p) + _ADDED)
        kept = min(1.0, max(of_labelled, counts @ has / (promised + _ADDED)))
        truth = counts * (of_labels * has + (1 - of_labels) * kept * sure)
        if not truth.sum() > 0:
            continue
        f1 = 2 * np.cumsum(truth) / (np.cumsum(counts) + truth.sum())
        f1[:-1][sure[:-1] == sure[1:]] = 0  # equal probabilities get the label together
        best = int(f1.argmax())
        below = sure[best + 1] if best + 1 < len(sure) else 0.0
        lowest = _LOWEST / (_LOWEST + (1 - _LOWEST) * kept)  # its odds times `kept` are `_LOWEST`'s
        thresholds[label] = max((sure[best] + below) / 2, lowest)
    return thresholds


def warn_of_labels(t: Flags, names: NDArray[Any]) -> None:
    """Warn of labels that no document has or all have; raise ValueError without any label."""
    counts = t.sum(axis=0)
    if not counts.any():
        raise ValueError("y is 0 throughout: no document has a label to learn.")
    if len(t) >= _ENOUGH_DOCUMENTS and (t.sum(axis=1) == 1).all():
        warn_user(
            "Each document has exactly one label. If these are classes, give the class of each "
            "document: y.argmax(axis=1), or y.idxmax(axis=1) of a DataFrame."
        )
    for rows, what in ((counts == 0, "no document has"), (counts == len(t), "all documents have")):
        if rows.any():
            found = names[rows].tolist()
            warn_user(
                f"{len(found):,} of {len(names):,} labels cannot be learnt, since {what} "
                f"{'it' if len(found) == 1 else 'them'}: {listed(found)}. Each gets about the same "
                "probability for all documents."
            )


def weights_of_sides(class_weight: Any, t: Flags, weights: Floats, names: NDArray[Any]) -> Floats:
    """Return the weights of documents without and with each label, (2, L)."""
    sides = np.ones((2, len(names)))
    if isinstance(class_weight, str):  # "balanced"
        with_label = weights @ t
        both = np.stack([weights.sum() - with_label, with_label])
        np.divide(weights.sum() / 2, both, out=sides, where=(both > 0).all(axis=0))
        return sides
    if isinstance(class_weight, dict):
        number = {label: i for i, label in enumerate(names.tolist())}
        unknown = [label for label in class_weight if label not in number]
        if unknown:
            raise ValueError(
                f"class_weight names {listed(unknown)}, which are not labels; the labels are "
                f"{listed(names.tolist(), 20)}. The value of a label is the weight of documents "
                "with it."
            )
        given = [(1, number[label], value) for label, value in class_weight.items()]
    else:
        is_by_label = len(class_weight) == len(names)
        if not is_by_label or not all(
            isinstance(each, dict) and each.keys() <= {0, 1} for each in class_weight
        ):
            raise ValueError(
                "A list as class_weight has a dict {0: weight, 1: weight} for each of the "
                f"{len(names)} labels; got {brief(class_weight)}."
            )
        given = [
            (side, i, value) for i, each in enumerate(class_weight) for side, value in each.items()
        ]
    for side, label, value in given:
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not 0 <= value < 1e100:
            raise ValueError(
                f"class_weight of {names.tolist()[label]!r} is {brief(value)}; weights are >= 0."
            )
        sides[side, label] = value
    unread = np.flatnonzero(~sides.any(axis=0))
    if len(unread):
        raise ValueError(
            f"class_weight of {names.tolist()[unread[0]]!r} is 0 for documents with the label and "
            "without it, so nothing is left to learn from; give one of them a weight, or leave the "
            "column out of y."
        )
    return sides
