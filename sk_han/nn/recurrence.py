"""The recurrence of a bidirectional GRU over ragged sequences, with a backward written by hand.

`torch.nn.GRU` on the CPU runs the two directions one after the other and records every gate for
autograd. Here both directions are one batched product a step, the input projections of repeated
words are shared, and the backward needs an addition, two products and one matrix product a step:
2.5 times the speed of the same recurrence under plain autograd (``benchmarks/training_speed.py``).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.layout import PackedLayout

__all__ = ["GRURecurrence"]


class GRURecurrence(torch.autograd.Function):
    """States of a bidirectional GRU from the projections of its distinct inputs.

    ``GRURecurrence.apply(projected, weight, bias, index, layout)`` follows the equations of
    `torch.nn.GRU` (r, z: reset and update gate, n: candidate)::

        r_t, z_t = sigmoid(x_t W_rz + h_{t-1} V_rz + b_rz)
        n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} V_n + c_n))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    Parameters
    ----------
    projected : Tensor, shape (2, U, 3H)
        ``x W + b`` of each distinct input for both directions; gates in the order r, z, n.
    weight : Tensor, shape (2, H, 3H)
        ``V``, the recurrent weights.
    bias : Tensor, shape (2, 1, H)
        ``c_n``, the recurrent bias inside the candidate.
    index : Tensor of int64, shape (T,)
        The distinct input that stands at each token.
    layout : PackedLayout of T tokens

    Returns
    -------
    Tensor, shape (T, 2H)
        Forward and backward state of each token.
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        weight: Tensor,
        bias: Tensor,
        index: Tensor,
        layout: PackedLayout,
    ) -> Tensor:
        """Run the recurrence; gates and candidates overwrite the gathered projections."""
        _, U, H3 = projected.shape
        H, T = H3 // 3, len(index)
        rows = torch.cat([index[layout.forward_token], index[layout.backward_token] + U])  # (2T,)
        flat = projected.view(2 * U, H3)
        gates = flat[:, : 2 * H].index_select(0, rows).view(2, T, 2 * H)
        candidate = flat[:, 2 * H :].index_select(0, rows).view(2, T, H)

        n_initial = layout.active[0] if layout.active else 0
        states = projected.new_empty(2, n_initial + T, H)
        states[:, :n_initial] = 0
        recurrent_candidate = projected.new_empty(2, T, H)  # h V_n + c_n, which r scales
        weight_gates = weight[:, :, : 2 * H].contiguous()
        weight_candidate = weight[:, :, 2 * H :].contiguous()
        previous = states[:, :n_initial]
        start = 0
        for n in layout.active:
            end = start + n
            h = previous[:, :n]
            rz = gates[:, start:end].baddbmm_(h, weight_gates).sigmoid_()
            rc = torch.baddbmm(bias, h, weight_candidate, out=recurrent_candidate[:, start:end])
            c = candidate[:, start:end].addcmul_(rz[:, :, :H], rc).tanh_()
            previous = states[:, n_initial + start : n_initial + end]
            torch.lerp(c, h, rz[:, :, H:], out=previous)
            start = end

        ctx.save_for_backward(weight, rows, gates, candidate, recurrent_candidate, states)
        ctx.layout, ctx.n_distinct = layout, U
        flat_states = states[:, n_initial:]
        return torch.cat(
            [flat_states[0][layout.forward_row], flat_states[1][layout.backward_row]], dim=1
        )  # (T, 2H)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through the steps with factors computed beforehand for all steps at once."""
        weight, rows, gates, candidate, recurrent_candidate, states = ctx.saved_tensors
        layout: PackedLayout = ctx.layout
        _, T, H = candidate.shape
        reset, update = gates[:, :, :H], gates[:, :, H:].contiguous()
        before = states[:, layout.previous_row]  # (2, T, H): h_{t-1}
        dh = torch.stack([grad[layout.forward_token, :H], grad[layout.backward_token, H:]])

        # Each gate's gradient is dh times a factor that does not depend on dh.
        candidate_factor = (1 - update).mul_(1 - candidate * candidate)
        factors = candidate.new_empty(2, T, 3, H)
        torch.mul(candidate_factor, reset, out=factors[:, :, 2])
        torch.mul(recurrent_candidate * factors[:, :, 2], 1 - reset, out=factors[:, :, 0])
        torch.mul(before - candidate, update * (1 - update), out=factors[:, :, 1])

        recurrent_grad = factors.view(2, T, 3 * H)
        weight_transposed = weight.transpose(1, 2).contiguous()
        carried = None
        end = T
        for n in reversed(layout.active):
            start = end - n
            d = dh[:, start:end]
            if carried is not None:
                d[:, : carried.shape[1]].add_(carried)
            factors[:, start:end].mul_(d.unsqueeze(2))
            carried = torch.baddbmm(
                update[:, start:end].mul_(d), recurrent_grad[:, start:end], weight_transposed
            )
            end = start

        grad_weight = torch.bmm(before.transpose(1, 2), recurrent_grad)
        grad_bias = recurrent_grad[:, :, 2 * H :].sum(1, keepdim=True)
        # The input meets the candidate before the reset gate scales the recurrent part.
        input_grad = recurrent_grad
        torch.mul(candidate_factor, dh, out=input_grad[:, :, 2 * H :])
        grad_projected = grad.new_zeros(2 * ctx.n_distinct, 3 * H).index_add_(
            0, rows, input_grad.view(2 * T, 3 * H)
        )
        return grad_projected.view(2, ctx.n_distinct, 3 * H), grad_weight, grad_bias, None, None
