"""The default network in NumPy: for a Scorer, and for gradients without autograd.

Where Numba is installed, the GRU and attention call its kernels instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._kernels.engine import Array, attend, kernels, project, recur

Lengths = NDArray[np.int64]


class NumpyGRU(NamedTuple):
    """Weights of a bidirectional GRU of one layer, both directions on the first axis of each."""

    inputs: Array  # (2, 3H, input_size)
    # The recurrent biases of both gates are added to those of the inputs. The candidate's is not:
    # the reset gate scales it.
    input_bias: Array  # (2, 3H)
    candidate_bias: Array  # (2, H)
    states: Array  # (2, H, 3H)

    @classmethod
    def from_weights(cls, weights: Mapping[str, Array], name: str) -> NumpyGRU:
        """Take the weights of the encoder of this name, from all weights of a network."""

        def both(kind: str) -> Array:
            return np.stack([weights[f"{name}.gru.{kind}_l0{way}"] for way in ("", "_reverse")])

        state_bias = both("bias_hh")
        states = np.ascontiguousarray(both("weight_hh").transpose(0, 2, 1))
        _, H, _ = states.shape
        candidate_bias = state_bias[:, -H:].copy()
        state_bias[:, -H:] = 0
        return cls(both("weight_ih"), both("bias_ih") + state_bias, candidate_bias, states)

    def encode(self, inputs: Array, index: NDArray[Any], lengths: Lengths) -> Array:
        """Encode sequences (T,) of distinct inputs (U, input_size): (T, 2H)."""
        if kernels("network") is not None:
            projected = project(inputs, self.inputs, self.input_bias)
            index = index.astype(np.int64, copy=False)
            return recur(projected, self.states, self.candidate_bias, index, lengths).states
        directions, (_, H, _) = np.arange(2)[:, None], self.states.shape
        result = np.zeros((len(index), 2, H), dtype=np.float32)
        for tokens, states, *_ in self.steps(inputs, index, lengths):
            result[tokens, directions] = states
        return result.reshape(len(index), 2 * H)

    def steps(
        self, inputs: Array, index: NDArray[Any], lengths: Lengths
    ) -> Iterator[tuple[Any, ...]]:
        """Yield for each step the tokens (2, n) that are read, and six arrays (2, n, H).

        These are the states, the reset gate, the update gate, the candidate, the part of its
        argument that the reset gate scales, and the previous states. n falls as sequences end.
        """
        projected = inputs @ self.inputs.transpose(0, 2, 1) + self.input_bias[:, None]  # (2, U, 3H)
        starts = np.cumsum(lengths) - lengths
        # Sorted by falling length, the sequences that have not ended are always the first n.
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = starts[order], lengths[order]
        first = np.stack([starts, starts + lengths - 1])
        active = np.searchsorted(-lengths, -np.arange(lengths.max(initial=0)))
        H, directions = self.states.shape[1], np.arange(2)[:, None]
        states = np.zeros((2, len(lengths), H), dtype=np.float32)
        for t, n in enumerate(active.tolist()):
            tokens, before = first[:, :n] + np.array([[1], [-1]]) * t, states[:, :n]
            x, m = projected[directions, index[tokens]], before @ self.states  # (2, n, 3H)
            scaled = m[:, :, 2 * H :] + self.candidate_bias[:, None]
            # The sigmoid, written with tanh since its exponential could overflow.
            gates = 0.5 * np.tanh(0.5 * (x[:, :, : 2 * H] + m[:, :, : 2 * H])) + 0.5
            r, z = gates[:, :, :H], gates[:, :, H:]
            candidate = np.tanh(x[:, :, 2 * H :] + r * scaled)
            states = candidate + z * (before - candidate)
            yield tokens, states, r, z, candidate, scaled, before


class AttentionPooling(NamedTuple):
    """Weighted mean of the states of a sequence, see `sk_han.nn.AttentionPooling`."""

    weight: Array  # (A, H)
    bias: Array  # (A,)
    context: Array  # (A,)

    @classmethod
    def from_weights(cls, weights: Mapping[str, Array], name: str) -> AttentionPooling:
        """Take the weights of the pooling of this name, from all weights of a network."""
        # Weights of a file are read-only, which the types of kernels do not allow; hence copies.
        return cls(*(weights[f"{name}.{field}"].copy() for field in cls._fields))

    def pool(self, states: Array, lengths: Lengths) -> tuple[Array, Array]:
        """Pool states (T, H) to vectors (N, H); return these and the weights (T,)."""
        if kernels("network") is not None:
            attended = attend(states, *self, lengths)
            return attended.pooled, attended.weights
        u = np.tanh(states @ self.weight.T + self.bias)  # (T, A)
        share = _softmax(u @ self.context, lengths)
        return sums_of_sequences(share[:, None] * states, lengths), share


def sums_of_sequences(values: Array, lengths: Lengths) -> Array:
    """Sum the rows of each sequence, (N, H); zero for an empty one."""
    sums = np.zeros((len(lengths), *values.shape[1:]), dtype=values.dtype)
    filled, starts = _nonempty(lengths)
    if len(filled):
        # `reduceat` adds row after row, perhaps thousands, so the sum is in double precision.
        sums[filled] = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
    return sums


def _softmax(scores: Array, lengths: Lengths) -> Array:
    """Turn the scores (T,) of each sequence into weights that sum to 1."""
    if not len(scores):
        return scores
    filled, starts = _nonempty(lengths)
    lengths = lengths[filled]
    z = scores - np.repeat(np.maximum.reduceat(scores, starts), lengths)
    with np.errstate(under="ignore"):
        exponential = np.exp(z)
        total = np.add.reduceat(exponential, starts, dtype=np.float64)
        return (exponential / np.repeat(total, lengths)).astype(np.float32)


def _nonempty(lengths: Lengths) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sequences that are not empty, and their first tokens."""
    filled = np.flatnonzero(lengths)
    return filled, (np.cumsum(lengths) - lengths)[filled]


