"""Poolings without attention: the mean of the states, their maximum, or the last state."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.nn.pooling.base import Pooling
from sk_han.nn.ragged.segments import segment_numbers, segment_sum, sequence_ends


class MeanPooling(Pooling):
    """Mean of the states of a sequence: HN-AVE of Yang et al. (2016).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, as `Pooling.pool` says; a weight is one over the length."""
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        weights = lengths.to(states)[segment].reciprocal().unsqueeze(1)  # (T, 1)
        return segment_sum(weights * states, segment, len(lengths)), weights


class MaxPooling(Pooling):
    """Maximum of each entry over the states of a sequence: HN-MAX of Yang et al. (2016).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, as `Pooling.pool` says.

        The weight of a state is the share of the entries that come from it; of equal states, the
        first one counts.
        """
        T, H = states.shape
        source = self._sources(states.detach(), lengths)  # (N, H)
        # An empty sequence takes its entries from row T, which is zero.
        pooled = torch.cat([states, states.new_zeros(1, H)]).gather(0, source)  # (N, H)
        counts = torch.bincount(source.flatten(), minlength=T + 1)[:T]
        return pooled, (counts.to(states) / H).unsqueeze(1)

    def attributions(
        self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor
    ) -> Tensor:
        """Compute the contribution of each state, as `Pooling.attributions` says.

        The weights only hold the number of entries from each state, so `_sources` runs again.
        """
        T, H = states.shape
        source = self._sources(states, lengths).flatten()  # (N * H,)
        entries = torch.cat([states, states.new_zeros(1, H)])  # (T + 1, H)
        column = torch.arange(H, device=states.device).repeat(len(lengths))
        contributions = states.new_zeros(T + 1).index_add(
            0, source, entries[source, column] * gradient.flatten()
        )
        return contributions[:T]

    @staticmethod
    def _sources(states: Tensor, lengths: Tensor) -> Tensor:
        """Return the row that each pooled entry comes from, shape (N, H); T if there is none."""
        (T, H), N = states.shape, len(lengths)
        segment = segment_numbers(lengths).to(states.device).unsqueeze(1).expand(T, H)
        highest = states.new_zeros(N, H).scatter_reduce(
            0, segment, states, "amax", include_self=False
        )
        row = torch.arange(T, device=states.device).unsqueeze(1)
        # NaN is passed on, so that training notices it.
        is_highest = (states == highest.gather(0, segment)) | states.isnan()
        candidate = torch.where(is_highest, row, T)  # (T, H)
        return candidate.new_full((N, H), T).scatter_reduce(0, segment, candidate, "amin")


class LastPooling(Pooling):
    """Last state of each direction: the encoder of Sutskever et al. (2014).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    bidirectional : bool
        Whether the second half of each state is of the backward direction, whose last state is
        that of the first token.
    """

    def __init__(self, input_size: int, bidirectional: bool) -> None:
        super().__init__()
        self.output_size = input_size
        self.forward_size = input_size // 2 if bidirectional else input_size

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, as `Pooling.pool` says.

        With two directions, the last and the first state have a weight of one half each.
        """
        filled, first, last = sequence_ends(lengths, states.device)
        H = self.forward_size
        ends = torch.cat([states[last, :H], states[first, H:]], dim=1)
        pooled = states.new_zeros(len(lengths), self.output_size)
        pooled = pooled.index_copy(0, filled, ends)  # (N, H)
        share = H / self.output_size
        weights = states.new_zeros(len(states))
        weights[last] += share
        weights[first] += 1 - share
        return pooled, weights.unsqueeze(1)

    def attributions(
        self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor
    ) -> Tensor:
        """Compute the contribution of each state, as `Pooling.attributions` says.

        The part of each direction belongs to the last state of that direction.
        """
        filled, first, last = sequence_ends(lengths, states.device)
        H, gradient = self.forward_size, gradient[filled]
        contributions = states.new_zeros(len(states))
        contributions[last] += (states[last, :H] * gradient[:, :H]).sum(1)
        contributions[first] += (states[first, H:] * gradient[:, H:]).sum(1)
        return contributions
