"""Operations on ragged sequences: concatenated without padding, and described by their lengths."""

from __future__ import annotations

import torch
from torch import Tensor


class PackedLayout:
    """Order in which a recurrent network reads the tokens of N sequences of lengths (N,).

    Sequences are sorted by falling length, so that at step ``t`` the first ``active[t]`` of them
    have a token. Rows are sorted by step, then by sequence, as in
    `torch.nn.utils.rnn.PackedSequence`. All tensors are on the CPU.
    """

    def __init__(self, lengths: Tensor) -> None:
        self.lengths = lengths
        self.n_filled = int((lengths > 0).sum())  # sequences with a token, the first of `order`
        self.order = torch.sort(lengths, descending=True, stable=True).indices  # (N,)
        starts, lengths = (torch.cumsum(lengths, 0) - lengths)[self.order], lengths[self.order]
        steps = torch.arange(int(lengths[0]) if len(lengths) else 0, device="cpu")
        # A sequence is active at step t if it is longer than t.
        active = torch.searchsorted(-lengths, -steps, right=False)
        self.active: list[int] = active.tolist()
        # For each row, (T,): its step, and the place of its sequence among those of the step.
        step = torch.repeat_interleave(steps, active)
        row = torch.arange(len(step), device="cpu")
        place = row - (torch.cumsum(active, 0) - active)[step]
        # The token of each row, forwards and backwards, (T,), and the row of each token.
        self.forward_token = starts[place] + step
        self.backward_token = starts[place] + lengths[place] - 1 - step
        self.forward_row, self.backward_row = torch.empty_like(row), torch.empty_like(row)
        self.forward_row[self.forward_token] = row
        self.backward_row[self.backward_token] = row


def check_lengths(lengths: Tensor, n_rows: int) -> None:
    """Raise ValueError if a length is negative, or if they do not sum to `n_rows`."""
    if int(lengths.sum()) != n_rows or bool((lengths < 0).any()):
        raise ValueError(
            f"lengths must be at least 0 and add up to {n_rows} tokens; got {lengths.tolist()}."
        )


def segment_numbers(lengths: Tensor) -> Tensor:
    """Return the segment number of each row; lengths ``[2, 0, 1]`` give ``[0, 0, 2]``."""
    return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)


def segment_softmax(scores: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Compute the softmax of scores (n_rows,) over each segment.

    `segment`, here and below, is the number of the segment of each row; it never decreases.
    """
    # Subtracting a constant does not change softmax; without the maximum, exp would overflow.
    highest = scores.new_zeros(n_segments).scatter_reduce(
        0, segment, scores.detach(), "amax", include_self=False
    )
    exponential = torch.exp(scores - highest[segment])
    # A sum of 100,000 rows needs double precision, which Apple's GPUs do not have.
    precise = scores.dtype if scores.device.type == "mps" else torch.float64
    total = segment_sum(exponential.to(precise).unsqueeze(1), segment, n_segments).squeeze(1)
    return exponential / total.to(scores.dtype)[segment]


def segment_sum(rows: Tensor, segment: Tensor, n_segments: int) -> Tensor:
    """Add up the rows (n_rows, F) of each segment, (n_segments, F); zero for one without rows."""
    # On a GPU `scatter_add` adds in a different order each time, so that a seed would not give the
    # same bits.
    if rows.is_cuda:
        starts = torch.searchsorted(segment, torch.arange(n_segments + 1, device=rows.device))
        return torch.segment_reduce(
            rows.contiguous(), "sum", offsets=starts, axis=0, initial=0, unsafe=True
        )
    sums = rows.new_zeros(n_segments, rows.shape[1])
    # `index_add` computes the same, but takes five times as long on the CPU.
    return sums.scatter_add(0, segment.unsqueeze(1).expand_as(rows), rows)


def sequence_ends(lengths: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the nonempty segments, and the first and last row of each, (n_filled,) each."""
    filled = lengths.nonzero().squeeze(1)
    last = (torch.cumsum(lengths, 0) - 1)[filled]
    first = last + 1 - lengths[filled]
    return filled.to(device), first.to(device), last.to(device)
