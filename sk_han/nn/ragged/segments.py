"""Arithmetic on ragged rows: consecutive segments of one long axis, without padding."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = [
    "segment_attributions",
    "segment_numbers",
    "segment_softmax",
    "segment_sum",
    "sequence_ends",
]


def segment_numbers(lengths: Tensor) -> Tensor:
    """Return the number of the segment of every row: lengths ``[2, 0, 1]`` give ``[0, 0, 2]``.

    Parameters
    ----------
    lengths : Tensor of int64, shape (n_segments,)

    Returns
    -------
    Tensor of int64, shape (n_rows,)
    """
    return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)


def segment_softmax(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Compute the softmax over the rows of each segment.

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
    # Subtracting a constant does not change softmax; without the maximum, exp would overflow.
    highest = scores.new_zeros(n_segments).scatter_reduce(
        0, segment, scores.detach(), "amax", include_self=False
    )
    exponential = torch.exp(scores - highest[segment])
    # A sum of 100,000 rows needs double precision, which Apple's GPUs do not have.
    precise = scores.dtype if scores.device.type == "mps" else torch.float64
    total = scores.new_zeros(n_segments, dtype=precise)
    total = total.index_add(0, segment, exponential.to(precise)).to(scores.dtype)
    return exponential / total[segment]


def segment_sum(rows: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Compute the sum of the rows of each segment; zero for a segment without rows.

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
    sums = rows.new_zeros(n_segments, rows.shape[1])
    # As `index_add`, which takes row by row on the CPU, and five times as long.
    return sums.scatter_add(0, segment.unsqueeze(1).expand_as(rows), rows)


def segment_attributions(
    states: Tensor, weights: Tensor, gradient: Tensor, segment: Tensor
) -> Tensor:
    """Compute the contribution of each state to a linear score of the weighted sums of its segment.

    ``sum_r weights[t, r] * states[t] . gradient[segment[t], r]``: with the weights held fixed, the
    contributions of a segment add up to the score of its sum.

    Parameters
    ----------
    states : Tensor, shape (T, H)
    weights : Tensor, shape (T, R)
        Of R weighted sums side by side.
    gradient : Tensor, shape (N, R * H)
        Of the score, with respect to the weighted sums.
    segment : Tensor of int64, shape (T,)
        The segment of each state.

    Returns
    -------
    Tensor, shape (T,)
    """
    gradient = gradient.view(len(gradient), weights.shape[1], states.shape[1])[segment]  # (T, R, H)
    return (weights * (gradient @ states.unsqueeze(2)).squeeze(2)).sum(1)


def sequence_ends(lengths: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Find the first and the last row of each segment that has rows.

    Parameters
    ----------
    lengths : Tensor of int64, shape (n_segments,)
    device : torch.device
        Device of the result.

    Returns
    -------
    filled : Tensor of int64, shape (n_filled,)
        The segments that have rows.
    first, last : Tensor of int64, shape (n_filled,)
    """
    filled = lengths.nonzero().squeeze(1)
    last = (torch.cumsum(lengths, 0) - 1)[filled]
    first = last + 1 - lengths[filled]
    return filled.to(device), first.to(device), last.to(device)
