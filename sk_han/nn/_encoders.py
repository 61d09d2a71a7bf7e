"""Recurrent encoders of ragged sequences, and the initialization and dropout that layers share."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence

from sk_han._kernels import engine
from sk_han._options import RNN
from sk_han.nn._ragged import PackedLayout, check_lengths

_Module = TypeVar("_Module", bound=nn.Module)
_Result = TypeVar("_Result")


def kernels_cover(tensor: Tensor) -> bool:
    """Return whether kernels of Numba can compute with a tensor: single precision, on the CPU."""
    covered = tensor.dtype == torch.float32 and tensor.device.type == "cpu"
    return covered and not torch.compiler.is_compiling() and engine.kernels("network") is not None


def on_arrays(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function of the engine on the arrays of tensors, with PyTorch's number of threads."""
    arrays = [a.detach().numpy() if isinstance(a, Tensor) else a for a in arguments]
    with engine.using_threads(engine.n_threads(torch.get_num_threads())):
        return function(*arrays)


def sum_chunks(gradient: NDArray[Any]) -> Tensor:
    """Add up the gradients that the chunks of the work contribute."""
    return torch.from_numpy(gradient).sum(0)


class _Projection(torch.autograd.Function):
    """`sk_han._kernels.engine.project` with its gradients."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return torch.from_numpy(on_arrays(engine.project, inputs, weight, bias))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        of_inputs, of_weight, of_bias = on_arrays(
            engine.project_gradients, grad, *ctx.saved_tensors
        )
        return torch.from_numpy(of_inputs), sum_chunks(of_weight), sum_chunks(of_bias)


class _Recurrence(torch.autograd.Function):
    """`sk_han._kernels.engine.recur` with its gradients; `keep` what they need."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        weight: Tensor,
        bias: Tensor,
        index: Tensor,
        lengths: Tensor,
        keep: bool,
    ) -> Tensor:
        keep = keep and any(ctx.needs_input_grad)
        recurred = on_arrays(engine.recur, projected, weight, bias, index, lengths, keep)
        states = torch.from_numpy(recurred.states)
        # They are saved as tensors and not on `ctx`, so that activation checkpointing can drop
        # them.
        gates = None if recurred.gates is None else torch.from_numpy(recurred.gates)
        ctx.save_for_backward(states, gates, weight, index)
        ctx.sequences, ctx.n_distinct = recurred.sequences, projected.shape[1]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kept = *ctx.saved_tensors, ctx.sequences, ctx.n_distinct
        of_projected, of_weight, of_bias = on_arrays(engine.recur_gradients, grad, *kept)
        # This is the largest gradient, so it is not copied if there is a single chunk.
        of_inputs = torch.from_numpy(of_projected)
        of_inputs = of_inputs[0] if len(of_inputs) == 1 else of_inputs.sum(0)
        return of_inputs, sum_chunks(of_weight), sum_chunks(of_bias), None, None, None


_device_of_weights = ContextVar("_device_of_weights", default="cpu")


def single() -> dict[str, Any]:
    """Return dtype and device of new weights, independent of PyTorch's defaults."""
    return {"dtype": torch.float32, "device": _device_of_weights.get()}


