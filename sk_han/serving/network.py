"""The network of a stored model, computed by NumPy, or by compiled kernels where Numba is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.options import ContextAttention
from sk_han.options.network_state import check_network
from sk_han.serving.pooling import sentence_pooling, word_pooling
from sk_han.serving.recurrence import encoded, recurrent_layers

__all__ = ["NetworkOutput", "ServedNetwork"]

Array = NDArray[np.float32]
Lengths = NDArray[np.int64]

_MOST_WORDS = 8_192  # that are encoded at once, if they are more than a sentence


class NetworkOutput(NamedTuple):
    """What the network says of D documents with N sentences and T words.

    Attributes
    ----------
    logits : ndarray of float32, shape (D, C)
    word_attention : ndarray of float32, shape (T,)
        Those of a sentence sum to 1.
    sentence_attention : ndarray of float32, shape (N,)
        Those of a document sum to 1.
    """

    logits: Array
    word_attention: Array
    sentence_attention: Array


class ServedNetwork:
    """A `HierarchicalAttentionNetwork` that only predicts, without PyTorch.

    Parameters
    ----------
    state : mapping
        As of `sk_han.training.net_state.net_to_state`.

    Raises
    ------
    ValueError
        If the state is not that of a network.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._options = options = check_network(state)
        weights = state["weights"]
        self._vectors: Array = weights["embedding.weight"]
        self._output = weights["output.weight"].T, weights["output.bias"]
        self._word_layers = recurrent_layers(weights, "word_encoder", options.recurrent)
        self._sentence_layers = recurrent_layers(weights, "sentence_encoder", options.recurrent)
        self._pool_words = word_pooling(options, weights)
        self._pool_sentences = sentence_pooling(options, weights)

    def logits(self, documents: DocumentArray) -> Array:
        """Score documents, shape (D, C)."""
        return self.attend(documents).logits

    def attend(self, documents: DocumentArray) -> NetworkOutput:
        """Score documents, and return the attention to their words and sentences."""
        words, sentences = documents.words_per_sentence, documents.sentences_per_document
        vectors, word_weights = self._read_words(documents.word_ids, words, sentences)
        each = np.arange(len(vectors))
        states = encoded(self._sentence_layers, vectors, each, sentences)  # (N, H)
        pooled, sentence_weights = self._pool_sentences(states, sentences, sentences)  # (D, H)
        weight, bias = self._output
        return NetworkOutput(
            pooled @ weight + bias, word_weights.mean(axis=1), sentence_weights.mean(axis=1)
        )

    def _read_words(
        self, word_ids: NDArray[np.int32], words: Lengths, sentences: Lengths
    ) -> tuple[Array, Array]:
        """Return the vectors of all sentences, and the weights of their words (T, R)."""
        # An attention that depends on other sentences pools those of a document at once.
        depends = isinstance(self._options.attention, ContextAttention)
        chunks = [(word_ids, words)] if depends else _chunks(word_ids, words)
        pooled = []
        for ids, lengths in chunks:
            distinct, index = np.unique(ids, return_inverse=True)
            states = encoded(self._word_layers, self._vectors[distinct], index, lengths)
            pooled.append(self._pool_words(states, lengths, sentences))
        vectors, weights = zip(*pooled, strict=True)
        return np.concatenate(vectors), np.concatenate(weights)


def _chunks(
    word_ids: NDArray[np.int32], lengths: Lengths
) -> Iterator[tuple[NDArray[np.int32], Lengths]]:
    """Yield the words of consecutive sentences, and their lengths; at least one chunk."""
    ends, first = np.cumsum(lengths), 0
    if not len(lengths):
        yield word_ids, lengths
    while first < len(lengths):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + _MOST_WORDS, side="right")), first + 1)
        yield word_ids[before : ends[last - 1]], lengths[first:last]
        first = last
