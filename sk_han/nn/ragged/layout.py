"""The order in which a recurrence visits ragged sequences: longest first, step by step."""

from __future__ import annotations

import torch
from torch import Tensor


class PackedLayout:
    """Positions of the tokens of N sequences, of lengths (N,), processed step by step on the CPU.

    Sequences are sorted by falling length, so that at step ``t`` the first ``active[t]`` of them
    have a token; rows go by step, then by sequence, as in `torch.nn.utils.rnn.PackedSequence`.
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
        self._first_row = torch.cumsum(active, 0) - active  # of each step
        # Of each row, (T,): its step, and the place of its sequence among those of the step.
        self._step = torch.repeat_interleave(steps, active)
        row = torch.arange(len(self._step), device="cpu")
        self._place = row - self._first_row[self._step]
        # The token of each row, forwards and backwards, (T,), and the row of each token.
        self.forward_token = starts[self._place] + self._step
        self.backward_token = starts[self._place] + lengths[self._place] - 1 - self._step
        self.forward_row, self.backward_row = torch.empty_like(row), torch.empty_like(row)
        self.forward_row[self.forward_token] = row
        self.backward_row[self.backward_token] = row

    @property
    def previous_row(self) -> Tensor:
        """Row of the state before each packed row, (T,), behind `active[0]` initial ones."""
        first = self._first_row
        previous = torch.cat([first.new_zeros(1), self.n_filled + first])[:-1]
        return previous[self._step] + self._place
