"""The order in which a recurrence visits ragged sequences: longest first, step by step."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.utils.caching import cached_property


class PackedLayout:
    """Positions of the tokens of N sequences, of lengths (N,), processed step by step on the CPU.

    Sequences are sorted by falling length, so that at step ``t`` the first ``active[t]`` of them
    have a token; rows go by step, then by sequence, as in `torch.nn.utils.rnn.PackedSequence`.
    """

    def __init__(self, lengths: Tensor) -> None:
        self.lengths = lengths

    @cached_property
    def order(self) -> Tensor:
        """The sequences, the longest first, (N,)."""
        return torch.sort(self.lengths, descending=True, stable=True).indices

    @cached_property
    def active(self) -> list[int]:
        """Number of sequences that have a token at each step."""
        return self._active.tolist()

    @property
    def n_filled(self) -> int:
        """Number of sequences that have a token; they are the first of `order`."""
        return int((self.lengths > 0).sum())

    @cached_property
    def forward_token(self) -> Tensor:
        """Token of each packed row, forwards, (T,)."""
        step, sequence = self._step_and_sequence
        return self._starts[sequence] + step

    @cached_property
    def backward_token(self) -> Tensor:
        """Token of each packed row, backwards, (T,)."""
        step, sequence = self._step_and_sequence
        return self._starts[sequence] + self._longest_first[sequence] - 1 - step

    @cached_property
    def forward_row(self) -> Tensor:
        """Packed row of each token, forwards, (T,)."""
        return _inverse(self.forward_token)

    @cached_property
    def backward_row(self) -> Tensor:
        """Packed row of each token, backwards, (T,)."""
        return _inverse(self.backward_token)

    @cached_property
    def previous_row(self) -> Tensor:
        """Row of the state before each packed row, behind `active[0]` initial ones."""
        step, sequence = self._step_and_sequence
        step_starts = torch.cumsum(self._active, 0) - self._active
        previous = torch.cat([step_starts.new_zeros(1), self.n_filled + step_starts])[:-1]
        return previous[step] + sequence

    @cached_property
    def _longest_first(self) -> Tensor:
        return self.lengths[self.order]

    @cached_property
    def _starts(self) -> Tensor:
        return (torch.cumsum(self.lengths, 0) - self.lengths)[self.order]

    @cached_property
    def _active(self) -> Tensor:
        n_steps = int(self.lengths.max()) if len(self.lengths) else 0
        steps = torch.arange(n_steps, device="cpu")
        # A sequence is active at step t if it is longer than t.
        return torch.searchsorted(-self._longest_first, -steps, right=False)

    @cached_property
    def _step_and_sequence(self) -> tuple[Tensor, Tensor]:
        """Return the step of each packed row, and its place among the sequences of that step."""
        step_starts = torch.cumsum(self._active, 0) - self._active
        step = torch.repeat_interleave(torch.arange(len(self._active), device="cpu"), self._active)
        return step, torch.arange(len(step), device="cpu") - step_starts[step]


def _inverse(order: Tensor) -> Tensor:
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device="cpu")
    return inverse
