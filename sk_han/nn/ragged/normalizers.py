"""Attention weights with exact zeros: sparsemax and 1.5-entmax over ragged rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.ragged.segments import segment_softmax, segment_sum


def segment_sparsemax(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Compute sparsemax over each segment: ``p = max(z - tau, 0)``, where tau makes the sum 1.

    Exactly 0 for a score 1 or more below the highest (Martins and Astudillo, 2016). A NaN makes
    the weights (n_rows,) of its segment NaN.
    """
    weights: Tensor = _Sparse.apply(scores, segment, n_segments, False)
    return weights


def segment_entmax15(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Compute 1.5-entmax over each segment: ``p = max(z / 2 - tau, 0)^2``, with the sum 1.

    Smooth where a weight becomes 0, 2 below the highest (Peters, Niculae and Martins, 2019).
    """
    weights: Tensor = _Sparse.apply(scores, segment, n_segments, True)
    return weights


NORMALIZERS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "softmax": segment_softmax,
    "sparsemax": segment_sparsemax,
    "entmax15": segment_entmax15,
}


def normalizer_of(name: str) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return the function of this name that turns scores into weights."""
    if name not in NORMALIZERS:
        raise ValueError(f"normalizer must be one of {sorted(NORMALIZERS)}; got {name!r}.")
    return NORMALIZERS[name]


class _Sparse(torch.autograd.Function):
    """1.5-entmax if `smooth`, else sparsemax."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, segment: Tensor, n_segments: int, smooth: bool) -> Tensor:
        above = _above_threshold(scores / 2 if smooth else scores, segment, n_segments, smooth)
        ctx.save_for_backward(above if smooth else (above > 0).to(above), segment)
        ctx.n_segments = n_segments
        return above.square() if smooth else above

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The gradient less its mean over the segment, both weighted by the share.
        share, segment = ctx.saved_tensors
        rows = torch.stack([share * grad, share], dim=1)  # (n_rows, 2)
        sums = segment_sum(rows, segment, ctx.n_segments)
        mean = sums[:, 0] / sums[:, 1]  # (n_segments,)
        return share * (grad - mean[segment]), None, None, None


def _above_threshold(scores: Tensor, segment: Tensor, n_segments: int, smooth: bool) -> Tensor:
    """Compute ``max(z - tau, 0)`` with the threshold tau of each segment, shape (n_rows,).

    1. Sort the scores of each segment in falling order: ``z_1 >= z_2 >= ...``.
    2. For each k compute ``tau_k``, the threshold if exactly the k highest scores had a positive
       weight, from the mean of these and the sum of their squared distances from it (`spread`).
    3. The support, the rows of positive weight, has the size k of the last k with
       ``z_k > tau_k``. The condition holds up to there and never after, so counting finds k.
    4. Subtract ``tau = tau_k`` from all scores, and set negative results to zero.
    """
    device = scores.device
    # A cumulative sum over all segments needs double precision, which Apple's GPUs do not have.
    where = torch.device("cpu") if device.type == "mps" else device
    z, segment = scores.to(where, torch.float64), segment.to(where)
    highest = z.new_zeros(n_segments).scatter_reduce(0, segment, z, "amax", include_self=False)
    z = z - highest[segment]
    # No threshold is more than 1 below the highest score, so lower scores may be clamped: large
    # ones would cost the sums precision. A NaN would spoil the sums of other segments.
    bounded = z.clamp(min=-2).nan_to_num(nan=0)

    order = torch.argsort(bounded, descending=True)
    order = order[torch.argsort(segment[order], stable=True)]  # by segment, then by falling score
    bounded, sorted_segment = bounded[order], segment[order]
    lengths = torch.zeros_like(highest, dtype=torch.int64)
    lengths = lengths.index_add(0, sorted_segment, torch.ones_like(segment))  # (n_segments,)
    starts = torch.cumsum(lengths, 0) - lengths
    first = starts[sorted_segment]
    k = torch.arange(1, len(z) + 1, dtype=z.dtype, device=where) - first  # (n_rows,)
    mean = _segment_cumsum(bounded, first) / k
    spread = _segment_cumsum(bounded.square(), first) - k * mean.square()
    threshold = mean - (((1 - spread) / k).clamp(min=0).sqrt() if smooth else 1 / k)
    support_size = torch.zeros_like(lengths)
    support_size = support_size.index_add(0, sorted_segment, (bounded > threshold).long())
    tau = threshold[(starts + support_size - 1)[segment]]  # (n_rows,)
    return (z - tau).clamp(min=0).to(device, scores.dtype)


def _segment_cumsum(values: Tensor, first: Tensor) -> Tensor:
    """Compute the cumulative sum within each segment; `first` is the first row of each segment."""
    total = torch.cumsum(values, 0)
    return total - (total - values)[first]
