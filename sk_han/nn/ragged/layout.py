"""The order in which a recurrence visits ragged sequences: longest first, step by step."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.utils.caching import cached_property

__all__ = ["PackedLayout"]


class PackedLayout:
    """Positions of the tokens of N sequences that a recurrence processes step by step.

    Sequences are sorted by falling length, so that at step ``t`` the first ``active[t]`` of them
    have a token. Packed rows are ordered by step, then by sequence, as in
    `torch.nn.utils.rnn.PackedSequence`. Each attribute is computed when it is first read.

    Parameters
    ----------
    lengths : Tensor of int64 on the CPU, shape (n_sequences,)
        Zero is allowed: such a sequence has no rows.

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

    def __init__(self, lengths: Tensor) -> None:
        self.lengths = lengths

    @cached_property
    def order(self) -> Tensor:
        """Sequences, the longest first."""
        return torch.sort(self.lengths, descending=True, stable=True).indices

    @cached_property
    def active(self) -> list[int]:
        """Number of sequences at each step."""
        return self._active.tolist()

    @property
    def n_filled(self) -> int:
        """Number of sequences that have a token; they are the first of `order`."""
        return int((self.lengths > 0).sum())

    @cached_property
    def forward_token(self) -> Tensor:
        """Token of each packed row, forwards."""
        step, sequence = self._step_and_sequence
        return self._starts[sequence] + step

    @cached_property
    def backward_token(self) -> Tensor:
        """Token of each packed row, backwards."""
        step, sequence = self._step_and_sequence
        return self._starts[sequence] + self._longest_first[sequence] - 1 - step

    @cached_property
    def forward_row(self) -> Tensor:
        """Packed row of each token, forwards."""
        return _inverse(self.forward_token)

    @cached_property
    def backward_row(self) -> Tensor:
        """Packed row of each token, backwards."""
        return _inverse(self.backward_token)

    @cached_property
    def previous_row(self) -> Tensor:
        """Row of the state before each packed row."""
        # Step t continues the first active[t] states of step t - 1; step 0 the initial ones.
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
