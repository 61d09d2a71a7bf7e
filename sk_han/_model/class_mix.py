"""Numbers of a fit with which later documents are compared, and the mix of classes they imply."""

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

PER_CLASS = 5  # documents a class: fewest of a batch, and strength of both priors
_ROUNDING = 0.015  # of the sum of given shares
_SMALLEST = 1e-6  # share of a class without documents


class Reference(NamedTuple):
    """Numbers of a fit with which later documents are compared; never texts."""

    shares: Floats  # (K,), of the training labels as weighted
    predicted: Floats  # (K,), mean probabilities of held-out documents; without any the shares
    n_held_out: float
    confidence: Floats  # mean and variance on held-out documents
    unknown: Floats  # number of training documents; mean and variance of the shares of their words
    # that no other document has

    @property
    def implied(self) -> Floats:
        """The shares at which the probabilities are right, (K,).

        They are those of the labels, moved towards the mean probability of held-out documents: what
        a model predicts too often in the training mix, it predicts too often in another one.
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
    """Check given priors; return shares, (K,), where labels that are not named keep theirs."""
    if target.is_number:
        raise ValueError("priors are shares of classes, and this model predicts a number.")
    if not isinstance(priors, Mapping):
        raise ValueError(f"priors is {priors!r}; it takes a dict, as {{'a': 0.2, 'b': 0.8}}.")
    known, named = ClassNames(target.names.tolist()), set()
    shares = np.zeros(target.n_scores) if reference is None else implied_shares(reference, target)
    for label, share in priors.items():
        number = known.number(label)
        if number is None:
            classes = f"the classes are {listed(known.labels, 20)}."
            hint = nearest_name(str(label), known.names)
            raise ValueError(f"priors names {label!r}, which is not a class; {classes}{hint}")
        if not isinstance(share, Real) or not 0 < float(share) < 1 + (target.n_scores == 1):
            raise ValueError(f"priors of {label!r} is {share!r}; a share is between 0 and 1.")
        shares[number] = share
        named.add(number)
    if not target.has_one_label:
        return shares
    lacking = [label for i, label in enumerate(known.labels) if i not in named]
    if lacking or abs(shares.sum() - 1) > _ROUNDING:
        fault = f"lacks {listed(lacking)}" if lacking else f"sum to {shares.sum():.3g}"
        raise ValueError(f"priors {fault}; it has the share of each class, and these sum to 1.")
    normalized: Floats = shares / shares.sum()
    return normalized


def mixes_of(reference: Reference, target: Target) -> list[Reference]:
    """Return the mix of the classes, or of several labels the mixes with and without each."""
    if target.has_one_label:
        return [reference]
    both = np.array([[share, 1 - share] for share in (reference.shares, reference.predicted)])
    return [reference._replace(shares=p, predicted=m) for p, m in both.transpose(2, 0, 1)]


def implied_shares(reference: Reference, target: Target) -> Floats:
    """Return the shares of the classes or labels at which the probabilities are right, (K,)."""
    implied = np.array([mix.implied for mix in mixes_of(reference, target)])
    return implied[0] if target.has_one_label else implied[:, 0]


def shift_of(shares: Floats, reference: Reference, target: Target) -> Floats:
    """Return what is added to the scores for other shares, (K,)."""
    implied = implied_shares(reference, target)
    return target.scores_of_shares(shares) - target.scores_of_shares(implied)


def unknown_shares(documents: DocumentArray, is_unknown: Flags) -> Floats:
    """Return the share of unknown words, (T,) flags, of each document; 0 without words."""
    lengths = documents.words_per_document
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shares: Floats = np.bincount(rows, is_unknown, minlength=len(lengths)) / lengths.clip(1)
    return shares


def confidences(p: Floats, target: Target) -> Floats:
    """Return the probability of what is predicted, (D,), of several labels their mean."""
    confident: Floats = p.max(axis=1) if target.has_one_label else np.maximum(p, 1 - p).mean(axis=1)
    return confident
