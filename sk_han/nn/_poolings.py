"""Poolings: one vector from the states of a sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sk_han._kernels import engine
from sk_han.nn._encoders import (
    kernels_cover,
    on_arrays,
    parameter,
    sum_chunks,
    uniform_,
    xavier_uniform_,
)
from sk_han.nn._ragged import (
    segment_numbers,
    segment_softmax,
    segment_sum,
    sequence_ends,
)


class Pooling(nn.Module):
    """Base class of poolings, which reduce the states of each sequence to one vector.

    Attributes
    ----------
    output_size : int
        Size of a pooled vector.
    """

    output_size: int
    has_kernels = False  # whether it has compiled kernels

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, without padding.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        lengths : Tensor of int64, shape (N,)
            Number of states of each sequence, together T.

        Returns
        -------
        pooled : Tensor, shape (N, output_size)
            Zero for a sequence without states.
        weights : Tensor, shape (T, R)
            Share of each state in each of R results side by side; they sum to 1 over a sequence.
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
            As in `pool`.
        weights : Tensor, shape (T, R)
            As `pool` returned them; held fixed.
        gradient : Tensor, shape (N, output_size)
            Gradient of the score with respect to the pooled vectors.

        Returns
        -------
        Tensor, shape (T,)
            Contributions of a sequence sum to ``pooled . gradient``.
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

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, see `Pooling.pool`; each weight is one over the length."""
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

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences; see `Pooling.pool`.

        The weight of a state is the share of the pooled entries that come from it. Among equal
        states the first is taken.
        """
        T, H = states.shape
        source = self._sources(states.detach(), lengths)  # (N, H)
        # Row T is zero; the entries of an empty sequence come from it.
        pooled = torch.cat([states, states.new_zeros(1, H)]).gather(0, source)  # (N, H)
        counts = torch.bincount(source.flatten(), minlength=T + 1)[:T]
        return pooled, (counts.to(states) / H).unsqueeze(1)

    def attributions(
        self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor
    ) -> Tensor:
        """Compute the contribution of each state; see `Pooling.attributions`.

        The weights do not tell which entries come from a state, so `_sources` finds them again.
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
        # NaN is never equal to the maximum, but must reach the result, so that training notices it.
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
        Whether the second half of each state belongs to the backward direction, whose last state is
        at the first token.
    """

    def __init__(self, input_size: int, bidirectional: bool) -> None:
        super().__init__()
        self.output_size = input_size
        self.forward_size = input_size // 2 if bidirectional else input_size

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences; see `Pooling.pool`.

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
        """Compute the contribution of each state; see `Pooling.attributions`.

        The contribution of each direction belongs to the last state of that direction.
        """
        filled, first, last = sequence_ends(lengths, states.device)
        H, gradient = self.forward_size, gradient[filled]
        contributions = states.new_zeros(len(states))
        contributions[last] += (states[last, :H] * gradient[:, :H]).sum(1)
        contributions[first] += (states[first, H:] * gradient[:, H:]).sum(1)
        return contributions


class AttentionPooling(Pooling):
    """Weighted mean of the states of a sequence, after Yang et al. (2016), equations 5 to 7.

    ``u_t = tanh(W h_t + b)``, ``alpha_t = softmax_t(u_t . c)``, result ``sum_t alpha_t h_t``,
    where the context vector ``c`` represents the query "what is the informative word?".

    Parameters
    ----------
    input_size : int
        Size H of each state.
    attention_dim : int
        Size A of ``u_t`` and ``c``.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Examples
    --------
    >>> import torch
    >>> from sk_han.nn import AttentionPooling
    >>> pooling = AttentionPooling(input_size=4, attention_dim=3)
    >>> pooled, weights = pooling.pool(torch.randn(8, 4), torch.tensor([3, 5]))
    >>> pooled.shape, weights.shape
    (torch.Size([2, 4]), torch.Size([8, 1]))
    """

    has_kernels = True

    def __init__(
        self, input_size: int, attention_dim: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(attention_dim)
        self.output_size = input_size
        xavier_uniform_(self.weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences; see `Pooling.pool`."""
        if kernels_cover(states):
            own = self.weight, self.bias, self.context
            pooled, weights = _Attention.apply(states, *own, lengths, torch.is_grad_enabled())
            return pooled, weights.unsqueeze(1)
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        u = torch.tanh(torch.addmm(self.bias, states, self.weight.T))  # (T, A)
        weights = segment_softmax(u @ self.context, segment, len(lengths)).unsqueeze(1)  # (T, 1)
        return segment_sum(weights * states, segment, len(lengths)), weights


