"""Layers whose forward and backward pass are kernels compiled by Numba."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.engines.chunks import (
    Sequences,
    bounds_of,
    check_lengths,
    filled_sequences,
    n_chunks,
    threads_for,
)
from sk_han.engines.tasks import run_tasks
from sk_han.nn.engines.buffers import lasting
from sk_han.nn.ragged.layout import PackedLayout

__all__ = ["CompiledAttention", "CompiledGRU", "CompiledProjection", "update_rows"]

_NONE: NDArray[np.float32] = np.empty(0, dtype=np.float32)


class CompiledProjection(torch.autograd.Function):
    """``CompiledProjection.apply(inputs, weight, bias, kernels)`` computes `projections`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, kernels: ModuleType
    ) -> Tensor:
        """Compute both products."""
        ctx.save_for_backward(inputs, weight)
        ctx.kernels = kernels
        return project(inputs, weight, bias, kernels)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of a matrix product."""
        inputs, weight = ctx.saved_tensors
        (U, E), (_, G, _) = inputs.shape, weight.shape
        threads = _threads(U)
        n = n_chunks(threads)
        grad_inputs = lasting((U, E), grad)
        grad_weight, grad_bias = grad.new_empty(n, 2, G, E), grad.new_empty(n, 2, G)
        run_tasks(
            ctx.kernels.backward,
            n,
            E,
            G,
            *map(_flat, (grad, inputs, weight, grad_inputs, grad_weight, grad_bias)),
            threads=threads,
        )
        return grad_inputs, grad_weight.sum(0), grad_bias.sum(0), None


class CompiledGRU(torch.autograd.Function):
    """``CompiledGRU.apply(projected, weight, bias, index, layout, initial, kernels)``.

    Parameters
    ----------
    projected, weight, bias, index, layout, initial
        As of `GRURecurrence`, whose states it computes.
    kernels : module
        `sk_han.engines.kernels.gru`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        weight: Tensor,
        bias: Tensor,
        index: Tensor,
        layout: PackedLayout,
        initial: Tensor | None,
        kernels: ModuleType,
    ) -> Tensor:
        """Compute the states, and keep the gates if a gradient is needed."""
        keep = any(ctx.needs_input_grad)
        arguments = projected, weight, bias, index, layout, initial
        states, gates, sequences = recur(*arguments, kernels, keep=keep)
        ctx.save_for_backward(weight, index, initial, states, gates)
        ctx.sequences, ctx.n_distinct, ctx.kernels = sequences, projected.shape[1], kernels
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through the steps."""
        weight, index, initial, states, gates = ctx.saved_tensors
        H, T, U = weight.shape[1], len(index), ctx.n_distinct
        threads = _threads(T)
        # A chunk has gradients of its own for all distinct inputs.
        bounds = bounds_of(ctx.sequences.lengths, max(1, threads // 2))
        n = len(bounds) - 1
        grad_projected = lasting((n, 2, U, 3 * H), grad)
        grad_weight, grad_bias = grad.new_empty(n, 2, H, 3 * H), grad.new_empty(n, 2, H)
        grad_initial = None if initial is None else torch.empty_like(initial)
        run_tasks(
            ctx.kernels.backward,
            2 * n,
            H,
            *map(_flat, (grad, states, gates, weight)),
            _flat(index),
            *ctx.sequences,
            bounds,
            *map(_flat, (initial, grad_projected, grad_weight, grad_bias, grad_initial)),
            threads=threads,
        )
        grad_bias = grad_bias.sum(0).unsqueeze(1)
        return _sum(grad_projected), grad_weight.sum(0), grad_bias, None, None, grad_initial, None


class CompiledAttention(torch.autograd.Function):
    """``CompiledAttention.apply(states, weight, bias, context, lengths, kernels)``.

    Parameters
    ----------
    states, weight, bias, context, lengths
        As of `AttentionFunction`, which it computes without a query.
    kernels : module
        `sk_han.engines.kernels.attention`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        context: Tensor,
        lengths: Tensor,
        kernels: ModuleType,
    ) -> tuple[Tensor, Tensor]:
        """Compute weights and sums, and keep the hidden layer if a gradient is needed."""
        keep = any(ctx.needs_input_grad)
        arguments = states, weight, bias, context, lengths
        pooled, weights, u, starts, bounds = attend(*arguments, kernels, keep=keep)
        ctx.save_for_backward(states, weight, context, weights, u)
        ctx.starts, ctx.bounds, ctx.kernels = starts, bounds, kernels
        return pooled, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of sum, softmax, context vector, tanh and projection."""
        states, weight, context, weights, u = ctx.saved_tensors
        (T, H), (A, _) = states.shape, weight.shape
        n = len(ctx.bounds) - 1
        grad_states = lasting((T, H), grad)
        grad_weight = grad.new_empty(n, A, H)
        grad_bias, grad_context = grad.new_empty(2, n, A)
        run_tasks(
            ctx.kernels.backward,
            n,
            H,
            A,
            _flat(grad),
            _flat(grad_weights.clone()),
            *map(_flat, (states, weight, context, weights, u)),
            ctx.starts,
            ctx.bounds,
            *map(_flat, (grad_states, grad_weight, grad_bias, grad_context)),
            threads=_threads(T),
        )
        gradients = grad_states, grad_weight.sum(0), grad_bias.sum(0), grad_context.sum(0)
        return *gradients, None, None


def project(inputs: Tensor, weight: Tensor, bias: Tensor, kernels: ModuleType) -> Tensor:
    """Compute `projections`."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    projected = lasting((2, U, G), inputs)
    threads = _threads(U)
    run_tasks(
        kernels.forward,
        2 * n_chunks(threads),
        E,
        G,
        *map(_flat, (inputs, weight, bias, projected)),
        threads=threads,
    )
    return projected


