"""PyTorch's own recurrent networks over ragged sequences."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from sk_han.nn.encoders.output import Encoded
from sk_han.nn.initialization import uniform_, with_memory
from sk_han.nn.ragged.layout import PackedLayout

__all__ = ["PackedRNN", "packed_encoded"]

# States, or states and memory cells of an LSTM.
Last = Tensor | tuple[Tensor, Tensor]

CELLS: dict[str, Callable[..., nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}


class PackedRNN(nn.Module):
    """Recurrent network of any kind, depth and direction over ragged sequences.

    For the input x_t of a token and the state h_{t-1} before it (each direction and layer has its
    own weights; the input of a layer is the states of the layer below)::

        "rnn"   h_t = tanh(W x_t + b + V h_{t-1} + c)                     (Elman, 1990)
        "lstm"  i, f, o = sigmoid(W x_t + b + V h_{t-1} + c), each its own weights
                g = tanh(W_g x_t + b_g + V_g h_{t-1} + c_g)
                m_t = f * m_{t-1} + i * g,   h_t = o * tanh(m_t)          (Hochreiter and
                                                                          Schmidhuber, 1997)
        "gru"   as in `GRURecurrence`                                     (Cho et al., 2014)

    Parameters
    ----------
    rnn : {"gru", "lstm", "rnn"}
        `torch.nn.GRU`, `torch.nn.LSTM` or `torch.nn.RNN` with tanh.
    input_size : int
        Size E of each input.
    hidden_size : int
        Size of the state of each direction.
    num_layers : int
        Number of layers, without dropout between them.
    bidirectional : bool
        Whether there is a backward direction; states of both have H = 2 * hidden_size.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Attributes
    ----------
    rnn : torch.nn.RNNBase
        The weights, under PyTorch's names.
    output_size : int
        Size H of the states.
    """

    def __init__(
        self,
        rnn: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bidirectional: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        made = CELLS[rnn](
            input_size,
            hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            device="meta",
        )
        self.rnn = with_memory(made)
        self.output_size = hidden_size * (2 if bidirectional else 1)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as PyTorch does."""
        for parameter in self.rnn.parameters():
            uniform_(parameter, self.rnn.hidden_size**-0.5, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode concatenated sequences: arguments as of `BidirectionalGRU`.

        Returns
        -------
        Tensor, shape (T, H)
            States of the last layer.
        """
        return self.encode(inputs, index, lengths).states

    def encode(
        self, inputs: Tensor, index: Tensor, lengths: Tensor, initial: Last | None = None
    ) -> Encoded:
        """Encode sequences from given initial states, and return their last states too.

        Parameters
        ----------
        inputs, index, lengths : Tensor
            As of `forward`.
        initial : Tensor, shape (num_layers * n_directions, N, hidden_size), or a pair, optional
            State of each layer and direction before its first token, for an LSTM with the memory
            cells; zeros by default.

        Returns
        -------
        Encoded
            ``last`` has the shape of `initial`. A sequence without tokens ends in its initial
            state.
        """
        return packed_encoded(self.rnn, inputs, index, PackedLayout(lengths), initial)


def packed_encoded(
    rnn: nn.RNNBase,
    inputs: Tensor,
    index: Tensor,
    layout: PackedLayout,
    initial: Last | None = None,
) -> Encoded:
    """Encode inputs of shape (U, E) with a recurrent network of PyTorch."""
    if initial is None:
        initial = _zeros(rnn, inputs, len(layout.order))
    if not layout.active:  # PyTorch refuses a packed sequence without rows
        n_directions = 2 if rnn.bidirectional else 1
        return Encoded(inputs.new_zeros(0, n_directions * rnn.hidden_size), initial)
    device = inputs.device
    packed = PackedSequence(
        inputs[index[layout.forward_token.to(device)]], torch.tensor(layout.active, device="cpu")
    )
    if torch.is_grad_enabled() and not rnn.training:
        # cuDNN has a backward in training mode only. Without dropout between layers the mode
        # changes no number. A shallow copy shares the weights and leaves the network's mode alone.
        rnn = copy.copy(rnn)
        rnn.training = True
    filled = layout.order[: layout.n_filled].to(device)
    states, last = rnn(packed, _each(lambda start: start[:, filled].contiguous(), initial))
    return Encoded(
        states.data[layout.forward_row.to(device)],
        _each(lambda start, end: start.index_copy(1, filled, end), initial, last),
    )


def _zeros(rnn: nn.RNNBase, inputs: Tensor, n_sequences: int) -> Last:
    n_states = rnn.num_layers * (2 if rnn.bidirectional else 1)
    zeros = inputs.new_zeros(n_states, n_sequences, rnn.hidden_size)
    return (zeros, zeros) if isinstance(rnn, nn.LSTM) else zeros


def _each(function: Callable[..., Tensor], *states: Last) -> Last:
    """Apply a function to states, or to both states and memory cells of an LSTM."""
    if isinstance(states[0], tuple):
        hidden, cells = (function(*pair) for pair in zip(*states, strict=True))
        return hidden, cells
    return function(*states)
