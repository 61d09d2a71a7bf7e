"""Poolings over ragged sequences, by NumPy: the equations of `sk_han.nn.pooling`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sk_han.engines import arrays
from sk_han.engines.engine_choice import kernels
from sk_han.engines.numpy_recurrence import Array, Lengths, sigmoid
from sk_han.options import ContextAttention, NetworkOptions

Weights = Mapping[str, Array]
# Vectors (N, output_size), and weights (T, R).
Pooled = tuple[Array, Array]
# Takes states (T, H), lengths (N,) and the number of sequences of each document (D,). No closure: a
# scorer can be pickled.
Pooling = Callable[[Array, Lengths, Lengths], Pooled]


def pooling_of(name: str, options: NetworkOptions, weights: Weights) -> Pooling:
    """Return the pooling by "word_attention" or "sentence_attention" that the options describe."""
    attention = options.attention
    if attention is None:
        last = partial(_last, options.recurrent.bidirectional)
        plain: dict[str, Pooling] = {"mean": _mean, "max": _max, "last": last}
        return plain[str(options.pooling)]
    if name == "word_attention" and isinstance(attention, ContextAttention):
        ways = ["forwards"] if attention.direction == "forward" else ["forwards", "backwards"]
        directions = [_of_prefix(weights, f"{name}.{way}.") for way in ways]
        return partial(_in_context, attention, directions)
    return partial(_attended, _of_prefix(weights, f"{name}."))


def _attended(own: dict[str, Array], states: Array, lengths: Lengths, _: Lengths) -> Pooled:
    if own["context"].ndim == 1 and kernels("attention") is not None:
        weights = own["weight"], own["bias"], own["context"]
        found = arrays.attend(states, *weights, lengths)
        return found.pooled, found.weights[:, None]
    contexts = np.atleast_2d(own["context"])  # (R, A)
    u = np.tanh(states @ own["weight"].T + own["bias"])  # (T, A)
    shares = [_normalized(u @ context, lengths) for context in contexts]
    vectors = [sums_of_sequences(share[:, None] * states, lengths) for share in shares]
    return np.concatenate(vectors, axis=1), np.stack(shares, axis=1)


def _of_prefix(weights: Weights, prefix: str) -> dict[str, Array]:
    return {
        name.removeprefix(prefix): weight.copy()  # kernels take no read-only arrays
        for name, weight in weights.items()
        if name.startswith(prefix)
    }


def _mean(states: Array, lengths: Lengths, _: Lengths) -> Pooled:
    share = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    return sums_of_sequences(share[:, None] * states, lengths), share[:, None]


def _max(states: Array, lengths: Lengths, _: Lengths) -> Pooled:
    (T, H), N = states.shape, len(lengths)
    vectors = np.zeros((N, H), dtype=np.float32)
    filled, starts = _filled(lengths)
    if len(filled):
        vectors[filled] = np.maximum.reduceat(states, starts, axis=0)
    sequence = np.repeat(np.arange(N), lengths)
    # Of equal states, the first one counts.
    row = np.where(states == vectors[sequence], np.arange(T)[:, None], T)
    first = np.minimum.reduceat(row, starts, axis=0) if len(filled) else row
    share = np.bincount(first.ravel(), minlength=T)[:T] / H
    return vectors, share.astype(np.float32)[:, None]


def _last(bidirectional: bool, states: Array, lengths: Lengths, _: Lengths) -> Pooled:
    size = states.shape[1]
    H = size // 2 if bidirectional else size
    filled, first = _filled(lengths)
    last = first + lengths[filled] - 1
    vectors = np.zeros((len(lengths), size), dtype=np.float32)
    vectors[filled] = np.concatenate([states[last, :H], states[first, H:]], axis=1)
    share = np.zeros(len(states), dtype=np.float32)
    share[last] += H / size
    share[first] += 1 - H / size
    return vectors, share[:, None]


def _in_context(
    attention: ContextAttention,
    directions: list[dict[str, Array]],
    states: Array,
    lengths: Lengths,
    sequences: Lengths,
) -> Pooled:
    found = [
        _with_context(attention, each, states, lengths, sequences, backward=number == 1)
        for number, each in enumerate(directions)
    ]
    vectors, shares = zip(*found, strict=True)
    return np.concatenate(vectors, axis=1), np.stack(shares, axis=1)


def _with_context(
    attention: ContextAttention,
    own: dict[str, Array],
    states: Array,
    lengths: Lengths,
    sentences_per_document: Lengths,
    *,
    backward: bool,
) -> tuple[Array, Array]:
    """Pool the words of each sentence by an attention that knows the sentences before.

    Return vectors (N, H) and weights (T,) of one direction.
    """
    vectors = np.zeros((len(lengths), states.shape[1]), dtype=np.float32)
    shares = np.zeros(len(states), dtype=np.float32)
    starts = np.cumsum(lengths) - lengths
    n_read = 0
    for n_sentences in sentences_per_document.tolist():
        total = np.zeros(states.shape[1], dtype=np.float32)
        numbers = range(n_read, n_read + n_sentences)
        for step, i in enumerate(reversed(numbers) if backward else numbers):
            words = slice(starts[i], starts[i] + lengths[i])
            h = states[words]
            c = total / max(step, 1) if attention.summary == "mean" else total
            Wh, Vc = h @ own["weight"].T, own["sentence_weight"] @ c
            if attention.gated:
                gate = h @ own["gate_weight"] + c @ own["gate_sentence_weight"] + own["gate_bias"]
                share = sigmoid(gate)[:, None]
                Wh, Vc = share * Wh, (1 - share) * Vc
            u = np.tanh(Wh + Vc + own["bias"])
            shares[words] = _normalized(u @ own["context"], lengths[i : i + 1])
            vectors[i] = shares[words] @ h
            total = total + vectors[i]
        n_read += n_sentences
    return vectors, shares


def _filled(lengths: Lengths) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sequences that are not empty, and their first tokens."""
    filled = np.flatnonzero(lengths)
    return filled, (np.cumsum(lengths) - lengths)[filled]


def sums_of_sequences(values: Array, lengths: Lengths) -> Array:
    """Sum the rows of each sequence, (N, H); zero for an empty one."""
    sums = np.zeros((len(lengths), *values.shape[1:]), dtype=values.dtype)
    filled, starts = _filled(lengths)
    if len(filled):
        # In double precision, since it adds one row after the other, thousands perhaps.
        sums[filled] = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
    return sums


def _normalized(scores: Array, lengths: Lengths) -> Array:
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
