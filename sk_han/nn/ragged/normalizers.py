"""Attention weights with exact zeros: sparsemax and 1.5-entmax over ragged rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.ragged.segments import segment_softmax

__all__ = ["NORMALIZERS", "segment_entmax15", "segment_sparsemax"]


def segment_sparsemax(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Sparsemax over the rows of each segment: ``p = max(z - tau, 0)``, where tau makes the sum 1.

    It is the point of the simplex next to the scores (Martins and Astudillo, 2016).

    Parameters
    ----------
    scores : Tensor, shape (n_rows,)
    segment : Tensor of int64, shape (n_rows,)
        The segment of each row.
    n_segments : int

    Returns
    -------
    Tensor, shape (n_rows,)
        Weights that sum to 1 over each segment that has rows; exactly 0 for a score that is 1 or
        more below the highest. A score that is no number makes weights of its segment none.

    References
    ----------
    Martins, Astudillo (2016). From Softmax to Sparsemax: A Sparse Model of Attention and
    Multi-Label Classification. ICML.
    """
    weights: Tensor = _Sparsemax.apply(scores, segment, n_segments)
    return weights


def segment_entmax15(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """1.5-entmax over the rows of each segment: ``p = max(z / 2 - tau, 0)^2``, with the sum 1.

    Between softmax and sparsemax, and smooth where a weight becomes 0 (Peters et al., 2019).

    Parameters
    ----------
    scores, segment, n_segments
        As of `segment_sparsemax`.

    Returns
    -------
    Tensor, shape (n_rows,)
        As of `segment_sparsemax`; exactly 0 for a score that is 2 or more below the highest.

    References
    ----------
    Peters, Niculae, Martins (2019). Sparse Sequence-to-Sequence Models. ACL.
    """
    weights: Tensor = _Entmax15.apply(scores, segment, n_segments)
    return weights


NORMALIZERS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "softmax": segment_softmax,
    "sparsemax": segment_sparsemax,
    "entmax15": segment_entmax15,
}


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
        weights = _above_threshold(scores, segment, n_segments, lambda mean, _, k: mean - 1 / k)
        ctx.save_for_backward(weights, segment)
        ctx.n_segments = n_segments
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        weights, segment = ctx.saved_tensors
        return _centred(grad, (weights > 0).to(grad), segment, ctx.n_segments), None, None


class _Entmax15(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
        root = _above_threshold(
            scores / 2,
            segment,
            n_segments,
            lambda mean, spread, k: mean - ((1 - spread) / k).clamp(min=0).sqrt(),
        )
        ctx.save_for_backward(root, segment)
        ctx.n_segments = n_segments
        return root.square()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        root, segment = ctx.saved_tensors
        return _centred(grad, root, segment, ctx.n_segments), None, None


def _above_threshold(
    scores: Tensor,
    segment: Tensor,
    n_segments: int,
    threshold_of: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    """Give ``max(z - tau, 0)`` for the threshold tau of each segment, shape (n_rows,).

    The support holds the highest k scores of a segment. `threshold_of` their mean, the sum of
    their squared distances from it, and k is what tau would be, and the right k is the last one
    whose score is above it.
    """
    device = scores.device
    # One running sum goes through all segments, which single precision would not bear. Apple's
    # GPUs have no other.
    where = torch.device("cpu") if device.type == "mps" else device
    z, segment = scores.to(where, torch.float64), segment.to(where)
    highest = z.new_zeros(n_segments).scatter_reduce(0, segment, z, "amax", include_self=False)
    z = z - highest[segment]
    # No threshold is more than 1 below the highest score. Scores far below would blur the sums,
    # and one that is no number would spoil those of other segments.
    bounded = z.clamp(min=-2).nan_to_num(nan=0)

    order = torch.argsort(bounded, descending=True)
    order = order[torch.argsort(segment[order], stable=True)]
    bounded, owner = bounded[order], segment[order]
    lengths = torch.zeros_like(highest, dtype=torch.int64)
    lengths = lengths.index_add(0, owner, torch.ones_like(owner))  # (n_segments,)
    starts = torch.cumsum(lengths, 0) - lengths
    first = starts[owner]
    k = torch.arange(1, len(z) + 1, dtype=z.dtype, device=where) - first  # (n_rows,)
    mean = _running_sum(bounded, first) / k
    spread = _running_sum(bounded.square(), first) - k * mean.square()
    threshold = threshold_of(mean, spread, k)
    size = torch.zeros_like(lengths).index_add(0, owner, (bounded > threshold).long())
    tau = threshold[(starts + size - 1)[segment]]  # (n_rows,)
    return (z - tau).clamp(min=0).to(device, scores.dtype)


def _running_sum(values: Tensor, first: Tensor) -> Tensor:
    """Sum from the first row of each row's segment up to it."""
    total = torch.cumsum(values, 0)
    return total - (total - values)[first]


def _centred(grad: Tensor, share: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Take the segment's mean by `share` off the gradient, and scale by `share`: both backwards.

    The shares are 1 on the support for sparsemax, the square roots of the weights for 1.5-entmax.
    """
    sums = grad.new_zeros(n_segments, 2).index_add(
        0, segment, torch.stack([share * grad, share], dim=1)
    )
    mean = sums[:, 0] / sums[:, 1]  # (n_segments,)
    return share * (grad - mean[segment])
