"""Poolings: one vector from the states of a sequence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.ragged import segment_numbers, segment_sum, sequence_ends


class Pooling(nn.Module):
    """Base class of poolings, which compute one vector from the states of each sequence.

    Attributes
    ----------
    output_size : int
        Size of a pooled vector.
    across_sequences : bool
        Whether the weights of a sequence depend on other sequences of its document, so that all
        must be pooled at once.
    """

    output_size: int
    across_sequences = False
    has_kernels = False  # compiled ones, wherever it computes

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, without padding.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        lengths : Tensor of int64, shape (N,)
            Number of states of each sequence, together T.
        sequences_per_document : Tensor of int64, shape (D,), optional
            Together N. Only poolings whose `across_sequences` is True read it.

        Returns
        -------
        pooled : Tensor, shape (N, output_size)
            Zero for a sequence without states.
        weights : Tensor, shape (T, R)
            Share of each state in each of R results side by side; those of a sequence sum to 1.
        """
        raise NotImplementedError

    def attributions(
        self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor
    ) -> Tensor:
        """Compute the contribution of each state to a linear score of the pooled vectors.

        This implementation is for weighted sums of the states:
        ``sum_r weights[t, r] * states[t] . gradient[n, r]`` for state t of sequence n.

        Parameters
        ----------
        states, lengths : Tensor
            As of `pool`.
        weights : Tensor, shape (T, R)
            As `pool` returned them; held fixed.
        gradient : Tensor, shape (N, output_size)
            Of the score, with respect to the pooled vectors.

        Returns
        -------
        Tensor, shape (T,)
            Those of a sequence sum to ``pooled . gradient``.
        """
        segment = segment_numbers(lengths).to(states.device)
        by_result = gradient.view(len(gradient), weights.shape[1], states.shape[1])[segment]
        return (weights * (by_result @ states.unsqueeze(2)).squeeze(2)).sum(1)  # (T, R) -> (T,)


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
