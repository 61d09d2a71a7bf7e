"""The recurrence of a bidirectional GRU over ragged sequences, with a hand-written backward.

`torch.nn.GRU` on the CPU runs the two directions one after the other and records every gate for
autograd. Here both directions are one batched product a step, and repeated words share their
input projections. The backward needs an addition, two products and one matrix product a step.
This is 2.5 times as fast as the recurrence under plain autograd (``benchmarks/training_speed.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.engines.buffers import lasting, scratch
from sk_han.nn.engines.tanh import tanh_
from sk_han.nn.ragged.layout import PackedLayout

__all__ = ["GRURecurrence"]

STEPS_A_BLOCK = 256


class GRURecurrence(torch.autograd.Function):
    """States of a bidirectional GRU from the projections of its distinct inputs.

    ``GRURecurrence.apply(projected, weight, bias, index, layout, initial)`` follows the equations
    of `torch.nn.GRU` (r, z: reset and update gate, n: candidate)::

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
        The distinct input of each token.
    layout : PackedLayout of T tokens
    initial : Tensor, shape (2, layout.n_filled, H), or None
        States before the first token of each direction, the longest sequence first; None for zeros.

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
        initial: Tensor | None,
    ) -> Tensor:
        """Compute the states; gates and candidates overwrite the gathered projections."""
        _, U, H3 = projected.shape
        H, T = H3 // 3, len(index)
        n_initial = layout.n_filled
        keep = any(ctx.needs_input_grad)
        gates = _memory("gates", (2, T, 2 * H), projected, keep)
        candidate = _memory("candidate", (2, T, H), projected, keep)
        scaled = _memory("scaled", (2, T, H), projected, keep)  # h V_n + c_n, which r scales
        states = _memory("states", (2, n_initial + T, H), projected, keep)

        rows = torch.cat([index[layout.forward_token], index[layout.backward_token] + U])  # (2T,)
        flat = projected.view(2 * U, H3)
        torch.index_select(flat[:, : 2 * H], 0, rows, out=gates.view(2 * T, 2 * H))
        torch.index_select(flat[:, 2 * H :], 0, rows, out=candidate.view(2 * T, H))
        weight_gates = weight[:, :, : 2 * H].contiguous()
        weight_candidate = weight[:, :, 2 * H :].contiguous()
        states[:, :n_initial] = 0 if initial is None else initial
        before = states[:, :n_initial]
        steps = _steps(
            layout.active,
            gates,
            gates[:, :, :H],
            gates[:, :, H:],
            candidate,
            scaled,
            states[:, n_initial:],
        )
        for n, (rz, r, z, c, rc, after) in zip(layout.active, steps, strict=True):
            h = before[:, :n]
            rz.baddbmm_(h, weight_gates).sigmoid_()
            torch.baddbmm(bias, h, weight_candidate, out=rc)
            tanh_(c.addcmul_(r, rc))
            torch.lerp(c, h, z, out=after)
            before = after

        ctx.save_for_backward(weight, rows, gates, candidate, scaled, states)
        ctx.layout, ctx.n_distinct = layout, U
        forward, backward = states[:, n_initial:]
        output = projected.new_empty(T, 2 * H)
        output[:, :H] = forward.index_select(0, layout.forward_row)
        output[:, H:] = backward.index_select(0, layout.backward_row)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through the steps, from the last to the first."""
        weight, rows, gates, candidate, scaled, states = ctx.saved_tensors
        layout: PackedLayout = ctx.layout
        _, T, H = candidate.shape
        before = scratch("before", (2, T, H), grad)  # h_{t-1} of each row
        torch.index_select(states, 1, layout.previous_row, out=before)
        dh = scratch("dh", (2, T, H), grad)
        torch.index_select(grad[:, :H], 0, layout.forward_token, out=dh[0])
        torch.index_select(grad[:, H:], 0, layout.backward_token, out=dh[1])
        dx = scratch("dx", (2, T, 3 * H), grad)  # of r, z and the recurrent part of n
        weight_transposed = weight.transpose(1, 2).contiguous()
        carried = None
        steps = _steps(
            layout.active,
            gates[:, :, :H],
            gates[:, :, H:],
            candidate,
            scaled,
            before,
            dh,
            dx,
            backwards=True,
        )
        for r, z, c, rc, h, d, dx_step in steps:
            if carried is not None:
                d[:, : carried.shape[1]].add_(carried)
            kept = z * d
            d.sub_(kept).addcmul_(d, c * c, value=-1)  # (1 - z) (1 - n^2) dh: before the tanh
            dr, dz, dn = dx_step.split(H, dim=2)
            torch.mul(d, r, out=dn)
            torch.mul(rc * dn, 1 - r, out=dr)
            torch.mul(h - c, kept - kept * z, out=dz)
            carried = torch.baddbmm(kept, dx_step, weight_transposed)

        grad_weight = torch.bmm(before.transpose(1, 2), dx)
        grad_bias = dx[:, :, 2 * H :].sum(1, keepdim=True)
        dx[:, :, 2 * H :] = dh  # the reset gate does not scale the input's part of the candidate
        grad_projected = grad.new_zeros(2 * ctx.n_distinct, 3 * H)
        grad_projected.index_add_(0, rows, dx.view(2 * T, 3 * H))
        grad_projected = grad_projected.view(2, ctx.n_distinct, 3 * H)
        grad_initial = carried if ctx.needs_input_grad[5] else None
        return grad_projected, grad_weight, grad_bias, None, None, grad_initial


def _memory(name: str, shape: tuple[int, ...], like: Tensor, keep: bool) -> Tensor:
    """Return new memory if the backward needs it later, and scratch otherwise."""
    return lasting(shape, like) if keep else scratch(name, shape, like)


def _steps(
    active: list[int], *rows: Tensor, backwards: bool = False
) -> Iterator[tuple[Tensor, ...]]:
    """Yield views of the rows of each step, from the first or from the last.

    Making a single view costs as much as a small product; all views of a sentence of a million
    words take gigabytes. So views are made in blocks of some hundred steps.
    """
    blocks = range(0, len(active), STEPS_A_BLOCK)
    starts = list(accumulate((sum(active[b : b + STEPS_A_BLOCK]) for b in blocks), initial=0))
    for number in reversed(range(len(blocks))) if backwards else range(len(blocks)):
        lengths = active[blocks[number] : blocks[number] + STEPS_A_BLOCK]
        block = slice(starts[number], starts[number + 1])
        views = list(zip(*(each[:, block].split(lengths, dim=1) for each in rows), strict=True))
        yield from reversed(views) if backwards else views
