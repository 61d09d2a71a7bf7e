"""The target of one class per document: softmax, argmax, and log-odds against other classes."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._storage.schema import Field, Schema, Sizes, labels
from sk_han._targets.target import Target, most_frequent
from sk_han._utils.containers import Flags, Floats, Integers, listed
from sk_han._utils.messages import agreeing, plural, warn_user
from sk_han._validation.labels import (
    as_labels,
    check_labels,
    class_numbers,
    document_weights,
    encode_labels,
    unknown_labels_note,
    warn_of_names,
)

# A warning names classes of fewer than 5 documents if the mean is 20 or more, since small classes
# are easily overlooked among large ones.
_FEW, _USUAL = 5, 20


def bind_problems(state: Any, where: str, sizes: Sizes) -> None:
    """Rule of a schema: B is 1 for two classes, else K."""
    sizes["B"] = 1 if sizes["K"] == 2 else sizes["K"]


@dataclass(frozen=True, eq=False)
class OneOfClasses(Target):
    """The target of a classifier that predicts one of K sorted classes.

    Encoded labels are class numbers, int64 of shape (D,). Two classes are one binary problem, whose
    score is the log-odds of the second class; more classes are one-vs-rest problems.
    """

    names: NDArray[Any]  # (K,)

    kind, labelling = "one_of_classes", "one class a document"
    SCHEMA = Schema((Field("classes", labels),), rules=(bind_problems,))

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return True, since this is the fallback for labels that no other target accepts."""
        return True

    @classmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, Integers]:
        """Check labels, and encode them as class numbers."""
        labels = check_labels(y, n_documents)
        names = labels if classes is None else as_labels(classes, "classes")
        categorical = (x for x in (classes, y) if hasattr(getattr(x, "dtype", None), "categories"))
        target = cls(cls.in_order(names, next(categorical, None)))
        warn_of_names(target.names)
        if target.n_scores == 1:
            warn_user(
                f"The labels hold a single class, {target.names.tolist()[0]!r}, which every "
                "document will get."
            )
        return target, encode_labels(labels, target.names, "y")

    @classmethod
    def read_classes(cls, classes: Any) -> NDArray[Any]:
        """Return the classes in their order."""
        return cls.in_order(as_labels(classes, "classes"), classes)

    @classmethod
    def in_order(cls, labels: NDArray[Any], y: Any) -> NDArray[Any]:
        """Return the distinct labels in ascending order; `y` is the user's Categorical, if any."""
        return np.unique(labels)

    def encode(self, y: Any, n_documents: int, name: str = "y") -> Integers:
        """Check labels and encode them as class numbers, (D,)."""
        return encode_labels(check_labels(y, n_documents, name), self.names, name)

    def decide_by_proba(self, p: Floats) -> Integers:
        """Return the top label of each document, (D,), which is also explained."""
        return self.top_label(p)

    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Convert class numbers to labels."""
        return self.names[t]

    def encode_to_compare(self, y: Any) -> Integers:
        """Encode labels as class numbers, and unknown labels as -1, with a warning."""
        labels = as_labels(y)
        numbers = class_numbers(labels, self.names.tolist())
        if len(others := labels[numbers < 0]):
            note = unknown_labels_note(len(others), np.unique(others).tolist())
            warn_user(f"{note} The classes are {listed(self.names.tolist())}.")
        return numbers

    def codes(self, t: NDArray[Any]) -> Integers:
        """Return the class numbers themselves."""
        return t

    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Multiply the weights of documents by the weights of their classes, (D,)."""
        return self, document_weights(sample_weight, class_weight, self.names[t], self.names)

    def weights_of_others(self, others: NDArray[Any], t: NDArray[Any], class_weight: Any) -> Floats:
        """Return the class weights of validation documents."""
        of_class = np.ones(self.n_scores)
        if class_weight is not None:
            of_class[t] = document_weights(None, class_weight, self.names[t], self.names)
        return of_class[others]

    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether there are several classes, each with a document."""
        return 1 < self.n_scores <= len(np.unique(t))

    def warn_of_rare(self, t: NDArray[Any], *, has_validation: bool, holds_out: bool) -> None:
        """Warn of classes with a single document, and of small ones among large ones."""
        counts, n_classes = np.bincount(t, minlength=self.n_scores), self.n_scores
        single = self.names[counts == 1].tolist()
        if holds_out and n_classes > _USUAL and len(single) > n_classes / 2:
            raise ValueError(
                f"y has {n_classes:,} classes for {plural(len(t))}, and {len(single):,} of them "
                f"have a single one: {listed(single, 3, write=reprlib.repr)}. These look like "
                "texts, ids or numbers to predict. Is it fit(X, y), with the texts first? To learn "
                "such classes all the same, set validation_fraction=None."
            )
        if single and n_classes > 1:
            not_held_out = (
                "It is trained on and not held out, so nothing shows how well such a class is "
                "recognized. "
            )
            warn_user(
                f"{len(single):,} of {n_classes:,} classes {agreeing(len(single), 'have')} a "
                f"single document: {listed(single, write=reprlib.repr)}. "
                f"{'' if has_validation else not_held_out}Give more documents of these classes, "
                "merge them, or leave them out."
            )
        rare = np.flatnonzero((counts > 1) & (counts < _FEW))
        if len(rare) and counts.mean() >= _USUAL:
            classes = [f"{self.names.tolist()[i]!r} ({counts[i]})" for i in rare.tolist()]
            warn_user(
                f"{len(rare):,} of {n_classes:,} classes {agreeing(len(rare), 'have')} fewer than "
                f"{_FEW} documents: {listed(classes, write=str)}. That is too few to learn a class "
                "from, or to tell how well it is recognized. Give more documents of them, merge "
                "them, or leave them out."
            )

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, Integers]:
        """Return the target of the most frequent classes, without documents of other classes."""
        kept = most_frequent(np.bincount(t, minlength=self.n_scores), most)
        rows = np.flatnonzero(np.isin(t, kept))
        return OneOfClasses(self.names[kept]), rows, np.searchsorted(kept, t[rows])

    def criterion(self) -> type[Any]:
        """Return the cross-entropy, whose targets may also be class probabilities."""
        from torch.nn import CrossEntropyLoss

        return CrossEntropyLoss

    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Compute the cross-entropies, and the gradient of their sum."""
        log_proba, of_target = log_softmax(z), (np.arange(len(t)), t)
        # A plain minus would give -0.0 for a weight of 0.
        losses = 0.0 - w * log_proba[of_target]
        gradient = np.exp(log_proba)
        gradient[of_target] -= 1
        gradient *= w[:, np.newaxis]
        return losses, gradient

    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Return the entropy of the class frequencies."""
        frequencies = np.bincount(t, w) / w.sum()
        frequencies = frequencies[frequencies > 0]
        return -float(frequencies @ np.log(frequencies))

    def probabilities(self, z: Floats) -> Floats:
        """Return the softmax, (D, K)."""
        return softmax(z)

    def log_probabilities(self, z: Floats) -> Floats:
        """Return the logarithm of the softmax, (D, K)."""
        return log_softmax(z)

    def decision_function(self, z: Floats) -> Floats:
        """Return the log-odds of the second class of two, (D,), or the scores of more, (D, K)."""
        return z[:, 1] - z[:, 0] if z.shape[1] == 2 else z

    def center_scores(self, z: Floats) -> Floats:
        """Subtract the mean over the classes from scores, (D, K)."""
        return z - z.mean(axis=1, keepdims=True)

    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return one-hot vectors, (D, K)."""
        return np.eye(self.n_scores, dtype=np.float32)[t]

    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return ``z_of - log(sum_c exp(z_c))`` over the rivals c; 0 if there is one class."""
        if z.shape[1] == 1:
            return np.zeros(len(z))
        is_target, of_rivals = _split(z, of, against)
        with np.errstate(under="ignore"):
            return z[is_target] - log_sum_exp(of_rivals)

    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return 1 for the class and minus the softmax over its rivals; 0 if there is one class."""
        if z.shape[1] == 1:
            return np.zeros_like(z)
        is_target, of_rivals = _split(z, of, against)
        return is_target - softmax(of_rivals)

    @property
    def n_problems(self) -> int:
        """Number of binary problems: 1 for two classes, else one for each class."""
        return 1 if self.n_scores == 2 else self.n_scores

    def problems(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 for documents of the second of two classes, or of the class of each problem."""
        return self.soft(t)[:, 1:] if len(self.names) == 2 else self.soft(t)

    def expand(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Split the score of a two-class problem into minus and plus half of it."""
        return np.hstack([-scores, scores]) / 2 if len(self.names) == 2 else scores

    def restrict(self, factors: NDArray[Any]) -> NDArray[Any]:
        """Return half the difference of the factors of two classes."""
        return (factors[:, 1:] - factors[:, :1]) / 2 if len(self.names) == 2 else factors

    def to_state(self) -> dict[str, Any]:
        """Return the classes."""
        return {"kind": self.kind, "classes": self.names}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> OneOfClasses:
        """Restore the target of these classes."""
        return cls(state["classes"].copy())


def _split(z: Floats, of: Integers, against: Integers | int) -> tuple[Flags, Floats]:
    """Return a mask of the class of each document, (D, K), and the scores of its rivals, (D, K).

    Rivals are all other classes or the one in `against`. Scores of other classes are -inf.
    """
    numbers, rival = np.arange(z.shape[1]), np.broadcast_to(against, len(z))[:, np.newaxis]
    is_target = numbers == of[:, np.newaxis]
    return is_target, np.where(np.where(rival < 0, ~is_target, numbers == rival), z, -np.inf)


def softmax(logits: Floats) -> Floats:
    """Compute probabilities, (D, C), from logits, (D, C); each row sums to 1."""
    # Small probabilities may underflow to 0.
    with np.errstate(under="ignore"):
        exponential = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponential / exponential.sum(axis=1, keepdims=True)


def log_softmax(logits: Floats) -> Floats:
    """Compute the logarithms of `softmax`, which stay finite where probabilities underflow."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def log_sum_exp(logits: Floats) -> Floats:
    """Compute the logarithm of the sum of exponentials of each row, (D,)."""
    largest = logits.max(axis=1)
    with np.errstate(under="ignore"):
        shifted = np.exp(logits - largest[:, np.newaxis])
        total: Floats = largest + np.log(shifted.sum(axis=1))
    return total
