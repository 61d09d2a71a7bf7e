"""Softmax over classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["softmax"]


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of shape (D, C) for logits of this shape; each row sums to 1."""
    with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
        exponential = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponential / exponential.sum(axis=1, keepdims=True)
