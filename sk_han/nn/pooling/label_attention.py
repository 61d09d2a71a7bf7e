"""Attention to the words of a document by each label."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sk_han.nn.initialization import parameter, xavier_uniform_
from sk_han.nn.ragged.segments import segment_numbers, segment_sum

# Scores are between -10 and 10, so that exponentials can be added up without their maximum.
BOUND = 10.0
# Of a portion of words: so few stay in a processor's cache, so many keep a GPU busy.
_NUMBERS_AT_ONCE, _NUMBERS_ON_GPU = 1 << 16, 1 << 26


class LabelAttention(nn.Module):
    """Scores of labels by an attention that each has to the words of a document.

    ``s_tl = 10 tanh(q_l . h_t / 10)``, ``alpha_tl = softmax_t(s_tl)`` over the words of the
    document, result ``sum_t alpha_tl v_l . h_t``: the label-wise attention of Mullenbach et al.
    (2018; see `sk_han.Attention`) and Chalkidis et al. (2019), with bounded scores. What a sentence
    adds to numerator and denominator of the softmax does not depend on other sentences, so that any
    set of sentences is scored by sums of these.

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
        """Divide the sums (N, 2L) over the sentences of documents, (D, L); 0 for an empty one."""
        segment = segment_numbers(sentences_per_document).to(sums.device)
        below, above = segment_sum(sums, segment, len(sentences_per_document)).chunk(2, 1)
        return above / below.clamp_min(torch.finfo(sums.dtype).tiny)

    def attributions(self, states: Tensor, gradient: Tensor, words_per_sentence: Tensor) -> Tensor:
        """Compute what each word (T,) brings to a linear score of the labels, at fixed attention.

        `gradient` is that of the score with respect to the sums (N, 2L). Those of a document sum to
        its score.
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
    """Sums over sentences; the backward computes again what has a number a word and label."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weights: Tensor, segment: Tensor, n_sentences: int
    ) -> Tensor:
        ctx.save_for_backward(states, weights, segment)
        summed = states.new_zeros(n_sentences, len(weights))
        for rows in _portions(states, weights):
            _, exponential, values = _terms(states[rows], weights)
            both = torch.cat([exponential, exponential * values], 1)
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
