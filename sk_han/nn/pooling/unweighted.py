"""How many states become one without attention: their mean, their maximum, or the last."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.pooling.attention import AttentionPooling
from sk_han.nn.pooling.multi_hop import MultiHopAttention
from sk_han.nn.ragged.segments import segment_numbers, segment_parts, segment_sum

__all__ = ["LastPooling", "MaxPooling", "MeanPooling", "Pooling", "pooling_of"]


class MeanPooling(nn.Module):
    """Mean of the states of a sequence: HN-AVE of Yang et al. (2016).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool sequences that lie one after the other, as `AttentionPooling.pool` does.

        The weights are one over the length.
        """
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        weights = lengths.to(states)[segment].reciprocal()  # (T,)
        return segment_sum(weights.unsqueeze(1) * states, segment, len(lengths)), weights

    def parts(self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor) -> Tensor:
        """What each state brings to a score of the pooled vectors, as `AttentionPooling.parts`."""
        segment = segment_numbers(lengths).to(states.device)
        return segment_parts(states, weights, gradient, segment)


class MaxPooling(nn.Module):
    """Largest number of each entry over the states of a sequence: HN-MAX of Yang et al. (2016).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool sequences that lie one after the other, as `AttentionPooling.pool` does.

        The weight of a state is the share of the entries that come from it; of equal states the
        first one gives the entry.
        """
        T, H = states.shape
        source = self._sources(states.detach(), lengths)  # (N, H)
        # Row T of zeros is what an empty sequence takes its entries from.
        pooled = torch.cat([states, states.new_zeros(1, H)]).gather(0, source)  # (N, H)
        counts = torch.bincount(source.flatten(), minlength=T + 1)[:T]
        return pooled, counts.to(states) / H

    def parts(self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor) -> Tensor:
        """What each state brings to a score of the pooled vectors, as `AttentionPooling.parts`.

        The weights only count the entries that come from a state; which ones is found again.
        """
        T, H = states.shape
        source = self._sources(states, lengths).flatten()  # (N * H,)
        entries = torch.cat([states, states.new_zeros(1, H)])  # (T + 1, H)
        column = torch.arange(H, device=states.device).repeat(len(lengths))
        parts = states.new_zeros(T + 1).index_add(
            0, source, entries[source, column] * gradient.flatten()
        )
        return parts[:T]

    @staticmethod
    def _sources(states: Tensor, lengths: Tensor) -> Tensor:
        """Row that each entry of the pooled vectors comes from, shape (N, H); T for none."""
        (T, H), N = states.shape, len(lengths)
        segment = segment_numbers(lengths).to(states.device).unsqueeze(1).expand(T, H)
        highest = states.new_zeros(N, H).scatter_reduce(
            0, segment, states, "amax", include_self=False
        )
        row = torch.arange(T, device=states.device).unsqueeze(1)
        # What is no number is passed on, so that training notices.
        is_highest = (states == highest.gather(0, segment)) | states.isnan()
        candidate = torch.where(is_highest, row, T)  # (T, H)
        return candidate.new_full((N, H), T).scatter_reduce(0, segment, candidate, "amin")


class LastPooling(nn.Module):
    """Last state that each direction reaches: the encoder of Sutskever et al. (2014).

    Parameters
    ----------
    input_size : int
        Size H of each state.
    bidirectional : bool
        Whether the second half of each state was read from the right, so that its last one is
        that of the first token.
    """

    def __init__(self, input_size: int, bidirectional: bool) -> None:
        super().__init__()
        self.output_size = input_size
        self.forward_size = input_size // 2 if bidirectional else input_size

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool sequences that lie one after the other, as `AttentionPooling.pool` does.

        The weights of two directions are one half for the last and for the first state.
        """
        filled, first, last = self._ends(lengths, states.device)
        H = self.forward_size
        ends = torch.cat([states[last, :H], states[first, H:]], dim=1)
        pooled = states.new_zeros(len(lengths), self.output_size)
        pooled = pooled.index_copy(0, filled, ends)  # (N, H)
        share = H / self.output_size
        weights = states.new_zeros(len(states))
        weights[last] += share
        weights[first] += 1 - share
        return pooled, weights

    def parts(self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor) -> Tensor:
        """What each state brings to a score of the pooled vectors, as `AttentionPooling.parts`.

        Each direction counts for the state that it ended on.
        """
        filled, first, last = self._ends(lengths, states.device)
        H, gradient = self.forward_size, gradient[filled]
        parts = states.new_zeros(len(states))
        parts[last] += (states[last, :H] * gradient[:, :H]).sum(1)
        parts[first] += (states[first, H:] * gradient[:, H:]).sum(1)
        return parts

    @staticmethod
    def _ends(lengths: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Sequences that are not empty, and the rows of their first and last states."""
        filled = lengths.nonzero().squeeze(1)
        last = (torch.cumsum(lengths, 0) - 1)[filled]
        first = last + 1 - lengths[filled]
        return filled.to(device), first.to(device), last.to(device)


Pooling = AttentionPooling | MultiHopAttention | MeanPooling | MaxPooling | LastPooling


def pooling_of(
    kind: str,
    input_size: int,
    *,
    attention_dim: int,
    attention: str,
    hops: int,
    bidirectional: bool,
    generator: torch.Generator | None,
) -> Pooling:
    """Make the pooling of this name: "attention", "mean", "max" or "last"."""
    if kind == "mean":
        return MeanPooling(input_size)
    if kind == "max":
        return MaxPooling(input_size)
    if kind == "last":
        return LastPooling(input_size, bidirectional)
    if hops > 1:
        return MultiHopAttention(input_size, attention_dim, hops, generator, attention=attention)
    return AttentionPooling(input_size, attention_dim, generator, attention=attention)