class _Attention(torch.autograd.Function):
    """`sk_han._kernels.engine.attend` with its gradients; `keep` what they need."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        context: Tensor,
        lengths: Tensor,
        keep: bool,
    ) -> tuple[Tensor, Tensor]:
        keep = keep and any(ctx.needs_input_grad)
        attended = on_arrays(engine.attend, states, weight, bias, context, lengths, keep)
        weights = torch.from_numpy(attended.weights)
        hidden = None if attended.hidden is None else torch.from_numpy(attended.hidden)
        ctx.save_for_backward(states, weight, context, weights, hidden)
        ctx.starts, ctx.bounds = attended.starts, attended.bounds
        return torch.from_numpy(attended.pooled), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_weights: Tensor) -> tuple[Tensor | None, ...]:
        kept = *ctx.saved_tensors, ctx.starts, ctx.bounds
        of_states, *of_weights = on_arrays(engine.attend_gradients, grad, grad_weights, *kept)
        return torch.from_numpy(of_states), *map(sum_chunks, of_weights), None, None


class MultiHopPooling(Pooling):
    """R weighted means of the states of a sequence, side by side (see `sk_han.MultiHopAttention`).

    ``u_t = tanh(W h_t + b)``, ``A_rt = softmax_t(u_t . c_r)``, result
    ``[sum_t A_1t h_t ; ... ; sum_t A_Rt h_t]``: `AttentionPooling` with R context vectors. (The
    paper has no bias b.)

    Parameters
    ----------
    input_size : int
        Size H of each state.
    attention_dim : int
        Size A of ``u_t`` and of each ``c_r``.
    hops : int
        Number R of context vectors.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.
    """

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        hops: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(hops, attention_dim)
        self.output_size = hops * input_size
        xavier_uniform_(self.weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences; see `Pooling.pool`: vectors (N, R * H)."""
        N, R = len(lengths), len(self.context)
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        u = torch.tanh(torch.addmm(self.bias, states, self.weight.T))  # (T, A)
        hop = torch.arange(R, device=states.device).unsqueeze(1) * N + segment  # (R, T)
        scores = (self.context @ u.T).flatten()  # (R * T,)
        weights = segment_softmax(scores, hop.flatten(), N * R).view(R, -1).T  # (T, R)
        weighted = weights.unsqueeze(2) * states.unsqueeze(1)  # (T, R, H)
        return segment_sum(weighted.flatten(1), segment, N), weights


# Scores are bounded to -10 and 10, so that exponentials cannot overflow and can be added up without
# knowing the maximum of a document.
BOUND = 10.0

# Numbers of a portion: few enough for a processor's cache, and enough to keep a GPU busy.
_NUMBERS_AT_ONCE, _NUMBERS_ON_GPU = 1 << 16, 1 << 26


