"""Probabilities of logits: the softmax over classes, the sigmoid of each label."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sk_han.utils.array_types import Floats

_SMALLEST = 1e-12


def softmax(logits: Floats) -> Floats:
    """Compute probabilities of shape (D, C) from logits of this shape; each row sums to 1."""
    with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
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


def log_sigmoid(logits: Floats) -> Floats:
    """Compute the logarithm of the sigmoid of each logit."""
    with np.errstate(under="ignore"):
        found: Floats = -np.logaddexp(0, -logits)
    return found


def log_odds(probabilities: ArrayLike) -> Floats:
    """Compute the log-odds of probabilities, finite also of 0 and 1."""
    p = np.clip(probabilities, _SMALLEST, 1 - _SMALLEST)
    return np.log(p) - np.log1p(-p)
