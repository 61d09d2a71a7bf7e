"""Choice of the body of a layer: kernels compiled by Numba, or PyTorch's operations."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from sk_han.engines.loading import kernels
from sk_han.nn.engines import compiled
from sk_han.nn.engines.attention import AttentionFunction
from sk_han.nn.engines.compiled import (
    CompiledAttention,
    CompiledGRU,
    CompiledProjection,
)
from sk_han.nn.engines.recurrence import GRURecurrence
from sk_han.nn.ragged.layout import PackedLayout

__all__ = ["attention", "gru_states", "kernels_for", "projections"]


def kernels_for(name: str, tensor: Tensor) -> ModuleType | None:
    """Return compiled kernels if they cover a tensor: single precision, on the CPU."""
    covered = tensor.dtype == torch.float32 and tensor.device.type == "cpu"
    return kernels(name) if covered and not torch.compiler.is_compiling() else None


def projections(inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Project inputs for both directions.

    Parameters
    ----------
    inputs : Tensor, shape (U, E)
    weight : Tensor, shape (2, G, E)
    bias : Tensor, shape (2, G)

    Returns
    -------
    Tensor, shape (2, U, G)
        ``inputs @ weight[d].T + bias[d]`` for both directions ``d``.
    """
    found = kernels_for("projection", inputs)
    if found is not None and not torch.is_grad_enabled():
        return compiled.project(inputs, weight, bias, found)
    if found is not None:
        projected: Tensor = CompiledProjection.apply(inputs, weight, bias, found)
        return projected
    return torch.baddbmm(bias.unsqueeze(1), inputs.expand(2, -1, -1), weight.transpose(1, 2))


def gru_states(
    projected: Tensor,
    weight: Tensor,
    bias: Tensor,
    index: Tensor,
    layout: PackedLayout,
    initial: Tensor | None,
) -> Tensor:
    """Compute the states of a bidirectional GRU; arguments as of `GRURecurrence`."""
    found = kernels_for("gru", projected)
    arguments = projected, weight, bias, index, layout, initial
    if found is not None and not torch.is_grad_enabled():
        return compiled.recur(*arguments, found)[0]
    states: Tensor
    if found is not None:
        states = CompiledGRU.apply(*arguments, found)
    else:
        states = GRURecurrence.apply(*arguments)
    return states


def attention(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    context: Tensor,
    lengths: Tensor,
    query: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Pool states by attention; arguments as of `AttentionFunction`."""
    found = kernels_for("attention", states) if query is None else None
    if found is not None and not torch.is_grad_enabled():
        return compiled.attend(states, weight, bias, context, lengths, found)[:2]
    pooled: Tensor
    weights: Tensor
    if found is not None:
        pooled, weights = CompiledAttention.apply(states, weight, bias, context, lengths, found)
    else:
        pooled, weights = AttentionFunction.apply(states, weight, bias, context, lengths, query)
    return pooled, weights
