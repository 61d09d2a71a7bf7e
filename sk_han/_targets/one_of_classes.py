"""One class of several: softmax, argmax, log-odds against the other classes."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._storage.schema import Field, Schema, Sizes, labels
from sk_han._targets.target import Target, most_frequent
from sk_han._utils.containers import Flags, Floats, Integers, listed
from sk_han._utils.messages import agreeing, counted, warn_user
from sk_han._validation.labels import (
    as_labels,
    check_labels,
    class_numbers,
    document_weights,
    encode_labels,
    unknown_labels_note,
    warn_of_names,
)

# Warn about small classes only among large ones, where they are easily overlooked: fewer than 5
# documents, where the mean is 20 or more.
_FEW, _USUAL = 5, 20


def bind_problems(state: Any, where: str, sizes: Sizes) -> None:
    """Bind B: one problem for two classes, else one for each."""
    sizes["B"] = 1 if sizes["K"] == 2 else sizes["K"]


@dataclass(frozen=True, eq=False)
class OneOfClasses(Target):
    """The target of a classifier: each document has one class of K, which are sorted.

    Encoded labels are numbers of classes, int64 of shape (D,). Two classes make one binary problem,
    the log-odds of the second; more make one each, against the rest.
    """

    names: NDArray[Any]  # (K,)

    kind, labelling = "one_of_classes", "one class a document"
    SCHEMA = Schema((Field("classes", labels),), rules=(bind_problems,))

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return True: it takes whatever no other target does."""
        return True

    @classmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, Integers]:
        """Check labels, and number their classes."""
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
        """Return the distinct labels, sorted; `y` is a Categorical, if the user gave one."""
        return np.unique(labels)

    def encode(self, y: Any, n_documents: int, name: str = "y") -> Integers:
        """Check labels, and return the numbers of their classes, (D,)."""
        return encode_labels(check_labels(y, n_documents, name), self.names, name)

    def decide_by_proba(self, p: Floats) -> Integers:
        """Return the class that is also explained, (D,)."""
        return self.top_label(p)

    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of numbers."""
        return self.names[t]

    def encode_to_compare(self, y: Any) -> Integers:
        """Return the numbers of classes, -1 of labels that are none."""
        labels = as_labels(y)
        numbers = class_numbers(labels, self.names.tolist())
        if len(others := labels[numbers < 0]):
            told = unknown_labels_note(len(others), np.unique(others).tolist())
            warn_user(f"{told} The classes are {listed(self.names.tolist())}.")
        return numbers

    def codes(self, t: NDArray[Any]) -> Integers:
        """Return the numbers of the classes themselves."""
        return t

    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Multiply the weights of documents by those of their classes, (D,)."""
        return self, document_weights(sample_weight, class_weight, self.names[t], self.names)

    def weights_of_others(self, others: NDArray[Any], t: NDArray[Any], class_weight: Any) -> Floats:
        """Return the weight of the class of each of the other documents."""
        of_class = np.ones(self.n_scores)
        if class_weight is not None:
            of_class[t] = document_weights(None, class_weight, self.names[t], self.names)
        return of_class[others]

    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether there are several classes, and a document of each."""
        return 1 < self.n_scores <= len(np.unique(t))

    def warn_of_rare(self, t: NDArray[Any], *, given: bool, holds_out: bool) -> None:
        """Warn of classes with a single document, and of small ones among large ones."""
        counts, n_classes = np.bincount(t, minlength=self.n_scores), self.n_scores
        single = self.names[counts == 1].tolist()
        if holds_out and n_classes > _USUAL and len(single) > n_classes / 2:
            raise ValueError(
                f"y has {n_classes:,} classes for {counted(len(t))}, and {len(single):,} of them "
                f"have a single one: {listed(single, 3, write=reprlib.repr)}. These look like "
                "texts, ids or numbers to predict. Is it fit(X, y) with the texts first, and the "
                "column of labels? To learn such classes all the same, set "
                "validation_fraction=None."
            )
        if single and n_classes > 1:
            not_held_out = (
                "It is trained on and not held out, so nothing shows how well such a class is "
                "recognized. "
            )
            warn_user(
                f"{len(single):,} of {n_classes:,} classes {agreeing(len(single), 'have')} a "
                f"single document: {listed(single, write=reprlib.repr)}. "
                f"{'' if given else not_held_out}Give more documents of these classes, merge them, "
                "or leave them out."
            )
        rare = np.flatnonzero((counts > 1) & (counts < _FEW))
        if len(rare) and counts.mean() >= _USUAL:
            named = [f"{self.names.tolist()[i]!r} ({counts[i]})" for i in rare.tolist()]
            warn_user(
                f"{len(rare):,} of {n_classes:,} classes {agreeing(len(rare), 'have')} fewer than "
                f"{_FEW} documents: {listed(named, write=str)}. That is too few to learn a class "
                "from, or to tell how well it is recognized. Give more documents of them, merge "
                "them, or leave them out."
            )

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, Integers]:
        """Return the target of the most frequent classes; documents of others are left out."""
        kept = most_frequent(np.bincount(t, minlength=self.n_scores), most)
        rows = np.flatnonzero(np.isin(t, kept))
        return OneOfClasses(self.names[kept]), rows, np.searchsorted(kept, t[rows])

    def criterion(self) -> type[Any]:
        """Return the cross-entropy, which takes probabilities of classes too."""
        from torch.nn import CrossEntropyLoss

        return CrossEntropyLoss

    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Return the cross-entropies, and the gradient of their sum."""
        log_proba, of_target = log_softmax(z), (np.arange(len(t)), t)
        losses = 0.0 - w * log_proba[of_target]  # and not -0.0
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
        """Return scores less their mean over the classes, (D, K)."""
        return z - z.mean(axis=1, keepdims=True)

    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 for the class and 0 for the others, (D, K)."""
        return np.eye(self.n_scores, dtype=np.float32)[t]

    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return ``z_of - log(sum_c exp(z_c))`` over the others or one; zero with one class."""
        if z.shape[1] == 1:
            return np.zeros(len(z))
        is_target, of_rivals = _split(z, of, against)
        with np.errstate(under="ignore"):
            return z[is_target] - log_sum_exp(of_rivals)

    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return 1 for the class, and minus the softmax over its rivals; zero with one class."""
        if z.shape[1] == 1:
            return np.zeros_like(z)
        is_target, of_rivals = _split(z, of, against)
        return is_target - softmax(of_rivals)

    @property
    def n_problems(self) -> int:
        """One for two classes, else one for each."""
        return 1 if self.n_scores == 2 else self.n_scores

    def problems(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 for the second of two classes, or for each class against the rest."""
        return self.soft(t)[:, 1:] if len(self.names) == 2 else self.soft(t)

    def expand(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Divide the score of two classes between them."""
        return np.hstack([-scores, scores]) / 2 if len(self.names) == 2 else scores

    def restrict(self, factors: NDArray[Any]) -> NDArray[Any]:
        """Take the difference of the factors of two classes."""
        return (factors[:, 1:] - factors[:, :1]) / 2 if len(self.names) == 2 else factors

    def to_state(self) -> dict[str, Any]:
        """Return the classes."""
        return {"kind": self.kind, "classes": self.names}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> OneOfClasses:
        """Restore the target of these classes."""
        return cls(state["classes"].copy())


def _split(z: Floats, of: Integers, against: Integers | int) -> tuple[Flags, Floats]:
    """Mark the class of each document (D, K), and return the scores of its rivals, others -inf.

    Rivals are all other classes, or one.
    """
    numbers, rival = np.arange(z.shape[1]), np.broadcast_to(against, len(z))[:, np.newaxis]
    is_target = numbers == of[:, np.newaxis]
    return is_target, np.where(np.where(rival < 0, ~is_target, numbers == rival), z, -np.inf)


def softmax(logits: Floats) -> Floats:
    """Compute probabilities of shape (D, C) from logits of this shape; each row sums to 1."""
    with np.errstate(under="ignore"):  # if one class is very likely, others may round to 0
        exponential = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponential / exponential.sum(axis=1, keepdims=True)


def log_softmax(logits: Floats) -> Floats:
    """Compute the logarithms of `softmax`, finite also where a probability rounds to 0."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def log_sum_exp(logits: Floats) -> Floats:
    """Compute the logarithm of the sum of the exponentials of each row, shape (D,)."""
    largest = logits.max(axis=1)
    with np.errstate(under="ignore"):
        shifted = np.exp(logits - largest[:, np.newaxis])
        total: Floats = largest + np.log(shifted.sum(axis=1))
    return total
