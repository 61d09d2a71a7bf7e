"""Reference statistics of a fit, and the correction of probabilities for other class priors."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sk_han._documents import DocumentArray
from sk_han._options import Range
from sk_han._storage.schema import Array, Field, Schema
from sk_han._targets import Target
from sk_han._utils.containers import Flags, Floats, listed
from sk_han._utils.messages import nearest_name
from sk_han._validation.labels import ClassNames

# Documents per class: the fewest in a batch whose mix is estimated, and the strength, as
# pseudo-counts, of the priors that pull estimates towards the training shares.
PER_CLASS = 5
# The user's shares may be rounded, such as three times 0.33.
_ROUNDING = 0.015
# The implied share of a class without documents, whose logarithm must be finite.
_SMALLEST = 1e-6


class Reference(NamedTuple):
    """Statistics of a fit with which later documents are compared; they hold no text.

    `shares` are the weighted class frequencies of the training documents, (K,), and `predicted` the
    mean probabilities on held-out documents, (K,), or `shares` without any. `confidence` is the
    mean and variance of the confidence on held-out documents, (2,). `unknown` holds the number of
    training documents, and the mean and variance of their leave-one-out out-of-vocabulary rate,
    (3,).
    """

    shares: Floats
    predicted: Floats
    n_held_out: float
    confidence: Floats
    unknown: Floats

    @property
    def implied(self) -> Floats:
        """The class priors that the probabilities assume, (K,).

        They are the training shares, moved towards the mean probabilities on held-out documents:
        over-prediction of a class is assumed to carry over to other priors.
        """
        n, strength = self.n_held_out, PER_CLASS * len(self.shares)
        implied: Floats = (n * self.predicted + strength * self.shares) / (n + strength)
        return implied.clip(_SMALLEST)


_SHARES = Array("float64", "K", 0, 1)
_REFERENCE = Schema(
    (
        *(Field(name, _SHARES) for name in ("shares", "predicted")),
        Field("n_held_out", Range(Real, 0)),
        Field("confidence", Array("float64", "2", 0)),
        Field("unknown", Array("float64", "3", 0)),
    )
)
MIX_FIELDS = (
    Field("reference", _REFERENCE, optional=True),
    Field("priors", Array("float64", "K", np.nextafter(0, 1), 1), optional=True),
)


def check_priors(priors: Any, target: Target, reference: Reference | None = None) -> Floats:
    """Check the user's priors and return them as shares of the classes or labels, (K,).

    With several labels per document, those that are not named keep their implied share.
    """
    if target.is_number:
        raise ValueError("priors are shares of classes, and this model predicts a number.")
    if not isinstance(priors, Mapping):
        raise ValueError(f"priors is {priors!r}; it takes a dict, as {{'a': 0.2, 'b': 0.8}}.")
    names, numbers = ClassNames(target.names.tolist()), set()
    shares = np.zeros(target.n_scores) if reference is None else implied_shares(reference, target)
    for label, share in priors.items():
        number = names.number(label)
        if number is None:
            classes = f"the classes are {listed(names.labels, 20)}."
            hint = nearest_name(str(label), names.names)
            raise ValueError(f"priors names {label!r}, which is not a class; {classes}{hint}")
        if not isinstance(share, Real) or not 0 < float(share) < 1 + (target.n_scores == 1):
            raise ValueError(f"priors of {label!r} is {share!r}; a share is between 0 and 1.")
        shares[number] = share
        numbers.add(number)
    if not target.has_one_label:
        return shares
    lacking = [label for i, label in enumerate(names.labels) if i not in numbers]
    if lacking or abs(shares.sum() - 1) > _ROUNDING:
        fault = f"lacks {listed(lacking)}" if lacking else f"sum to {shares.sum():.3g}"
        raise ValueError(f"priors {fault}; it has the share of each class, and these sum to 1.")
    normalized: Floats = shares / shares.sum()
    return normalized


def class_mixes(reference: Reference, target: Target) -> list[Reference]:
    """Return the mix of the classes; with several labels, a mix of two classes for each label."""
    if target.has_one_label:
        return [reference]
    both = np.array([[share, 1 - share] for share in (reference.shares, reference.predicted)])
    return [reference._replace(shares=p, predicted=m) for p, m in both.transpose(2, 0, 1)]


def implied_shares(reference: Reference, target: Target) -> Floats:
    """Return the priors of the classes or labels that the probabilities assume, (K,)."""
    implied = np.array([mix.implied for mix in class_mixes(reference, target)])
    return implied[0] if target.has_one_label else implied[:, 0]


def prior_shift(shares: Floats, reference: Reference, target: Target) -> Floats:
    """Return the shift of the logits that replaces the implied priors by `shares`, (K,)."""
    implied = implied_shares(reference, target)
    return target.scores_of_shares(shares) - target.scores_of_shares(implied)


def unknown_shares(documents: DocumentArray, is_unknown: Flags) -> Floats:
    """Compute the out-of-vocabulary rate of each document, (D,), from flags of words, (T,).

    The rate of a document without words is 0.
    """
    lengths = documents.words_per_document
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shares: Floats = np.bincount(rows, is_unknown, minlength=len(lengths)) / lengths.clip(1)
    return shares


def confidences(p: Floats, target: Target) -> Floats:
    """Return the confidence of each prediction, (D,); with several labels, its mean over labels."""
    confident: Floats = p.max(axis=1) if target.has_one_label else np.maximum(p, 1 - p).mean(axis=1)
    return confident
