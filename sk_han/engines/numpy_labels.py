"""Attention to words by each label, by NumPy: the equations of `sk_han.nn.LabelAttention`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sk_han.engines.numpy_pooling import sums_of_sequences
from sk_han.engines.numpy_recurrence import Array, Lengths

BOUND = np.float32(10)  # of scores, as in `sk_han.nn.pooling.label_attention`
_NUMBERS_AT_ONCE = 1 << 18  # of words times labels


class LabelAttention(NamedTuple):
    """Queries and values (L, H) of L labels."""

    query: Array
    value: Array

    @classmethod
    def of(cls, weights: Mapping[str, Array]) -> LabelAttention:
        """Return that of the weights of a network."""
        return cls(weights["label_attention.query"], weights["label_attention.value"])

    def sums(self, states: Array, words_per_sentence: Lengths) -> Array:
        """Add up ``exp(s)`` and ``exp(s) v . h`` of the states (T, H) of sentences, (N, 2L)."""
        # A sentence whose words are in two portions adds up in both.
        sentence = np.repeat(np.arange(len(words_per_sentence)), words_per_sentence)
        summed = np.zeros((len(words_per_sentence), 2 * len(self.query)), dtype=np.float32)
        for rows in self._portions(len(states)):
            numbers, lengths = np.unique(sentence[rows], return_counts=True)
            both = np.concatenate(self._terms(states[rows]), axis=1)
            summed[numbers] += sums_of_sequences(both, lengths)
        return summed

    def scores(self, sums: Array, sentences_per_document: Lengths) -> Array:
        """Divide the sums (N, 2L) over the sentences of documents, (D, L); 0 for an empty one."""
        summed = sums_of_sequences(sums, sentences_per_document)
        below, above = np.split(summed, 2, axis=1)
        return above / np.maximum(below, np.finfo(np.float32).tiny)

    def attributions(
        self,
        states: Array,
        sums: Array,
        factors: Array,
        words_per_sentence: Lengths,
        sentences_per_document: Lengths,
    ) -> Array:
        """Return what each word (T,) brings to scores of `factors` (D, L), at fixed attention."""
        below = np.split(sums_of_sequences(sums, sentences_per_document), 2, axis=1)[0]
        of_above = factors / np.maximum(below, np.finfo(np.float32).tiny)
        document = np.repeat(np.arange(len(factors)), sentences_per_document)
        document = np.repeat(document, words_per_sentence)
        words = np.empty(len(states), dtype=np.float32)
        for rows in self._portions(len(states)):
            words[rows] = (of_above[document[rows]] * self._terms(states[rows])[1]).sum(axis=1)
        return words

    def _terms(self, states: Array) -> tuple[Array, Array]:
        exponential = np.exp(BOUND * np.tanh(states @ self.query.T / BOUND))
        return exponential, exponential * (states @ self.value.T)

    def _portions(self, n_words: int) -> list[slice]:
        size = max(1, _NUMBERS_AT_ONCE // len(self.query))
        return [slice(first, first + size) for first in range(0, n_words, size)]
