"""Arithmetic on ragged rows: consecutive segments of one long axis, without padding."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["segment_numbers", "segment_parts", "segment_softmax", "segment_sum"]


def segment_numbers(lengths: Tensor) -> Tensor:
    """Number of the segment of every row: lengths ``[2, 0, 1]`` give ``[0, 0, 2]``.

    Parameters
    ----------
    lengths : Tensor of int64, shape (n_segments,)

    Returns
    -------
    Tensor of int64, shape (n_rows,)
    """
    return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)


def segment_softmax(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Softmax over the rows of each segment.

    Parameters
    ----------
    scores : Tensor, shape (n_rows,)
    segment : Tensor of int64, shape (n_rows,)
        The segment of each row.
    n_segments : int

    Returns
    -------
    Tensor, shape (n_rows,)
        Weights that sum to 1 over each segment that has rows.
    """
    # Softmax does not change when a constant is taken off; the maximum keeps exp from overflowing.
    highest = scores.new_zeros(n_segments).scatter_reduce(
        0, segment, scores.detach(), "amax", include_self=False
    )
    exponential = torch.exp(scores - highest[segment])
    # Single precision would lose what the hundred-thousandth row adds; Apple's GPUs have no other.
    precise = scores.dtype if scores.device.type == "mps" else torch.float64
    total = scores.new_zeros(n_segments, dtype=precise)
    total = total.index_add(0, segment, exponential.to(precise)).to(scores.dtype)
    return exponential / total[segment]


def segment_sum(rows: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Sum of the rows of each segment; zero for a segment without rows.

    Parameters
    ----------
    rows : Tensor, shape (n_rows, n_features)
    segment : Tensor of int64, shape (n_rows,)
        The segment of each row.
    n_segments : int

    Returns
    -------
    Tensor, shape (n_segments, n_features)
    """
    return rows.new_zeros(n_segments, rows.shape[1]).index_add(0, segment, rows)


def segment_parts(states: Tensor, weights: Tensor, gradient: Tensor, segment: Tensor) -> Tensor:
    """What each state brings to a linear score of the weighted sums of its segment.

    ``weights[t] * states[t] . gradient[segment[t]]``, summed over hops where there are several:
    with the weights held fixed, the parts of a segment add up to the score of its sum.

    Parameters
    ----------
    states : Tensor, shape (T, H)
    weights : Tensor, shape (T,), or (T, R) for R hops
    gradient : Tensor, shape (N, H), or (N, R * H) for R hops
        Of the score, with respect to each weighted sum.
    segment : Tensor of int64, shape (T,)
        The segment of each state.

    Returns
    -------
    Tensor, shape (T,)
    """
    weights = weights if weights.dim() == 2 else weights.unsqueeze(1)  # (T, R)
    of_state = gradient.view(len(gradient), weights.shape[1], states.shape[1])[segment]  # (T, R, H)
    return (weights * (of_state @ states.unsqueeze(2)).squeeze(2)).sum(1)
