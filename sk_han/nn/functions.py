"""Operations with their gradients over kernels, on the CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.kernels import arrays
from sk_han.kernels.engine import gpu_kernels, kernels
from sk_han.nn.ragged import check_lengths

_Result = TypeVar("_Result")


def kernels_cover(name: str, tensor: Tensor) -> bool:
    """Return whether compiled kernels cover a tensor: single precision, on the CPU."""
    covered = tensor.dtype == torch.float32 and tensor.device.type == "cpu"
    return covered and not torch.compiler.is_compiling() and kernels(name) is not None


def projections(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Project inputs for both directions; arguments as of `arrays.project`."""
    if not torch.is_grad_enabled():
        return torch.from_numpy(_computed(arrays.project, inputs, weight, bias))
    projected: Tensor = _Projection.apply(inputs, weight, bias)
    return projected


def gru_states(
    projected: Tensor, weight: Tensor, bias: Tensor, index: Tensor, lengths: Tensor
) -> Tensor:
    """Compute the states of a bidirectional GRU; arguments as of `arrays.recur`."""
    arguments = projected, weight, bias, index, lengths
    if not torch.is_grad_enabled():
        return torch.from_numpy(_computed(arrays.recur, *arguments).states)
    states: Tensor = _KernelGRU.apply(*arguments)
    return states