def recur(
    projected: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    layout: PackedLayout,
    initial: Tensor | None,
    kernels: ModuleType,
    *,
    keep: bool = False,
) -> tuple[Tensor, Tensor | None, Sequences]:
    """Compute the states of `GRURecurrence`; return them, what a backward needs, the sequences."""
    H, T = bias.shape[2], len(index)
    check_lengths(layout.lengths.numpy(), T)
    if T and not 0 <= int(index.min()) <= int(index.max()) < projected.shape[1]:
        raise IndexError(
            f"index holds {int(index.min())} to {int(index.max())}; there are "
            f"{projected.shape[1]} inputs."
        )
    sequences = filled_sequences(layout.lengths.numpy())
    threads = _threads(T)
    bounds = bounds_of(sequences.lengths, n_chunks(threads))
    states = lasting((T, 2 * H), projected)
    gates = lasting((2, T, 4 * H), projected) if keep else None
    run_tasks(
        kernels.forward,
        2 * (len(bounds) - 1),
        H,
        *map(_flat, (projected, weight, bias)),
        _flat(index),
        *sequences,
        bounds,
        *map(_flat, (initial, states, gates)),
        threads=threads,
    )
    return states, gates, sequences


def attend(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    context: Tensor,
    lengths: Tensor,
    kernels: ModuleType,
    *,
    keep: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None, NDArray[np.int64], NDArray[np.int64]]:
    """Pool states by `AttentionFunction`; return pooled, weights, hidden layer, starts, bounds."""
    (T, H), (A, _) = states.shape, weight.shape
    check_lengths(lengths.numpy(), T)
    threads = _threads(T)
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths.numpy(), out=starts[1:])
    bounds = bounds_of(lengths.numpy(), n_chunks(threads))
    pooled, weights = states.new_empty(len(lengths), H), states.new_empty(T)
    u = lasting((T, A), states) if keep else None
    run_tasks(
        kernels.forward,
        len(bounds) - 1,
        H,
        A,
        *map(_flat, (states, weight, bias, context)),
        starts,
        bounds,
        *map(_flat, (pooled, weights, u)),
        threads=threads,
    )
    return pooled, weights, u, starts, bounds


def update_rows(
    kernels: ModuleType,
    table: Tensor,
    mean: Tensor,
    square: Tensor,
    rows: Tensor,
    grad: Tensor,
    settings: list[float],
) -> None:
    """Update rows of a table in place by AdamW; arguments of `kernels.adamw.step`."""
    threads = _threads(len(rows))
    run_tasks(
        kernels.step,
        n_chunks(threads),
        table.shape[1],
        *map(_flat, (table, mean, square, rows, grad)),
        np.array(settings, dtype=np.float32),
        threads=threads,
    )


def _threads(n_rows: int) -> int:
    return threads_for(n_rows, torch.get_num_threads())


def _sum(parts: Tensor) -> Tensor:
    return parts[0] if len(parts) == 1 else parts.sum(0)


def _flat(tensor: Tensor | None) -> NDArray[Any]:
    """Return the numbers as a flat array that shares memory; an empty one for None."""
    if tensor is None:
        return _NONE
    if tensor.requires_grad:
        tensor = tensor.detach()
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    array: NDArray[Any] = tensor.numpy()
    return array.reshape(-1)
