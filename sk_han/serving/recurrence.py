"""Recurrent networks over ragged sequences, by NumPy.

The equations and the names of the weights are those of `sk_han.nn.PackedRNN`, so those of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.options import RNN

__all__ = ["RecurrentLayer", "recurrent_layers"]

Array = NDArray[np.float32]
# Takes the projected inputs and states (n_directions, n, gates * H), the states and the memory
# cells (n_directions, n, H) before; returns new states and memory cells.
Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


class RecurrentLayer(NamedTuple):
    """One layer; its directions are the first axis of all arrays.

    Attributes
    ----------
    step : callable
        The cell.
    inputs : ndarray of float32, shape (n_directions, input_size, gates * H)
    input_bias : ndarray of float32, shape (n_directions, 1, gates * H)
    states : ndarray of float32, shape (n_directions, H, gates * H)
    state_bias : ndarray of float32, shape (n_directions, 1, gates * H)
    """

    step: Step
    inputs: Array
    input_bias: Array
    states: Array
    state_bias: Array

    def project(self, inputs: Array) -> Array:
        """Multiply inputs of shape (U, input_size), and return (n_directions, U, gates * H)."""
        projected: Array = inputs @ self.inputs + self.input_bias
        return projected

    def recur(self, projected: Array, index: NDArray[Any], lengths: NDArray[np.int64]) -> Array:
        """Compute the states of concatenated sequences.

        Parameters
        ----------
        projected : ndarray of float32, shape (n_directions, U, gates * H)
        index : ndarray of int, shape (T,)
            The projected input of each token.
        lengths : ndarray of int64, shape (N,)
            Number of tokens of each sequence, together T.

        Returns
        -------
        ndarray of float32, shape (T, n_directions * H)
        """
        n_directions, H, _ = self.states.shape
        starts = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")  # those that go on are the first ones
        starts, lengths = starts[order], lengths[order]
        first = np.stack([starts, starts + lengths - 1])[:n_directions]  # (n_directions, N)
        way = np.array([[1], [-1]])[:n_directions]
        directions = np.arange(n_directions)[:, None]
        result = np.zeros((len(index), n_directions, H), dtype=np.float32)
        states = memory = np.zeros((n_directions, len(lengths), H), dtype=np.float32)
        active = np.searchsorted(-lengths, -np.arange(lengths.max(initial=0)))
        for t, n in enumerate(active.tolist()):
            tokens = first[:, :n] + way * t  # (n_directions, n)
            states, memory = states[:, :n], memory[:, :n]
            x = projected[directions, index[tokens]]  # (n_directions, n, gates * H)
            states, memory = self.step(x, states @ self.states + self.state_bias, states, memory)
            result[tokens, directions] = states
        return result.reshape(len(index), n_directions * H)


def recurrent_layers(weights: Mapping[str, Array], name: str, rnn: RNN) -> list[RecurrentLayer]:
    """Return the layers of the encoder of this name."""
    prefix = f"{name}.{'gru' if rnn == RNN() else 'rnn'}"
    directions = ("", "_reverse") if rnn.bidirectional else ("",)

    def both(kind: str, layer: int) -> Array:
        found = [weights[f"{prefix}.{kind}_l{layer}{direction}"] for direction in directions]
        return np.stack(found)

    return [
        RecurrentLayer(
            _STEPS[rnn.cell],
            np.ascontiguousarray(both("weight_ih", layer).transpose(0, 2, 1)),
            both("bias_ih", layer)[:, None],
            np.ascontiguousarray(both("weight_hh", layer).transpose(0, 2, 1)),
            both("bias_hh", layer)[:, None],
        )
        for layer in range(rnn.num_layers)
    ]


def _sigmoid(x: Array) -> Array:
    return 0.5 * np.tanh(0.5 * x) + 0.5  # exp would overflow


def _gru(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    H = states.shape[2]
    gates = _sigmoid(x[:, :, : 2 * H] + m[:, :, : 2 * H])
    r, z = gates[:, :, :H], gates[:, :, H:]
    candidate = np.tanh(x[:, :, 2 * H :] + r * m[:, :, 2 * H :])
    return candidate + z * (states - candidate), memory


def _lstm(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    H = states.shape[2]
    both = x + m
    i, f = _sigmoid(both[:, :, :H]), _sigmoid(both[:, :, H : 2 * H])
    g, o = np.tanh(both[:, :, 2 * H : 3 * H]), _sigmoid(both[:, :, 3 * H :])
    memory = f * memory + i * g
    return o * np.tanh(memory), memory


def _elman(x: Array, m: Array, states: Array, memory: Array) -> tuple[Array, Array]:
    return np.tanh(x + m), memory


_STEPS: dict[str, Step] = {"gru": _gru, "lstm": _lstm, "rnn": _elman}