def attention(
    states: Tensor, weight: Tensor, bias: Tensor, context: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Pool states by attention; arguments as of `arrays.attend`. Return pooled and weights."""
    arguments = states, weight, bias, context, lengths
    if not torch.is_grad_enabled():
        attended = _computed(arrays.attend, *arguments)
        return torch.from_numpy(attended.pooled), torch.from_numpy(attended.weights)
    both: tuple[Tensor, Tensor] = _Attention.apply(*arguments)
    return both


def update_rows(
    table: Tensor, mean: Tensor, square: Tensor, rows: Tensor, grad: Tensor, settings: list[float]
) -> None:
    """Update rows of a table in place by AdamW; arguments as of `arrays.update_rows`."""
    _computed(arrays.update_rows, table, mean, square, rows, grad, settings)


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return torch.from_numpy(_computed(arrays.project, inputs, weight, bias))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        gradients = _computed(arrays.project_gradients, grad, *ctx.saved_tensors)
        return torch.from_numpy(gradients[0]), *map(_sum, gradients[1:])


class _KernelGRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, weight: Tensor, bias: Tensor, index: Tensor, lengths: Tensor
    ) -> Tensor:
        arguments = projected, weight, bias, index, lengths
        recurred = _computed(arrays.recur, *arguments, keep=any(ctx.needs_input_grad))
        states = torch.from_numpy(recurred.states)
        # Saved as tensors, not on `ctx`: a chunk that is computed again keeps none of them.
        gates = None if recurred.gates is None else torch.from_numpy(recurred.gates)
        ctx.save_for_backward(states, gates, weight, index)
        ctx.sequences, ctx.n_distinct = recurred.sequences, projected.shape[1]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kept = *ctx.saved_tensors, ctx.sequences, ctx.n_distinct
        of_projected, of_weight, of_bias = _computed(arrays.recur_gradients, grad, *kept)
        # The largest gradient is not copied if it is that of one chunk.
        of_inputs = torch.from_numpy(of_projected)
        of_inputs = of_inputs[0] if len(of_inputs) == 1 else of_inputs.sum(0)
        return of_inputs, _sum(of_weight), _sum(of_bias), None, None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, context: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        arguments = states, weight, bias, context, lengths
        attended = _computed(arrays.attend, *arguments, keep=any(ctx.needs_input_grad))
        weights = torch.from_numpy(attended.weights)
        hidden = None if attended.hidden is None else torch.from_numpy(attended.hidden)
        ctx.save_for_backward(states, weight, context, weights, hidden)
        ctx.starts, ctx.bounds = attended.starts, attended.bounds
        return torch.from_numpy(attended.pooled), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        kept = *ctx.saved_tensors, ctx.starts, ctx.bounds
        of_states, *of_weights = _computed(arrays.attend_gradients, grad, grad_weights, *kept)
        return torch.from_numpy(of_states), *map(_sum, of_weights), None


def _computed(function: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    """Call a function of `arrays` with what tensors hold, on PyTorch's number of threads."""
    given = [each.detach().numpy() if isinstance(each, Tensor) else each for each in arguments]
    return function(*given, **options, usual_threads=torch.get_num_threads())


def _sum(parts: NDArray[Any]) -> Tensor:
    """Add up what the chunks of the work found."""
    return torch.from_numpy(parts).sum(0)


# A program keeps the weights of a direction's states in registers.
LARGEST_HIDDEN = 64


_SEQUENCES, _WARPS = 16, 4  # of a program, whose products take at least 16 rows


_OLDEST = 8, 0  # compute capability that Triton supports: Ampere


def kernels_for(weight: Tensor) -> ModuleType | None:
    """Return kernels that cover a GRU whose weights of inputs are these, (3H, E), on its GPU."""
    covered = weight.dtype == torch.float32 and weight.device.type == "cuda"
    if not covered or len(weight) > 3 * LARGEST_HIDDEN or torch.compiler.is_compiling():
        return None
    # There may be GPUs of several kinds.
    if torch.version.cuda is None or torch.cuda.get_device_capability(weight.device) < _OLDEST:
        return None
    return gpu_kernels(partial(_try, device=weight.device))


def gru_states_on_gpu(
    kernels: ModuleType,
    inputs: Tensor,
    input_weight: Tensor,
    input_bias: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Compute the states (T, 2H) of a bidirectional GRU over sequences of distinct inputs (U, E).

    Arguments as of `arrays.project` and `arrays.recur`; `lengths` are on the CPU. No index is
    compared with the number of inputs: that would wait for the GPU.
    """
    sequences = _longest_first(lengths, len(index)).to(inputs.device)
    with torch.autocast(inputs.device.type, enabled=False):
        weights = input_weight.flatten(0, 1)  # (6H, E)
        projected = torch.addmm(input_bias.flatten(), inputs, weights.T)  # (U, 6H)
        states: Tensor = _TritonGRU.apply(kernels, projected, weight, bias, index, sequences)
    return states


class _TritonGRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: ModuleType,
        projected: Tensor,  # (U, 6H)
        weight: Tensor,  # (2, H, 3H)
        bias: Tensor,  # (2, H)
        index: Tensor,  # (T,)
        sequences: Tensor,  # (2, n): start and length of those with tokens, the longest first
    ) -> Tensor:
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        keep = any(ctx.needs_input_grad)
        states = projected.new_empty(T, 2 * H)
        gates = projected.new_empty(2, T if keep else 0, 5 * H)
        if n:
            given = (each.contiguous() for each in (projected, weight, bias, index, sequences))
            with torch.cuda.device_of(states):
                kernels.forward[_grid(n)](*given, states, gates, n, T, keep=keep, **_tiles(H))
        ctx.save_for_backward(gates, weight, index, sequences)
        ctx.kernels, ctx.n_distinct = kernels, len(projected)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        gates, weight, index, sequences = ctx.saved_tensors
        H, T, n = weight.shape[1], len(index), sequences.shape[1]
        of_inputs, of_products = grad.new_empty(T, 6 * H), grad.new_empty(2, T, 3 * H)
        if n:
            given = (each.contiguous() for each in (grad, gates, weight, sequences))
            with torch.cuda.device_of(grad):
                ctx.kernels.backward[_grid(n)](*given, of_inputs, of_products, n, T, **_tiles(H))
        # As the gradient of an embedding, which adds up in the same order each time.
        of_projected = torch.ops.aten.embedding_dense_backward(
            of_inputs, index, ctx.n_distinct, -1, False
        )
        before = gates[:, :, 4 * H :].transpose(1, 2)  # (2, H, T), the states before
        of_bias = of_products[:, :, 2 * H :].sum(1)
        return None, of_projected, before @ of_products, of_bias, None, None


def _longest_first(lengths: Tensor, n_tokens: int) -> Tensor:
    """Return start and length of the sequences that have tokens, (2, n)."""
    check_lengths(lengths, n_tokens)
    order = torch.argsort(lengths, descending=True)[: int((lengths > 0).sum())]
    return torch.stack([(torch.cumsum(lengths, 0) - lengths)[order], lengths[order]])


def _grid(n_sequences: int) -> tuple[int, int]:
    return -(-n_sequences // _SEQUENCES), 2


def _tiles(hidden: int) -> dict[str, int]:
    width = max(16, 1 << (hidden - 1).bit_length())
    return {"H": hidden, "size": _SEQUENCES, "width": width, "num_warps": _WARPS}


def _try(kernels: ModuleType, device: torch.device) -> None:
    """Compile the kernels for a GPU, and compute a case that is worked by hand."""
    on_gpu: dict[str, Any] = {"device": device, "dtype": torch.float32}
    with torch.inference_mode(False), torch.enable_grad():
        # Both gates are 1/2 and the candidate is 1/2: a state is the mean of 1/2 and that before.
        weight, bias = torch.zeros(2, 1, 3, **on_gpu), torch.zeros(2, 1, **on_gpu)
        projected = torch.tensor([[0.0, 0.0, 0.5] * 2], **on_gpu).atanh().requires_grad_()
        index, sequences = (torch.tensor(each, device=device) for each in ([0, 0], [[0], [2]]))
        states = _TritonGRU.apply(kernels, projected, weight, bias, index, sequences)
        states.sum().backward()
    expected = torch.tensor([[0.25, 0.375], [0.375, 0.25]], device="cpu")
    found = states.detach().cpu()
    if not torch.allclose(found, expected, atol=1e-5):
        raise RuntimeError(f"states are {found.tolist()} in place of {expected.tolist()}")