class LabelAttention(nn.Module):
    """Scores of labels, each by its own attention to the words of a document.

    ``s_tl = 10 tanh(q_l . h_t / 10)``, ``alpha_tl = softmax_t(s_tl)`` over the words of the
    document, result ``sum_t alpha_tl v_l . h_t``: the label-wise attention of Mullenbach et al.
    (2018; see `sk_han.Attention`) and Chalkidis et al. (2019), with bounded scores. The terms of a
    sentence in numerator and denominator of the softmax do not depend on other sentences, so any
    set of sentences is scored by adding up these terms.

    Parameters
    ----------
    input_size : int
        Size H of the state of a word.
    n_labels : int
        Number L of labels or classes.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Examples
    --------
    Three labels, and two sentences of two words and one word, in one document:

    >>> import torch
    >>> from sk_han.nn import LabelAttention
    >>> attention = LabelAttention(input_size=4, n_labels=3)
    >>> sums = attention.sums(torch.randn(3, 4), torch.tensor([2, 1]))
    >>> attention.scores(sums, torch.tensor([2])).shape
    torch.Size([1, 3])
    """

    def __init__(
        self, input_size: int, n_labels: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.query, self.value = parameter(n_labels, input_size), parameter(n_labels, input_size)
        xavier_uniform_(self.query, generator)
        xavier_uniform_(self.value, generator)

    def sums(self, states: Tensor, words_per_sentence: Tensor) -> Tensor:
        """Add up ``exp(s)`` and ``exp(s) v . h`` of the states (T, H) of sentences, (N, 2L)."""
        segment = segment_numbers(words_per_sentence).to(states.device)
        summed: Tensor = _Sums.apply(states, self._weights, segment, len(words_per_sentence))
        return summed

    def scores(self, sums: Tensor, sentences_per_document: Tensor) -> Tensor:
        """Compute scores (D, L) from the sums (N, 2L) of sentences; 0 for an empty document."""
        segment = segment_numbers(sentences_per_document).to(sums.device)
        below, above = segment_sum(sums, segment, len(sentences_per_document)).chunk(2, 1)
        return above / below.clamp_min(torch.finfo(sums.dtype).tiny)

    def attributions(self, states: Tensor, gradient: Tensor, words_per_sentence: Tensor) -> Tensor:
        """Compute contributions of words (T,) to a linear score of labels, at fixed attention.

        `gradient` is the gradient of the score with respect to the sums (N, 2L). Contributions of a
        document sum to its score.
        """
        segment = segment_numbers(words_per_sentence).to(states.device)
        of_above = gradient.chunk(2, 1)[1]  # (N, L)
        weights = self._weights
        shares = []
        for rows in _portions(states, weights):
            _, exponential, values = _terms(states[rows], weights)
            shares.append((of_above[segment[rows]] * exponential * values).sum(1))
        return torch.cat([states.new_empty(0), *shares])

    @property
    def _weights(self) -> Tensor:
        return torch.cat([self.query, self.value])  # (2L, H): larger products take less time


class _Sums(torch.autograd.Function):
    """Sums over sentences; the backward pass recomputes the arrays of words times labels."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weights: Tensor, segment: Tensor, n_sentences: int
    ) -> Tensor:
        ctx.save_for_backward(states, weights, segment)
        summed = states.new_zeros(n_sentences, len(weights))
        for rows in _portions(states, weights):
            _, exponential, values = _terms(states[rows], weights)
            both = torch.cat([exponential, exponential * values], 1)
            # On a GPU `index_add_` adds in a different order each time.
            if states.is_cuda:
                summed += segment_sum(both, segment[rows], n_sentences)
            else:
                summed.index_add_(0, segment[rows], both)
        return summed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, weights, segment = ctx.saved_tensors
        of_states, of_weights = torch.empty_like(states), torch.zeros_like(weights)
        for rows in _portions(states, weights):
            squashed, exponential, values = _terms(states[rows], weights)
            below, above = gradients[0][segment[rows]].chunk(2, 1)  # (t, L)
            of_values = above * exponential
            of_scores = (below * exponential + of_values * values) * (1 - squashed**2)
            of_both = torch.cat([of_scores, of_values], 1)  # (t, 2L)
            of_states[rows] = of_both @ weights
            of_weights += of_both.T @ states[rows]
        return of_states, of_weights, None, None


def _terms(states: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``tanh(q . h / 10)``, ``exp(s)`` and ``v . h``, each (t, L)."""
    queried, values = (states @ weights.T).chunk(2, 1)
    squashed = torch.tanh(queried / BOUND)
    return squashed, torch.exp(BOUND * squashed), values


def _portions(states: Tensor, weights: Tensor) -> list[slice]:
    at_once = _NUMBERS_ON_GPU if states.is_cuda else _NUMBERS_AT_ONCE
    size = max(1, at_once // max(len(weights), 1))
    return [slice(first, first + size) for first in range(0, len(states), size)]


def hop_overlap(weights: Tensor, lengths: Tensor) -> Tensor:
    """Compute the overlap of the hops of each sequence, ``||A A^T - I||_F^2`` of A^T (T, R): (N,).

    It is zero if each hop attends to a single token and no two hops to the same one (Lin et al.,
    2017), and for a sequence without tokens.
    """
    segment = segment_numbers(lengths).to(weights.device)
    products = weights.unsqueeze(2) * weights.unsqueeze(1)  # (T, R, R)
    N, R = len(lengths), weights.shape[1]
    gram = segment_sum(products.flatten(1), segment, N).view(N, R, R)
    identity = torch.eye(R, dtype=gram.dtype, device=gram.device)
    overlap = (gram - identity).square().sum((1, 2))  # (N,)
    return overlap * (lengths > 0).to(overlap)


def document_overlap(
    word_weights: Tensor,
    words_per_sentence: Tensor,
    sentence_weights: Tensor,
    sentences_per_document: Tensor,
) -> Tensor:
    """Add the mean `hop_overlap` of each document's sentences to that of the document, (D,)."""
    overlap = hop_overlap(word_weights, words_per_sentence)  # (N,)
    document = segment_numbers(sentences_per_document).to(overlap.device)  # (N,)
    total = segment_sum(overlap.unsqueeze(1), document, len(sentences_per_document)).squeeze(1)
    mean = total / sentences_per_document.clamp(min=1).to(total)
    return mean + hop_overlap(sentence_weights, sentences_per_document)
