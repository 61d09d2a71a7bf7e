"""Layers whose forward and backward pass are kernels compiled by Numba, as autograd functions."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.engines import arrays
from sk_han.engines.arrays import Attended, Recurred
from sk_han.engines.loading import kernels

__all__ = ["attention", "gru_states", "kernels_for", "projections", "update_rows"]


def kernels_for(name: str, tensor: Tensor) -> ModuleType | None:
    """Return compiled kernels if they cover a tensor: single precision, on the CPU."""
    covered = tensor.dtype == torch.float32 and tensor.device.type == "cpu"
    return kernels(name) if covered and not torch.compiler.is_compiling() else None


def projections(found: ModuleType, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Project inputs for both directions; arguments as of `arrays.project`."""
    if not torch.is_grad_enabled():
        return _projected(found, inputs, weight, bias)
    projected: Tensor = _Projection.apply(inputs, weight, bias, found)
    return projected


def gru_states(
    found: ModuleType,
    projected: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    lengths: Tensor,
    initial: Tensor | None,
) -> Tensor:
    """Compute the states of a bidirectional GRU; arguments as of `arrays.recur`."""
    arguments = projected, weight, bias, index, lengths, initial
    if not torch.is_grad_enabled():
        return torch.from_numpy(_recurred(found, *arguments, keep=False).states)
    states: Tensor = _GRU.apply(*arguments, found)
    return states


def attention(
    found: ModuleType,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    context: Tensor,
    lengths: Tensor,
) -> tuple[Tensor, Tensor]:
    """Pool states by attention; arguments as of `arrays.attend`. Return pooled and weights."""
    arguments = states, weight, bias, context, lengths
    if not torch.is_grad_enabled():
        attended = _attended(found, *arguments, keep=False)
        return torch.from_numpy(attended.pooled), torch.from_numpy(attended.weights)
    both: tuple[Tensor, Tensor] = _Attention.apply(*arguments, found)
    return both


def update_rows(
    found: ModuleType,
    table: Tensor,
    mean: Tensor,
    square: Tensor,
    rows: Tensor,
    grad: Tensor,
    settings: list[float],
) -> None:
    """Update rows of a table in place by AdamW; arguments as of `arrays.update_rows`."""
    arrays.update_rows(
        found,
        _array(table),
        _array(mean),
        _array(square),
        _array(rows),
        _array(grad),
        settings,
        usual_threads=torch.get_num_threads(),
    )


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, found: ModuleType
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.kernels = found
        return _projected(found, inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        of_inputs, of_weight, of_bias = arrays.project_gradients(
            ctx.kernels,
            _array(grad),
            _array(inputs),
            _array(weight),
            usual_threads=torch.get_num_threads(),
        )
        return torch.from_numpy(of_inputs), _sum(of_weight), _sum(of_bias), None


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        weight: Tensor,
        bias: Tensor,
        index: Tensor,
        lengths: Tensor,
        initial: Tensor | None,
        found: ModuleType,
    ) -> Tensor:
        keep = any(ctx.needs_input_grad)
        recurred = _recurred(found, projected, weight, bias, index, lengths, initial, keep=keep)
        states = torch.from_numpy(recurred.states)
        # Saved as tensors, not on `ctx`: a chunk that is computed again keeps none of them.
        gates = None if recurred.gates is None else torch.from_numpy(recurred.gates)
        ctx.save_for_backward(weight, index, initial, states, gates)
        ctx.sequences, ctx.n_distinct, ctx.kernels = recurred.sequences, projected.shape[1], found
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, index, initial, states, gates = ctx.saved_tensors
        of_projected, of_weight, of_bias, of_initial = arrays.recur_gradients(
            ctx.kernels,
            _array(grad),
            _array(states),
            _array(gates),
            _array(weight),
            _array(index),
            ctx.sequences,
            None if initial is None else _array(initial),
            ctx.n_distinct,
            usual_threads=torch.get_num_threads(),
        )
        # The largest gradient is not copied if it is that of one chunk.
        of_inputs = torch.from_numpy(of_projected)
        of_inputs = of_inputs[0] if len(of_inputs) == 1 else of_inputs.sum(0)
        of_start = None if of_initial is None else torch.from_numpy(of_initial)
        return of_inputs, _sum(of_weight), _sum(of_bias), None, None, of_start, None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        context: Tensor,
        lengths: Tensor,
        found: ModuleType,
    ) -> tuple[Tensor, Tensor]:
        keep = any(ctx.needs_input_grad)
        attended = _attended(found, states, weight, bias, context, lengths, keep=keep)
        weights = torch.from_numpy(attended.weights)
        hidden = None if attended.hidden is None else torch.from_numpy(attended.hidden)
        ctx.save_for_backward(states, weight, context, weights, hidden)
        ctx.starts, ctx.bounds, ctx.kernels = attended.starts, attended.bounds, found
        return torch.from_numpy(attended.pooled), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, context, weights, hidden = ctx.saved_tensors
        of_states, of_weight, of_bias, of_context = arrays.attend_gradients(
            ctx.kernels,
            _array(grad),
            _array(grad_weights),
            _array(states),
            _array(weight),
            _array(context),
            _array(weights),
            _array(hidden),
            ctx.starts,
            ctx.bounds,
            usual_threads=torch.get_num_threads(),
        )
        gradients = torch.from_numpy(of_states), _sum(of_weight), _sum(of_bias), _sum(of_context)
        return *gradients, None, None


def _projected(found: ModuleType, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    own = _array(weight), _array(bias)
    threads = torch.get_num_threads()
    return torch.from_numpy(arrays.project(found, _array(inputs), *own, usual_threads=threads))


def _recurred(
    found: ModuleType,
    projected: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    lengths: Tensor,
    initial: Tensor | None,
    *,
    keep: bool,
) -> Recurred:
    return arrays.recur(
        found,
        _array(projected),
        _array(weight),
        _array(bias),
        _array(index),
        _array(lengths),
        None if initial is None else _array(initial),
        keep=keep,
        usual_threads=torch.get_num_threads(),
    )


def _attended(
    found: ModuleType,
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    context: Tensor,
    lengths: Tensor,
    *,
    keep: bool,
) -> Attended:
    return arrays.attend(
        found,
        _array(states),
        _array(weight),
        _array(bias),
        _array(context),
        _array(lengths),
        keep=keep,
        usual_threads=torch.get_num_threads(),
    )


def _array(tensor: Tensor) -> NDArray[Any]:
    """Return the numbers as an array that shares memory."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: NDArray[Any] = tensor.numpy()
    return array


def _sum(parts: NDArray[Any]) -> Tensor:
    """Add up what the chunks of the work found."""
    return torch.from_numpy(parts).sum(0)
