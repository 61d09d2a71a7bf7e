"""The result of an encoder."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["Encoded"]


class Encoded(NamedTuple):
    """States of all tokens, and the last states of each sequence.

    Attributes
    ----------
    states : Tensor, shape (T, H)
        State of each token, both directions side by side.
    last : Tensor, shape (num_layers * n_directions, N, hidden_size), or a pair of them
        Last state of each layer and direction, in the layout of `torch.nn.GRU`. An LSTM has a
        pair: states and memory cells.
    """

    states: Tensor
    last: Tensor | tuple[Tensor, Tensor]
