"""The target of several labels per document: a sigmoid, a threshold and a problem for each."""

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
# Other thresholds are advised if the number of predicted labels is below this share of the true
# ones, which is the ratio of recall to precision.
_MOST_GIVEN = 0.8
# The lowest threshold. With a lower one, F1 would be below 4 % and many documents would get a rare
# label.
_LOWEST = 0.02
# In fewer documents, it may be chance that each has one label.
_ENOUGH_DOCUMENTS = 20
# The numbers of labels with which each gets its own attention to words (docs/what_was_tried.md).
ATTENDING = range(31, 501)


@dataclass(frozen=True, eq=False)
class AnyOfLabels(Target):
    """The target of a classifier whose documents have none, one or several of L labels.

    Encoded labels are an indicator, bool of shape (D, L). Each label is a binary problem. Names are
    in the order of the user's columns. A document gets a label if its probability reaches the
    threshold.
    """

    names: NDArray[Any]  # (L,)
    thresholds: Floats  # (L,)
    # During a fit with class weights: the weights of documents without and with each label, (2, L).
    sides: Floats | None = None

    kind, labelling = "any_of_labels", "several labels a document"
    has_one_label = False
    SCHEMA = Schema(
        (Field("labels", label_names), Field("thresholds", Array("float64", "K", 0, 1))),
        rules=(one_problem_each,),
    )

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return whether labels have several columns."""
        return is_indicator(y)

    @classmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, Flags]:
        """Check an indicator, and take the names of its columns as labels."""
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
        """Return names in their order; an integer L stands for the names 0 to L-1."""
        return check_names(classes)

    def encode(self, y: Any, n_documents: int, name: str = "y") -> Flags:
        """Check an indicator, and bring named columns into the order of the labels, (D, L)."""
        values, columns = check_indicator(y, n_documents, name)
        return in_label_order(values, columns, self.names, name)

    def decide_by_proba(self, p: Floats) -> Flags:
        """Return which labels reach their thresholds, (D, L)."""
        return p >= self.thresholds

    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Convert an indicator to integers."""
        return t.astype(np.int64)

    def encode_to_compare(self, y: Any) -> Flags:
        """Return an indicator with columns for unknown labels at the end, (D, L + U)."""
        n_documents = y.shape[0] if hasattr(y, "shape") else len(y)
        t, unknown = append_unknown(*check_indicator(y, n_documents, "y"), self.names, "y")
        if n_with := int(t[:, self.n_scores :].any(axis=1).sum()):
            warn_user(unknown_labels_note(n_with, unknown))
        return t

    def note_on_recall(self, predicted: Flags, t: Flags) -> str:
        """Advise other thresholds if far fewer labels, (D, L), are predicted than are true."""
        if predicted.sum() >= _MOST_GIVEN * t.sum() or (self.thresholds != 0.5).any():
            return ""
        mean = averages(predicted, t)
        return (
            f"Many labels are missed: micro recall is {mean['micro_recall']:.2f}, micro precision "
            f"{mean['micro_precision']:.2f}. A fit with threshold='f1' chooses the threshold of "
            "each label that has the highest F1 on held-out documents."
        )

    def codes(self, t: NDArray[Any]) -> Integers:
        """Number the distinct sets of labels."""
        codes: Integers = np.unique(t, axis=0, return_inverse=True)[1].reshape(-1)
        return codes

    def strata(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the labels, since their sets may be too many to stratify by."""
        return t

    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Check weights; class weights belong to documents with and without each label."""
        weights = document_weights(sample_weight, None, np.arange(len(t)), np.arange(len(t)))
        sides = None
        if class_weight is not None:
            sides = side_weights(class_weight, t, weights, self.names)
        return replace(self, sides=sides), weights

    def problem_weights(self, t: NDArray[Any], w: Floats) -> Floats:
        """Multiply document weights by the weights of having or lacking each label, (D, L)."""
        if self.sides is None:
            return np.broadcast_to(w[:, np.newaxis], t.shape)
        return w[:, np.newaxis] * np.where(t > 0, self.sides[1], self.sides[0])

    def mean_of(self, values: NDArray[Any], t: NDArray[Any], w: Floats) -> Floats:
        """Average values over documents with the weights of having or lacking each label, (L,)."""
        mean: Floats = np.average(values, axis=0, weights=self.problem_weights(t, w))
        return mean

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, Flags]:
        """Return the target of the labels with most documents on their rarer side, and all rows.

        A label that nearly all documents have is as uninformative as one that nearly none has.
        """
        n_positive = t.sum(axis=0)
        kept = most_frequent(np.minimum(n_positive, len(t) - n_positive), most)
        sides = None if self.sides is None else self.sides[:, kept]
        target = AnyOfLabels(self.names[kept], self.thresholds[kept], sides)
        return target, np.arange(len(t)), t[:, kept]

    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether some label has both documents with it and documents without it."""
        return bool((t.any(axis=0) & ~t.all(axis=0)).any())

    def criterion(self) -> Any:
        """Return the sum of binary cross-entropies, whose targets may also be probabilities."""
        from sk_han.nn._training import BinaryLosses

        if self.sides is None:
            return BinaryLosses
        from torch import from_numpy

        negative, positive = (from_numpy(side.astype(np.float32)) for side in self.sides)
        return partial(BinaryLosses, positive=positive, negative=negative)

    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Compute the sums of binary cross-entropies over labels, (D,), and their gradient."""
        weights = self.problem_weights(t, w)
        losses = np.logaddexp(0, np.where(t, -z, z))
        return (weights * losses).sum(axis=1), weights * (self.probabilities(z) - t)

    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Compute the weighted sum of the entropies of the labels."""
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
        """Convert an indicator to floats, (D, L)."""
        return t.astype(np.float32)

    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the scores of the labels, which are log-odds already."""
        return z[np.arange(len(z)), of]

    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return 1 for the label and 0 for the others, (D, L)."""
        return np.eye(self.n_scores)[of]

    def reliance(self, t: NDArray[Any]) -> Floats:
        """Return n / (n + 10) for a label of n documents, since networks need many to learn it."""
        n: Integers = t.sum(axis=0)
        return n / (n + _FEW)

    @property
    def attends_per_label(self) -> bool:
        """Whether there are 31 to 500 labels: fewer do not gain, and more take too long."""
        return len(self.names) in ATTENDING

    def check_threshold(self, threshold: Any) -> None:
        """Check that there is one threshold for all labels, or one for each."""
        # The only string that the parameter accepts is "f1".
        if isinstance(threshold, str):
            return
        try:
            values = np.asarray(threshold, dtype=np.float64)
            is_valid = bool(((values >= 0) & (values <= 1)).all())
        except (TypeError, ValueError):
            values, is_valid = np.empty(0), False
        if values.shape not in ((), self.names.shape) or not is_valid:
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
        """Set the thresholds as given, or to the highest F1 on held-out documents."""
        if not isinstance(threshold, str):
            thresholds = np.broadcast_to(np.asarray(threshold, dtype=np.float64), self.names.shape)
        elif unseen is None:
            thresholds = self.thresholds
            stays = "labels are given from a probability of 0.5 on"
            if (thresholds != 0.5).any():
                stays = "the thresholds of the earlier fit stay"
            warn_user(
                f"threshold={threshold!r} needs documents that are new to the model, and none is "
                f"known to be: {stays}. Give X_val and y_val, or more documents."
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

    If probabilities are calibrated, the best threshold is half of the F1 that it reaches, and can
    be found without labels (Lipton et al., 2014). The truth is therefore estimated as a mixture of
    labels and probabilities, in which labels weigh more with more positives. Class weights raise
    the odds of rare labels. So if probabilities predict more positives than there are, both among
    all labelled documents and among the held-out ones, they are scaled down by the smaller excess.
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
        # A threshold cannot separate equal probabilities.
        f1[:-1][sure[:-1] == sure[1:]] = 0
        best = int(f1.argmax())
        below = sure[best + 1] if best + 1 < len(sure) else 0.0
        # Scaled down like the probabilities, the odds of this threshold are those of `_LOWEST`.
        lowest = _LOWEST / (_LOWEST + (1 - _LOWEST) * kept)
        thresholds[label] = max((sure[best] + below) / 2, lowest)
    return thresholds


def warn_of_labels(t: Flags, names: NDArray[Any]) -> None:
    """Warn of labels that no document or every document has; raise a ValueError if y is all 0."""
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
            constant = names[rows].tolist()
            warn_user(
                f"{len(constant):,} of {len(names):,} labels cannot be learnt, since {what} "
                f"{'it' if len(constant) == 1 else 'them'}: {listed(constant)}. Each gets about "
                "the same probability for all documents."
            )


def side_weights(class_weight: Any, t: Flags, weights: Floats, names: NDArray[Any]) -> Floats:
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
                f"class_weight names {listed(unknown)}, which are not labels. Give the weights of "
                f"documents with each of the labels {listed(names.tolist(), 20)}."
            )
        triples = [(1, number[label], value) for label, value in class_weight.items()]
    else:
        is_by_label = len(class_weight) == len(names)
        if not is_by_label or not all(
            isinstance(pair, dict) and pair.keys() <= {0, 1} for pair in class_weight
        ):
            raise ValueError(
                "A list as class_weight has a dict {0: weight, 1: weight} for each of the "
                f"{len(names)} labels; got {brief(class_weight)}."
            )
        triples = [
            (side, i, value) for i, pair in enumerate(class_weight) for side, value in pair.items()
        ]
    for side, label, value in triples:
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
            "without it. Give one of them a weight, or leave the column out of y."
        )
    return sides
