"""The order in which a recurrence visits ragged sequences: longest first, step by step."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["PackedLayout", "packed_layout"]


class PackedLayout(NamedTuple):
    """Positions of the tokens of N sequences that a recurrence processes step by step.

    Sequences are sorted by falling length, so that at step ``t`` the first ``active[t]`` of them
    have a token. Packed rows are ordered by step, then by sequence, as in
    `torch.nn.utils.rnn.PackedSequence`.

    Attributes
    ----------
    forward_token : Tensor of int64, shape (n_tokens,)
        The token of each packed row in the forward direction.
    backward_token : Tensor of int64, shape (n_tokens,)
        The same in the backward direction.
    forward_row, backward_row : Tensor of int64, shape (n_tokens,)
        The inverse: the packed row of each token.
    previous_row : Tensor of int64, shape (n_tokens,)
        Row of the state before each packed row, in a table that starts with ``active[0]``
        initial states.
    active : list of int
        Number of sequences that have a token at each step.
    order : Tensor of int64, shape (n_sequences,)
        The sequences, the longest first.
    """

    forward_token: Tensor
    backward_token: Tensor
    forward_row: Tensor
    backward_row: Tensor
    previous_row: Tensor
    active: list[int]
    order: Tensor


def packed_layout(lengths: Tensor) -> PackedLayout:
    """Compute the layout of concatenated sequences of these lengths.

    Parameters
    ----------
    lengths : Tensor of int64 on the CPU, shape (n_sequences,)
        Zero is allowed: such a sequence has no rows.

    Returns
    -------
    PackedLayout
    """
    n_tokens = int(lengths.sum())
    longest_first, order = torch.sort(lengths, descending=True, stable=True)
    starts = (torch.cumsum(lengths, 0) - lengths)[order]
    n_steps = int(longest_first[0]) if len(lengths) else 0
    # A sequence is active at step t if it is longer than t.
    active = torch.searchsorted(-longest_first, -torch.arange(n_steps, device="cpu"), right=False)
    step_starts = torch.cumsum(active, 0) - active

    step = torch.repeat_interleave(torch.arange(n_steps, device="cpu"), active)
    sequence = torch.arange(n_tokens, device="cpu") - step_starts[step]
    forward_token = starts[sequence] + step
    backward_token = starts[sequence] + longest_first[sequence] - 1 - step

    row = torch.arange(n_tokens, device="cpu")
    forward_row = torch.empty_like(row)
    forward_row[forward_token] = row
    backward_row = torch.empty_like(row)
    backward_row[backward_token] = row

    n_initial = int(active[0]) if n_steps else 0
    # Step t continues the first active[t] states of step t - 1; step 0 the initial ones.
    previous_starts = torch.cat([step_starts.new_zeros(1), n_initial + step_starts])[:-1]
    previous_row = previous_starts[step] + sequence
    return PackedLayout(
        forward_token,
        backward_token,
        forward_row,
        backward_row,
        previous_row,
        active.tolist(),
        order,
    )