def attention_gradient(
    pooling: AttentionPooling,
    states: Array,  # (T, H)
    share: Array,  # (T,)
    lengths: Lengths,  # (N,)
    gradient: Array,  # (N, H), at the pooled vectors
) -> Array:
    """Compute the gradient of a score with respect to the states that attention pools, (T, H)."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    u = np.tanh(states @ pooling.weight.T + pooling.bias)  # (T, A)
    from_sum = gradient[sequence]  # (T, H)
    of_share = (states * from_sum).sum(axis=1)  # (T,)
    mean = np.bincount(sequence, share * of_share, len(lengths))[sequence]
    of_score = (share * (of_share - mean)).astype(np.float32)
    of_hidden = of_score[:, None] * pooling.context * (1 - u * u)  # (T, A)
    of_states: Array = share[:, None] * from_sum + of_hidden @ pooling.weight
    return of_states


def gru_gradient(layer: NumpyGRU, inputs: Array, lengths: Lengths, gradient: Array) -> Array:
    """Backpropagate a gradient with respect to a GRU's states (T, 2H) to its inputs (T, E)."""
    _, H, _ = layer.states.shape
    by_direction = gradient.reshape(len(inputs), 2, H)
    of_projected = np.zeros((2, len(inputs), 3 * H), dtype=np.float32)
    # The gradient that the following step passes back to its previous states.
    later = np.zeros((2, 0, H), dtype=np.float32)
    directions = np.arange(2)[:, None]
    steps = list(layer.steps(inputs, np.arange(len(inputs)), lengths))
    for tokens, _, r, z, candidate, scaled, before in reversed(steps):
        of_state = by_direction[tokens, directions]  # (2, n, H)
        of_state[:, : later.shape[1]] += later
        of_candidate = of_state * (1 - z) * (1 - candidate**2)
        of_z = of_state * (before - candidate) * z * (1 - z)
        of_r = of_candidate * scaled * r * (1 - r)
        of_projected[directions, tokens] = np.concatenate([of_r, of_z, of_candidate], axis=2)
        of_product = np.concatenate([of_r, of_z, of_candidate * r], axis=2)
        later = of_state * z + of_product @ layer.states.transpose(0, 2, 1)
    of_inputs: Array = (of_projected @ layer.inputs).sum(axis=0)
    return of_inputs


# Bound of the scores, as in `sk_han.nn._poolings`.
BOUND = np.float32(10)
# Words times labels that are computed at once, which bounds the memory.
_NUMBERS_AT_ONCE = 1 << 18


class LabelAttention(NamedTuple):
    """Queries and values (L, H) of L labels, see `sk_han.nn.LabelAttention`."""

    query: Array
    value: Array

    @classmethod
    def from_weights(cls, weights: Mapping[str, Array]) -> LabelAttention:
        """Take the queries and values from all weights of a network."""
        return cls(weights["label_attention.query"], weights["label_attention.value"])

    def sums(self, states: Array, words_per_sentence: Lengths) -> Array:
        """Add up ``exp(s)`` and ``exp(s) v . h`` of the states (T, H) of sentences, (N, 2L)."""
        # A sentence may be divided between two portions, so each adds its part of the sum.
        sentence = np.repeat(np.arange(len(words_per_sentence)), words_per_sentence)
        summed = np.zeros((len(words_per_sentence), 2 * len(self.query)), dtype=np.float32)
        for rows in self._portions(len(states)):
            numbers, lengths = np.unique(sentence[rows], return_counts=True)
            both = np.concatenate(self._terms(states[rows]), axis=1)
            summed[numbers] += sums_of_sequences(both, lengths)
        return summed

    def scores(self, sums: Array, sentences_per_document: Lengths) -> Array:
        """Compute scores (D, L) from the sums (N, 2L) of sentences; 0 for an empty document."""
        summed = sums_of_sequences(sums, sentences_per_document)
        below, above = np.split(summed, 2, axis=1)
        return np.divide(above, np.maximum(below, np.finfo(np.float32).tiny))

    def attributions(
        self,
        states: Array,
        sums: Array,
        factors: Array,
        words_per_sentence: Lengths,
        sentences_per_document: Lengths,
    ) -> Array:
        """Return the contribution of each word (T,) to ``sum(factors * scores)``, factors (D, L).

        Attention is held fixed.
        """
        below = np.split(sums_of_sequences(sums, sentences_per_document), 2, axis=1)[0]
        of_above = factors / np.maximum(below, np.finfo(np.float32).tiny)
        document = np.repeat(np.arange(len(factors)), sentences_per_document)
        document = np.repeat(document, words_per_sentence)
        words = np.empty(len(states), dtype=np.float32)
        for rows in self._portions(len(states)):
            words[rows] = (of_above[document[rows]] * self._terms(states[rows])[1]).sum(axis=1)
        return words

    def _terms(self, states: Array) -> tuple[Array, Array]:
        exponential = np.exp(BOUND * np.tanh(states @ self.query.T / BOUND))
        return exponential, exponential * (states @ self.value.T)

    def _portions(self, n_words: int) -> list[slice]:
        size = max(1, _NUMBERS_AT_ONCE // len(self.query))
        return [slice(first, first + size) for first in range(0, n_words, size)]
