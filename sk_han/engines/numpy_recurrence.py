"""A bidirectional GRU over ragged sequences, by NumPy or by compiled kernels.

The equations and the names of the weights are those of `torch.nn.GRU`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.engines import arrays
from sk_han.engines.engine_choice import kernels

Array = NDArray[np.float32]
Lengths = NDArray[np.int64]


class BidirectionalGRU(NamedTuple):
    """One layer; its two directions are the first axis of all arrays."""

    inputs: Array  # (2, 3H, input_size)
    input_bias: Array  # (2, 3H), with the bias of the states but for this one:
    candidate_bias: Array  # (2, H), which the reset gate scales
    states: Array  # (2, H, 3H)

    @classmethod
    def of(cls, weights: Mapping[str, Array], name: str) -> BidirectionalGRU:
        """Return the encoder of this name."""

        def both(kind: str) -> Array:
            found = [weights[f"{name}.gru.{kind}_l0{way}"] for way in ("", "_reverse")]
            return np.stack(found)

        state_bias = both("bias_hh")
        states = np.ascontiguousarray(both("weight_hh").transpose(0, 2, 1))
        _, H, _ = states.shape
        candidate_bias = state_bias[:, -H:].copy()
        state_bias[:, -H:] = 0
        return cls(both("weight_ih"), both("bias_ih") + state_bias, candidate_bias, states)

    def encode(self, inputs: Array, index: NDArray[Any], lengths: Lengths) -> Array:
        """Encode sequences (T,) of distinct inputs (U, input_size): (T, 2H)."""
        if kernels("projection") is not None and kernels("gru_recurrence") is not None:
            projected = arrays.project(inputs, self.inputs, self.input_bias)
            index = index.astype(np.int64, copy=False)
            own = self.states, self.candidate_bias
            return arrays.recur(projected, *own, index, lengths).states
        projected, (_, H, _) = self.projected(inputs), self.states.shape
        directions = np.arange(2)[:, None]
        result = np.zeros((len(index), 2, H), dtype=np.float32)
        states = np.zeros((2, len(lengths), H), dtype=np.float32)
        for tokens in self.tokens(lengths):
            states = states[:, : tokens.shape[1]]
            x = projected[directions, index[tokens]]  # (2, n, 3H)
            m = states @ self.states
            m[:, :, -H:] += self.candidate_bias[:, None]
            _, z, candidate = gru_gates(x, m)
            states = candidate + z * (states - candidate)
            result[tokens, directions] = states
        return result.reshape(len(index), 2 * H)

    def projected(self, inputs: Array) -> Array:
        """Multiply inputs of shape (U, input_size); return (2, U, 3H)."""
        projected: Array = inputs @ self.inputs.transpose(0, 2, 1)
        projected += self.input_bias[:, None]
        return projected

    def tokens(self, lengths: Lengths) -> Iterator[NDArray[np.int64]]:
        """Yield the tokens that each step reads, shape (2, n), fewer and fewer."""
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")  # those that go on are the first ones
        starts, lengths = starts[order], lengths[order]
        first = np.stack([starts, starts + lengths - 1])
        way = np.array([[1], [-1]])
        active = np.searchsorted(-lengths, -np.arange(lengths.max(initial=0)))
        for t, n in enumerate(active.tolist()):
            yield first[:, :n] + way * t


def gru_gates(x: Array, m: Array) -> tuple[Array, Array, Array]:
    """Return reset and update gate and candidate of a step, (2, n, H) each.

    `x` and `m`, both (2, n, 3H), are the projected inputs and states before, these with the
    candidate's own bias.
    """
    H = m.shape[2] // 3
    # The sigmoid; its exponential would overflow.
    gates = 0.5 * np.tanh(0.5 * (x[:, :, : 2 * H] + m[:, :, : 2 * H])) + 0.5
    r, z = gates[:, :, :H], gates[:, :, H:]
    return r, z, np.tanh(x[:, :, 2 * H :] + r * m[:, :, 2 * H :])
