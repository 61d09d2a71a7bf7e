"""Recurrent networks over ragged sequences, by NumPy, or a GRU by compiled kernels.

The equations and the names of the weights are those of `sk_han.nn.PackedRNN`, so those of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.engines import arrays
from sk_han.engines.engine_choice import kernels
from sk_han.options import RNN

Array = NDArray[np.float32]
Lengths = NDArray[np.int64]
# Takes the projected inputs and states (n_directions, n, gates * H), the states and the memory
# cells (n_directions, n, H) before; returns new states and memory cells.
Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


class RecurrentLayer(NamedTuple):
    """One layer; its directions are the first axis of all arrays."""

    step: Step  # the cell
    inputs: Array  # (n_directions, gates * H, input_size)
    input_bias: Array  # (n_directions, gates * H), with the bias of the states but for this one:
    candidate_bias: Array  # (n_directions, H), which a GRU's reset gate scales; else zeros
    states: Array  # (n_directions, H, gates * H)

    @property
    def size(self) -> int:
        """Size of the states of all directions together."""
        n_directions, H, _ = self.states.shape
        return n_directions * H

    def encode(self, inputs: Array, index: NDArray[Any], lengths: Lengths) -> Array:
        """Encode sequences (T,) of distinct inputs (U, input_size): (T, n_directions * H)."""
        covered = self.step is _gru and len(self.states) == 2
        if covered and kernels("projection") is not None and kernels("gru_recurrence") is not None:
            projected = arrays.project(inputs, self.inputs, self.input_bias)
            index = index.astype(np.int64, copy=False)
            own = self.states, self.candidate_bias
            return arrays.recur(projected, *own, index, lengths).states
        projected, (n_directions, H, _) = self.projected(inputs), self.states.shape
        directions = np.arange(n_directions)[:, None]
        result = np.zeros((len(index), n_directions, H), dtype=np.float32)
        states = memory = np.zeros((n_directions, len(lengths), H), dtype=np.float32)
        for tokens in self.tokens(lengths):
            n = tokens.shape[1]
            states, memory = states[:, :n], memory[:, :n]
            x = projected[directions, index[tokens]]  # (n_directions, n, gates * H)
            m = states @ self.states
            m[:, :, -H:] += self.candidate_bias[:, None]
            states, memory = self.step(x, m, states, memory)
            result[tokens, directions] = states
        return result.reshape(len(index), n_directions * H)

    def projected(self, inputs: Array) -> Array:
        """Multiply inputs of shape (U, input_size); return (n_directions, U, gates * H)."""
        projected: Array = inputs @ self.inputs.transpose(0, 2, 1)
        projected += self.input_bias[:, None]
        return projected

    def tokens(self, lengths: Lengths) -> Iterator[NDArray[np.int64]]:
        """Yield the tokens that each step reads, shape (n_directions, n), fewer and fewer."""
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")  # those that go on are the first ones
        starts, lengths = starts[order], lengths[order]
        first = np.stack([starts, starts + lengths - 1])[: len(self.states)]
        way = np.array([[1], [-1]])[: len(self.states)]
        active = np.searchsorted(-lengths, -np.arange(lengths.max(initial=0)))
        for t, n in enumerate(active.tolist()):
            yield first[:, :n] + way * t


def recurrent_layers(weights: Mapping[str, Array], name: str, rnn: RNN) -> list[RecurrentLayer]:
    """Return the layers of the encoder of this name."""
    prefix = f"{name}.{'gru' if rnn == RNN() else 'rnn'}"
    directions = ("", "_reverse") if rnn.bidirectional else ("",)

    def both(kind: str, layer: int) -> Array:
        found = [weights[f"{prefix}.{kind}_l{layer}{direction}"] for direction in directions]
        return np.stack(found)

    layers = []
    for layer in range(rnn.num_layers):
        bias, state_bias = both("bias_ih", layer), both("bias_hh", layer)
        states = np.ascontiguousarray(both("weight_hh", layer).transpose(0, 2, 1))
        _, H, _ = states.shape
        candidate_bias = np.zeros_like(state_bias[:, -H:])
        if rnn.cell == "gru":
            # A copy: of one direction the slice is contiguous, and a view would be zeroed below.
            candidate_bias = state_bias[:, -H:].copy()
            state_bias[:, -H:] = 0
        inputs = both("weight_ih", layer)
        step = _STEPS[rnn.cell]
        layers.append(RecurrentLayer(step, inputs, bias + state_bias, candidate_bias, states))
    return layers


def encoded(
    layers: list[RecurrentLayer], inputs: Array, index: NDArray[Any], lengths: Lengths
) -> Array:
    """Encode sequences by layer after layer, as `RecurrentLayer.encode` by one."""
    for layer in layers:
        inputs = layer.encode(inputs, index, lengths)  # (T, n_directions * H)
        index = np.arange(len(inputs))
    return inputs


def sigmoid(x: Array) -> Array:
    """Compute ``1 / (1 + exp(-x))``."""
    return 0.5 * np.tanh(0.5 * x) + 0.5  # exp would overflow


def gru_gates(x: Array, m: Array) -> tuple[Array, Array, Array]:
    """Return reset and update gate and candidate of a step, (n_directions, n, H) each.

    `x` and `m`, both (n_directions, n, 3H), are the projected inputs and states before, these with
    the candidate's own bias.
    """
    H = m.shape[2] // 3
    gates = sigmoid(x[:, :, : 2 * H] + m[:, :, : 2 * H])
    r, z = gates[:, :, :H], gates[:, :, H:]
    return r, z, np.tanh(x[:, :, 2 * H :] + r * m[:, :, 2 * H :])


def _gru(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    _, z, candidate = gru_gates(x, m)
    return candidate + z * (states - candidate), memory


def _lstm(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    H = states.shape[2]
    both = x + m
    i, f = sigmoid(both[:, :, :H]), sigmoid(both[:, :, H : 2 * H])
    g, o = np.tanh(both[:, :, 2 * H : 3 * H]), sigmoid(both[:, :, 3 * H :])
    memory = f * memory + i * g
    return o * np.tanh(memory), memory


def _elman(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    return np.tanh(x + m), memory


_STEPS: dict[str, Step] = {"gru": _gru, "lstm": _lstm, "rnn": _elman}
