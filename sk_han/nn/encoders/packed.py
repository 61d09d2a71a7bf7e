"""PyTorch's own recurrent networks over ragged sequences."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from sk_han.nn.initialization import uniform_
from sk_han.nn.ragged.layout import PackedLayout, packed_layout

__all__ = ["PackedRNN", "packed_states"]

KINDS: dict[str, Callable[..., nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}


class PackedRNN(nn.Module):
    """Recurrent network of any kind, depth and direction over ragged sequences.

    For a token's input x_t and the state h_{t-1} before it (each direction and layer its own
    weights; a layer reads the states of the one below)::

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
        Layers, the upper ones on top of the states of the lower; no dropout between them.
    bidirectional : bool
        Whether a second network reads from the right; states of both have H = 2 * hidden_size.
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
        # On the meta device PyTorch draws no weights, so the global generator stays alone.
        self.rnn = KINDS[rnn](
            input_size,
            hidden_size,
            num_layers=num_layers,
            bidirectional=bidirectional,
            device="meta",
        )
        self.rnn.to_empty(device="cpu")
        self.output_size = hidden_size * (2 if bidirectional else 1)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as PyTorch does."""
        for parameter in self.rnn.parameters():
            uniform_(parameter, self.rnn.hidden_size**-0.5, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode sequences that lie one after the other: arguments as of `BidirectionalGRU`.

        Returns
        -------
        Tensor, shape (T, H)
            States of the last layer.
        """
        return packed_states(self.rnn, self.output_size, inputs, index, packed_layout(lengths))


def packed_states(
    rnn: nn.RNNBase, output_size: int, inputs: Tensor, index: Tensor, layout: PackedLayout
) -> Tensor:
    """States of a network of PyTorch, shape (T, output_size), from inputs of shape (U, E)."""
    if not layout.active:  # PyTorch refuses a packed sequence without rows
        return inputs.new_zeros(0, output_size)
    device = inputs.device
    packed = PackedSequence(
        inputs[index[layout.forward_token.to(device)]], torch.tensor(layout.active, device="cpu")
    )
    if torch.is_grad_enabled() and not rnn.training:
        # cuDNN goes backward in training mode only. Without dropout between layers the mode changes
        # no number; a copy of the shell around the same weights leaves that of the network alone.
        rnn = copy.copy(rnn)
        rnn.training = True
    states: Tensor = rnn(packed)[0].data
    return states[layout.forward_row.to(device)]
