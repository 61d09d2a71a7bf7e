"""The gradient of a score with respect to sentence vectors, by NumPy.

It covers the default network: a bidirectional GRU and attention by softmax over sentences. Their
backward passes are those of the kernels, over the sentence level alone, which is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_han.engines.numpy_pooling import AttentionPooling
from sk_han.engines.numpy_recurrence import Array, BidirectionalGRU, Lengths, gru_gates


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
    found: Array = share[:, None] * from_sum + of_hidden @ pooling.weight
    return found


def gru_gradient(
    layer: BidirectionalGRU, inputs: Array, lengths: Lengths, gradient: Array
) -> Array:
    """Return the gradient at a GRU's inputs (T, input_size) of that at its states, (T, 2 * H)."""
    _, H, _ = layer.states.shape
    by_direction = gradient.reshape(len(inputs), 2, H)
    of_projected = np.zeros((2, len(inputs), 3 * H), dtype=np.float32)
    later = np.zeros((2, 0, H), dtype=np.float32)  # of the states before the step that came later
    directions = np.arange(2)[:, None]
    for tokens, r, z, candidate, scaled, before in reversed(_steps(layer, inputs, lengths)):
        of_state = by_direction[tokens, directions]  # (2, n, H)
        of_state[:, : later.shape[1]] += later
        of_candidate = of_state * (1 - z) * (1 - candidate**2)
        of_z = of_state * (before - candidate) * z * (1 - z)
        of_r = of_candidate * scaled * r * (1 - r)
        of_projected[directions, tokens] = np.concatenate([of_r, of_z, of_candidate], axis=2)
        of_product = np.concatenate([of_r, of_z, of_candidate * r], axis=2)
        later = of_state * z + of_product @ layer.states.transpose(0, 2, 1)
    found: Array = (of_projected @ layer.inputs).sum(axis=0)
    return found


def _steps(layer: BidirectionalGRU, inputs: Array, lengths: Lengths) -> list[tuple[Any, ...]]:
    """Run the recurrence; return what each step leaves for its backward.

    Its tokens, reset and update gate, candidate, what the reset gate scales in it, and the states
    before, (2, n, H) each but for the tokens.
    """
    projected, H = layer.projected(inputs), layer.states.shape[1]
    directions, steps = np.arange(2)[:, None], []
    states = np.zeros((2, len(lengths), H), dtype=np.float32)
    for tokens in layer.tokens(lengths):
        before = states[:, : tokens.shape[1]]
        m = before @ layer.states
        m[:, :, 2 * H :] += layer.candidate_bias[:, None]
        r, z, candidate = gru_gates(projected[directions, tokens], m)
        states = candidate + z * (before - candidate)
        steps.append((tokens, r, z, candidate, m[:, :, 2 * H :], before))
    return steps
