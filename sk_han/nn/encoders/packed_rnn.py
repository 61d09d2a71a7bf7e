"""PyTorch's own recurrent networks over ragged sequences."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from sk_han.nn.initialization import uniform_, with_memory
from sk_han.nn.ragged.layout import PackedLayout
from sk_han.nn.ragged.segments import check_lengths

CELLS: dict[str, Callable[..., nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
WEIGHTS = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
STEPS: dict[type, Callable[..., tuple[Tensor, ...]]] = {
    nn.GRU: torch.gru,
    nn.LSTM: torch.lstm,
    nn.RNN: torch.rnn_tanh,
}

STEPS_A_BLOCK = 16
# Of longer sequences, parts of so many steps are computed again in the backward.
MOST_STEPS_KEPT = 1_024


class PackedRNN(nn.Module):
    """Recurrent network of any kind, depth and direction over ragged sequences.

    For the input x_t of a token and the state h_{t-1} before it (each direction and layer has its
    own weights; the input of a layer is the states of the layer below)::

        "rnn"   h_t = tanh(W x_t + b + V h_{t-1} + c)                     (Elman, 1990)
        "lstm"  i, f, o = sigmoid(W x_t + b + V h_{t-1} + c), each its own weights
                g = tanh(W_g x_t + b_g + V_g h_{t-1} + c_g)
                m_t = f * m_{t-1} + i * g,   h_t = o * tanh(m_t)          (Hochreiter and
                                                                          Schmidhuber, 1997)
        "gru"   as in `sk_han.engines.arrays.recur`                       (Cho et al., 2014)

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

    has_kernels = False

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
        shape = {"num_layers": num_layers, "bidirectional": bidirectional}
        self.rnn = with_memory(CELLS[rnn](input_size, hidden_size, **shape, device="meta"))
        self.output_size = hidden_size * (2 if bidirectional else 1)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as PyTorch does."""
        for parameter in self.rnn.parameters():
            uniform_(parameter, self.rnn.hidden_size**-0.5, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode concatenated sequences, as `BidirectionalGRU` does: the last layer's states."""
        return packed_states(self.rnn, inputs, index, lengths)


def packed_states(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
    """Return the states (T, H) of inputs (U, E) by a recurrent network of PyTorch."""
    check_lengths(lengths, len(index))
    layout = PackedLayout(lengths)
    if not layout.active:  # PyTorch refuses a packed sequence without rows
        n_directions = 2 if rnn.bidirectional else 1
        states = inputs.new_zeros(0, n_directions * rnn.hidden_size)
        # Weights get gradients of zero, as from kernels, and not none.
        nothing = [each.flatten()[:0].sum() for each in (inputs, *rnn.parameters())]
        return states + torch.stack(nothing).sum()
    if inputs.device.type != "cpu":
        return _at_once(rnn, inputs, index, layout)
    if "torch._dynamo" in sys.modules:  # torch.compile cannot follow PyTorch's loop
        return torch.compiler.disable(_by_blocks)(rnn, inputs, index, layout)
    return _by_blocks(rnn, inputs, index, layout)


def _at_once(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, layout: PackedLayout) -> Tensor:
    device = inputs.device
    packed = PackedSequence(
        inputs[index[layout.forward_token.to(device)]], torch.tensor(layout.active, device="cpu")
    )
    if torch.is_grad_enabled() and not rnn.training:
        # cuDNN has a backward in training mode only. Without dropout between layers the mode
        # changes no number. A shallow copy shares the weights and leaves the network's mode alone.
        rnn = copy.copy(rnn)
        rnn.training = True
    states, _ = rnn(packed)
    return states.data[layout.forward_row.to(device)]


def _by_blocks(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, layout: PackedLayout) -> Tensor:
    """Compute some steps at once: PyTorch's backward fills an array of all rows at each step."""
    active = torch.tensor(layout.active, device="cpu")
    orders = [(layout.forward_token, layout.forward_row, "")]
    if rnn.bidirectional:
        orders.append((layout.backward_token, layout.backward_row, "_reverse"))
    zeros = inputs.new_zeros(1, layout.n_filled, rnn.hidden_size)
    before = (zeros,) * (2 if isinstance(rnn, nn.LSTM) else 1)  # states, an LSTM's memory cells
    for layer in range(rnn.num_layers):
        found = []
        for token, row, direction in orders:
            weights = (getattr(rnn, f"{kind}_l{layer}{direction}") for kind in WEIGHTS)
            states, *_ = _advance(rnn, active, inputs[index[token]], *weights, *before)
            found.append(states[row])
        inputs = torch.cat(found, dim=1)  # (T, n_directions * H)
        index = torch.arange(len(inputs))
    return inputs


def _advance(rnn: nn.RNNBase, active: Tensor, x: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Advance by all steps, from `WEIGHTS` and states; return all states, and the last step's."""
    weights = tensors[: len(WEIGHTS)]
    before: Sequence[Tensor] = tensors[len(WEIGHTS) :]
    advance, most_steps = _steps, STEPS_A_BLOCK
    if torch.is_grad_enabled() and len(active) > MOST_STEPS_KEPT:
        advance, most_steps = _Again.apply, MOST_STEPS_KEPT
    blocks = active.split(most_steps)
    found = []
    for rows, block in zip(x.split([int(block.sum()) for block in blocks]), blocks, strict=True):
        n = int(block[0])
        states, *before = advance(rnn, block, rows, *weights, *(each[:, :n] for each in before))
        found.append(states)
    return torch.cat(found), *before


def _steps(rnn: nn.RNNBase, active: Tensor, x: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Advance by some steps, as `_advance` does, by one call of PyTorch."""
    weights, before = tensors[: len(WEIGHTS)], tensors[len(WEIGHTS) :]
    start = before if isinstance(rnn, nn.LSTM) else before[0]
    # With biases, one layer, no dropout, not in training mode, one direction.
    return STEPS[type(rnn)](x, active, start, weights, True, 1, 0.0, False, False)


class _Again(torch.autograd.Function):
    """`_advance` that keeps nothing, and computes the states again for their gradients."""

    @staticmethod
    def forward(ctx: Any, rnn: nn.RNNBase, active: Tensor, *tensors: Tensor) -> Any:
        ctx.rnn, ctx.active = rnn, active
        ctx.save_for_backward(*tensors)
        return _advance(rnn, active, *tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = [each.detach().requires_grad_() for each in ctx.saved_tensors]
        with torch.enable_grad():
            outputs = _advance(ctx.rnn, ctx.active, *given)
            # A sum needs no factors to be given, for which PyTorch imports SymPy, in half a second.
            products = [(each * grad).sum() for each, grad in zip(outputs, grads, strict=True)]
            total = torch.stack(products).sum()
        return None, None, *torch.autograd.grad(total, given)
