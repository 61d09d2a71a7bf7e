"""Layers whose forward and backward pass are kernels compiled by Numba, as autograd functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.engines import arrays
from sk_han.engines.engine_choice import kernels

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
    states: Tensor = _GRU.apply(*arguments)
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


class _GRU(torch.autograd.Function):
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
