"""Additive attention over ragged sequences with a hand-written backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

from sk_han.nn.engines.buffers import scratch
from sk_han.nn.engines.tanh import tanh_
from sk_han.nn.ragged.segments import segment_numbers, segment_softmax

__all__ = ["AttentionFunction"]


class AttentionFunction(torch.autograd.Function):
    """Attention pooling by the equations of `AttentionPooling`, with fewer passes over memory.

    ``AttentionFunction.apply(states, weight, bias, context, lengths, query)`` takes states of shape
    (T, H) and a query of shape (N, A) or None. It returns the pooled states of shape (N, H) and
    the weights of shape (T,).
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        context: Tensor,
        lengths: Tensor,
        query: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Compute weights and sums; `embedding_bag` needs no array of weighted rows."""
        segment = segment_numbers(lengths)
        u = torch.addmm(bias, states, weight.T)  # (T, A)
        if query is not None:
            u += query[segment]
        tanh_(u)
        weights = segment_softmax(u @ context, segment, len(lengths))  # (T,)
        starts = torch.cumsum(lengths, 0) - lengths
        pooled = embedding_bag(
            torch.arange(len(states), device=states.device),
            states,
            starts,
            mode="sum",
            per_sample_weights=weights,
        )  # (N, H)
        ctx.save_for_backward(states, weight, context, u, weights, segment)
        return pooled, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of sum, softmax, context vector, tanh and projection."""
        states, weight, context, u, weights, segment = ctx.saved_tensors
        # The gradient of each state's sequence, (T, H).
        grad_pooled = scratch("grad_pooled", tuple(states.shape), grad)
        torch.index_select(grad, 0, segment, out=grad_pooled)
        product = scratch("product", tuple(states.shape), grad)
        grad_weights = torch.mul(grad_pooled, states, out=product).sum(1) + grad_weights  # (T,)
        mean = grad.new_zeros(len(grad)).index_add_(0, segment, weights * grad_weights)  # (N,)
        grad_score = weights * (grad_weights - mean[segment])  # (T,)
        grad_u = scratch("grad_u", tuple(u.shape), grad)
        torch.mul(u, u, out=grad_u).neg_().add_(1)
        grad_u.mul_(context).mul_(grad_score.unsqueeze(1))  # (T, A): before the tanh
        grad_states = torch.addmm(grad_pooled.mul_(weights.unsqueeze(1)), grad_u, weight)
        grad_query = None
        if ctx.needs_input_grad[5]:
            grad_query = grad.new_zeros(len(grad), u.shape[1]).index_add_(0, segment, grad_u)
        return grad_states, grad_u.T @ states, grad_u.sum(0), grad_score @ u, None, grad_query
