"""Attention over ragged sequences, by NumPy or by compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.engines import arrays
from sk_han.engines.engine_choice import kernels
from sk_han.engines.numpy_recurrence import Array, Lengths


class AttentionPooling(NamedTuple):
    """Weighted mean of the states of a sequence, as of `sk_han.nn.AttentionPooling`."""

    weight: Array  # (A, H)
    bias: Array  # (A,)
    context: Array  # (A,)

    @classmethod
    def of(cls, weights: Mapping[str, Array], name: str) -> AttentionPooling:
        """Return the pooling of this name."""
        # Copies: kernels take no read-only arrays.
        return cls(*(weights[f"{name}.{field}"].copy() for field in cls._fields))

    def pool(self, states: Array, lengths: Lengths) -> tuple[Array, Array]:
        """Pool states (T, H) to vectors (N, H); return these and the weights (T,)."""
        if kernels("attention") is not None:
            found = arrays.attend(states, *self, lengths)
            return found.pooled, found.weights
        u = np.tanh(states @ self.weight.T + self.bias)  # (T, A)
        share = _softmax(u @ self.context, lengths)
        return sums_of_sequences(share[:, None] * states, lengths), share


def sums_of_sequences(values: Array, lengths: Lengths) -> Array:
    """Sum the rows of each sequence, (N, H); zero for an empty one."""
    sums = np.zeros((len(lengths), *values.shape[1:]), dtype=values.dtype)
    filled, starts = _filled(lengths)
    if len(filled):
        # In double precision, since it adds one row after the other, thousands perhaps.
        sums[filled] = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
    return sums


def _softmax(scores: Array, lengths: Lengths) -> Array:
    """Turn the scores (T,) of each sequence into weights that sum to 1."""
    if not len(scores):
        return scores
    filled, starts = _filled(lengths)
    lengths = lengths[filled]
    z = scores - np.repeat(np.maximum.reduceat(scores, starts), lengths)
    with np.errstate(under="ignore"):
        exponential = np.exp(z)
        total = np.add.reduceat(exponential, starts, dtype=np.float64)
        return (exponential / np.repeat(total, lengths)).astype(np.float32)


def _filled(lengths: Lengths) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sequences that are not empty, and their first tokens."""
    filled = np.flatnonzero(lengths)
    return filled, (np.cumsum(lengths) - lengths)[filled]