def parameter_shapes(
    make_network: Callable[..., nn.Module], **params: Any
) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of a network, without allocating the weights."""
    token = _device_of_weights.set("meta")
    try:
        weights = make_network(**params).state_dict()
    except (RuntimeError, OverflowError, TypeError) as error:
        # PyTorch's message would show frames of C++.
        raise ValueError(f"a network of its sizes cannot be created: {params}") from error
    finally:
        _device_of_weights.reset(token)
    return {name: tuple(weight.shape) for name, weight in weights.items()}


def parameter(*shape: int) -> nn.Parameter:
    """Return a weight of zeros in single precision on the CPU, despite other PyTorch defaults."""
    return nn.Parameter(torch.zeros(shape, **single()))


def with_memory(module: _Module) -> _Module:
    """Allocate the weights of a layer created on the meta device, in single precision on the CPU.

    On the meta device PyTorch does not draw weights, which would change its global generator. Its
    own `to_empty` and `skip_init` import SymPy, which takes half a second in a new process.
    """
    for name, weight in list(module.named_parameters()):
        setattr(module, name, nn.Parameter(torch.empty(weight.shape, **single())))
    return module


def uniform_(tensor: Tensor, bound: float, generator: torch.Generator | None) -> None:
    """Fill with uniform random numbers between -bound and bound."""
    drawn = torch.empty(tensor.shape, **single()).uniform_(-bound, bound, generator=generator)
    _fill(tensor, drawn)


def normal_(tensor: Tensor, std: float, generator: torch.Generator | None) -> None:
    """Fill with normal random numbers of mean 0."""
    # On the meta device there is nothing to draw, yet PyTorch would load its compiler for a second.
    if tensor.is_meta:
        return
    _fill(tensor, torch.empty(tensor.shape, **single()).normal_(0.0, std, generator=generator))


def xavier_uniform_(weight: Tensor, generator: torch.Generator | None) -> None:
    """Initialize a matrix of shape (out, in) as recommended by Glorot and Bengio (2010)."""
    uniform_(weight, (6.0 / (weight.shape[0] + weight.shape[1])) ** 0.5, generator)


@torch.no_grad()
def _fill(tensor: Tensor, drawn: Tensor) -> None:
    # All random initial weights are written here, so that tests can perturb them
    # (tests/shaking.py).
    tensor.copy_(drawn)


CELLS: dict[str, Callable[..., nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
WEIGHTS = "weight_ih", "weight_hh", "bias_ih", "bias_hh"

STEPS: dict[type, Callable[..., tuple[Tensor, ...]]] = {
    nn.GRU: torch.gru,
    nn.LSTM: torch.lstm,
    nn.RNN: torch.rnn_tanh,
}

# Steps of one call of PyTorch, whose backward pass otherwise takes quadratic time; see
# `_in_blocks`.
STEPS_A_BLOCK = 16

# Longer sequences are cut into parts of this many steps, which the backward pass recomputes, so
# that memory does not grow with all steps.
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
        "gru"   as in `sk_han._kernels.engine.recur`                       (Cho et al., 2014)

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
        # The distribution is that of `torch.nn.RNNBase.reset_parameters`.
        for parameter in self.rnn.parameters():
            uniform_(parameter, hidden_size**-0.5, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode concatenated sequences as `BidirectionalGRU` does, to the last layer's states."""
        return packed_states(self.rnn, inputs, index, lengths)


