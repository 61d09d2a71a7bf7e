"""A tiny batch, and networks whose weights follow a formula instead of a random generator."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from sk_han import Attention
from sk_han.nn import HierarchicalAttentionNetwork


class Batch(NamedTuple):
    """Arguments of the network."""

    word_ids: Tensor
    words_per_sentence: Tensor
    sentences_per_document: Tensor

    def part(self, numbers):
        """Some documents, in this order."""
        sentences = self.sentences_per_document
        words_per_sentence = self.words_per_sentence.split(sentences.tolist())
        word_ids = self.word_ids.split([int(words.sum()) for words in words_per_sentence])
        return Batch(
            torch.cat([word_ids[i] for i in numbers]),
            torch.cat([words_per_sentence[i] for i in numbers]),
            sentences[numbers],
        )


@pytest.fixture(autouse=True)
def _one_thread():
    """Tensors of a few dozen numbers gain nothing from a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def batch():
    """D = 5 documents of at most S = 7 sentences, N = 11 sentences, T = 29 words of V = 17.

    The second document is empty; the longest sentence has W = 13 words.
    """
    words_per_sentence = torch.tensor([3, 1, 13, 2, 1, 2, 1, 1, 2, 1, 2])
    sentences_per_document = torch.tensor([2, 0, 1, 1, 7])
    word_ids = 1 + 7 * torch.arange(29) % 13  # every id to 13 occurs twice or thrice, none beyond
    return Batch(word_ids, words_per_sentence, sentences_per_document)


@pytest.fixture
def make_network(fill):
    """Make a network for `batch`, without dropout; every axis has a size of its own."""

    def make(dtype=torch.float64, **params):
        defaults = {"pooling": Attention(size=19), "dropout": 0, "word_dropout": 0}
        network = HierarchicalAttentionNetwork(
            vocabulary_size=17,
            n_classes=2,
            embedding_dim=3,
            word_hidden=5,
            sentence_hidden=7,
            **(defaults | params),
        )
        fill(network)
        return network.to(dtype)

    return make