def packed_states(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
    """Compute the states (T, H) for inputs (U, E) with a recurrent network of PyTorch."""
    check_lengths(lengths, len(index))
    layout = PackedLayout(lengths)
    if not layout.active:
        # PyTorch refuses a packed sequence without rows. The sum of empty slices connects the
        # weights to the result, so that their gradients are zeros, as those of kernels, and not
        # None.
        n_directions = 2 if rnn.bidirectional else 1
        states = inputs.new_zeros(0, n_directions * rnn.hidden_size)
        nothing = [tensor.flatten()[:0].sum() for tensor in (inputs, *rnn.parameters())]
        return states + torch.stack(nothing).sum()
    if inputs.device.type != "cpu":
        return _in_one_call(rnn, inputs, index, layout)
    # `torch.compile` cannot trace the loop over steps. If its module is not loaded, nobody uses it.
    if "torch._dynamo" in sys.modules:
        return torch.compiler.disable(_in_blocks)(rnn, inputs, index, layout)
    return _in_blocks(rnn, inputs, index, layout)


def _in_one_call(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, layout: PackedLayout) -> Tensor:
    device = inputs.device
    packed = PackedSequence(
        inputs[index[layout.forward_token.to(device)]], torch.tensor(layout.active, device="cpu")
    )
    if torch.is_grad_enabled() and not rnn.training:
        # cuDNN has a backward pass in training mode only; without dropout between layers the mode
        # does not change the result. A shallow copy shares the weights and keeps the network's
        # mode.
        rnn = copy.copy(rnn)
        rnn.training = True
    states, _ = rnn(packed)
    return states.data[layout.forward_row.to(device)]


def _in_blocks(rnn: nn.RNNBase, inputs: Tensor, index: Tensor, layout: PackedLayout) -> Tensor:
    """Compute in blocks of steps.

    At each step PyTorch's backward pass fills an array of all rows of its call, so a call for all
    steps would take quadratic time.
    """
    active = torch.tensor(layout.active, device="cpu")
    orders = [(layout.forward_token, layout.forward_row, "")]
    if rnn.bidirectional:
        orders.append((layout.backward_token, layout.backward_row, "_reverse"))
    zeros = inputs.new_zeros(1, layout.n_filled, rnn.hidden_size)
    # An LSTM also starts with memory cells.
    before = (zeros,) * (2 if isinstance(rnn, nn.LSTM) else 1)
    for layer in range(rnn.num_layers):
        both = []
        for token, row, direction in orders:
            weights = (getattr(rnn, f"{kind}_l{layer}{direction}") for kind in WEIGHTS)
            states, *_ = _advance(rnn, active, inputs[index[token]], *weights, *before)
            both.append(states[row])
        inputs = torch.cat(both, dim=1)  # (T, n_directions * H)
        index = torch.arange(len(inputs))
    return inputs


def _advance(rnn: nn.RNNBase, active: Tensor, x: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Run all steps; `tensors` are `WEIGHTS` and initial states. Return all states and the last."""
    weights = tensors[: len(WEIGHTS)]
    before: Sequence[Tensor] = tensors[len(WEIGHTS) :]
    advance, most_steps = _steps, STEPS_A_BLOCK
    if torch.is_grad_enabled() and len(active) > MOST_STEPS_KEPT:
        advance, most_steps = _Recomputed.apply, MOST_STEPS_KEPT
    blocks = active.split(most_steps)
    computed_states = []
    for rows, block in zip(x.split([int(block.sum()) for block in blocks]), blocks, strict=True):
        n = int(block[0])
        states, *before = advance(rnn, block, rows, *weights, *(h[:, :n] for h in before))
        computed_states.append(states)
    return torch.cat(computed_states), *before


def _steps(rnn: nn.RNNBase, active: Tensor, x: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    """Run some steps, as `_advance` does, in one call of PyTorch."""
    weights, before = tensors[: len(WEIGHTS)], tensors[len(WEIGHTS) :]
    start = before if isinstance(rnn, nn.LSTM) else before[0]
    # The constants are: with biases, one layer, no dropout, not in training mode, one direction.
    return STEPS[type(rnn)](x, active, start, weights, True, 1, 0.0, False, False)


class _Recomputed(torch.autograd.Function):
    """`_advance` with activation checkpointing: the backward pass recomputes the states."""

    @staticmethod
    def forward(ctx: Any, rnn: nn.RNNBase, active: Tensor, *tensors: Tensor) -> Any:
        ctx.rnn, ctx.active = rnn, active
        ctx.save_for_backward(*tensors)
        return _advance(rnn, active, *tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs = [tensor.detach().requires_grad_() for tensor in ctx.saved_tensors]
        with torch.enable_grad():
            outputs = _advance(ctx.rnn, ctx.active, *inputs)
            # The gradient of a sum needs no `grad_outputs`, for which PyTorch imports SymPy, which
            # takes half a second.
            products = [(output * grad).sum() for output, grad in zip(outputs, grads, strict=True)]
            total = torch.stack(products).sum()
        return None, None, *torch.autograd.grad(total, inputs)


class _Weights(NamedTuple):
    """Weights of both directions, stacked for the kernels."""

    inputs: Tensor  # (2, 3H/2, E)
    input_bias: Tensor  # (2, 3H/2)
    states: Tensor  # (2, H/2, 3H/2)
    state_bias: Tensor  # (2, H/2)


class BidirectionalGRU(nn.Module):
    """Bidirectional GRU over ragged sequences of repeated inputs.

    In single precision it is computed by compiled kernels, if available, which project each
    distinct input once and run both directions in parallel; those for GPUs support hidden sizes of
    up to 64. Otherwise it is `torch.nn.GRU` over a packed sequence, which uses cuDNN on a GPU. The
    results agree up to rounding.

    Parameters
    ----------
    input_size : int
        Size E of each input.
    hidden_size : int
        Size of the state of each direction; states of both together have H = 2 * hidden_size.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Attributes
    ----------
    gru : torch.nn.GRU
        The weights, under PyTorch's names.
    output_size : int
        Size H of the states.
    """

    def __init__(
        self, input_size: int, hidden_size: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.gru = with_memory(nn.GRU(input_size, hidden_size, bidirectional=True, device="meta"))
        self.output_size = 2 * hidden_size
        self.reset_parameters(generator)
        self._joined: _Weights | None = None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights from the distribution that `torch.nn.GRU` uses."""
        bound = self.gru.hidden_size**-0.5
        for parameter in self.gru.parameters():
            uniform_(parameter, bound, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode concatenated sequences.

        Parameters
        ----------
        inputs : Tensor, shape (U, input_size)
            Distinct inputs.
        index : Tensor of int64, shape (T,)
            The input at each token.
        lengths : Tensor of int64 on the CPU, shape (N,)
            Number of tokens of each sequence, together T.

        Returns
        -------
        Tensor, shape (T, H)
        """
        weight = self.gru.get_parameter("weight_ih_l0")
        gpu = _gpu_kernels(weight) if weight.is_cuda else None
        if gpu is not None:
            check_lengths(lengths, len(index))
            states: Tensor = gpu.gru_states(inputs, *self._weights(), index, lengths)
            return states
        if not kernels_cover(weight):
            return packed_states(self.gru, inputs, index, lengths)
        weights = self._weights()
        projected = _Projection.apply(inputs, weights.inputs, weights.input_bias)
        return self.recur(projected, index, lengths, weights)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled CPU kernels are used."""
        return kernels_cover(self.gru.get_parameter("weight_ih_l0"))

    def project(self, inputs: Tensor) -> Tensor:
        """Project inputs (U, E) for both directions with kernels; shape (2, U, 3H/2)."""
        weights = self._weights()
        projected: Tensor = _Projection.apply(inputs, weights.inputs, weights.input_bias)
        return projected

    def recur(
        self, projected: Tensor, index: Tensor, lengths: Tensor, weights: _Weights | None = None
    ) -> Tensor:
        """Compute the states (T, H) of projected inputs with kernels."""
        weights = weights or self._weights()
        own, keep = (weights.states, weights.state_bias), torch.is_grad_enabled()
        states: Tensor = _Recurrence.apply(projected, *own, index, lengths, keep)
        return states

    def join_weights(self, join: bool) -> None:
        """Cache the stacked weights of both directions for predictions, or delete the cache.

        Stacking them takes a tenth of the time of predicting one document. Call it again after a
        change of the weights.
        """
        self._joined = None
        if join:
            with torch.no_grad():
                self._joined = self._weights()

    def _weights(self) -> _Weights:
        if self._joined is not None and not torch.is_grad_enabled():
            return self._joined
        inputs, bias, states, state_bias = (
            torch.stack([getattr(self.gru, f"{name}_l0{way}") for way in ("", "_reverse")])
            for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
        )
        gates = 2 * self.gru.hidden_size
        # The recurrent bias of the candidate is not included: the reset gate scales it.
        input_bias = torch.cat([bias[:, :gates] + state_bias[:, :gates], bias[:, gates:]], dim=1)
        return _Weights(
            inputs,
            input_bias,
            states.transpose(1, 2).contiguous(),
            state_bias[:, gates:].contiguous(),
        )


# The kernels of a GPU keep the recurrent weights of a direction in registers, which have room for
# this hidden size.
LARGEST_HIDDEN = 64
# Triton supports GPUs from this compute capability on (Ampere).
_OLDEST = 8, 0


def _gpu_kernels(weight: Tensor) -> ModuleType | None:
    """Return the GPU kernels if they support a GRU with these input weights (3H, E), else None."""
    covered = weight.dtype == torch.float32 and len(weight) <= 3 * LARGEST_HIDDEN
    if not covered or torch.compiler.is_compiling():
        return None
    # A machine may have GPUs of several kinds, so each device is asked.
    if torch.version.cuda is None or torch.cuda.get_device_capability(weight.device) < _OLDEST:
        return None
    return engine.gpu_kernels(weight.device)


def recurrent_encoder(
    rnn: RNN, input_size: int, hidden_size: int, generator: torch.Generator | None
) -> BidirectionalGRU | PackedRNN:
    """Return the fastest encoder for these options."""
    if rnn == RNN():
        return BidirectionalGRU(input_size, hidden_size, generator)
    return PackedRNN(
        rnn.cell, input_size, hidden_size, rnn.num_layers, rnn.bidirectional, generator
    )


def distinct_words(word_ids: Tensor, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """Return the sorted distinct ids of a batch (U,), and each word's position in them (T,)."""
    # PyTorch would count a negative id from the end of the table.
    if len(word_ids) and int(word_ids.min()) < 0:
        raise IndexError(f"word ids must be at least 0; got {int(word_ids.min())}.")
    occurs = torch.zeros(vocabulary_size, dtype=torch.bool, device=word_ids.device)
    occurs[word_ids] = True
    distinct = occurs.nonzero().squeeze(1)
    position = torch.empty(vocabulary_size, dtype=torch.int64, device=word_ids.device)
    position[distinct] = torch.arange(len(distinct), device=word_ids.device)
    return distinct, position[word_ids]


def dropout(vectors: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Set a share `p` of the entries to zero and scale the others (Srivastava et al., 2014)."""
    if p == 0.0:
        return vectors
    keep = _bernoulli(vectors.shape, 1.0 - p, generator)
    return vectors * keep.to(vectors).div_(1.0 - p)


def word_dropout(
    word_ids: Tensor, p: float, unknown_id: int, generator: torch.Generator | None
) -> Tensor:
    """Replace a share `p` of the words by the unknown word."""
    if p == 0.0:
        return word_ids
    drop = _bernoulli(word_ids.shape, p, generator)
    return word_ids.masked_fill(drop.to(word_ids.device), unknown_id)


def _bernoulli(shape: torch.Size, p: float, generator: torch.Generator | None) -> Tensor:
    """Draw True with probability `p`, rounded to a multiple of 1 / 65,536 that is not 0.

    Each random number of 64 bits gives four draws, in a seventh of the time of `Tensor.bernoulli_`.
    """
    n = shape.numel()
    bits = torch.empty((n + 3) // 4, dtype=torch.int64, device="cpu")
    bits.random_(-(2**63), None, generator=generator)
    smallest = 2**15 - max(round(p * 2**16), 1)
    return (bits.view(torch.int16)[:n] >= smallest).view(shape)
