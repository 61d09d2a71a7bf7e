"""Texts of documents, and the positions of their words in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, starts_of

__all__ = ["Source", "nested_words", "word_id_sources"]


class Source(NamedTuple):
    """The text of a document, and the positions of its sentences and words."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


def word_id_sources(documents: DocumentArray, tokenizer: Any) -> Iterator[Source]:
    """Yield the text of each document of word ids: its words, or "#id" without a tokenizer."""
    for document in nested_words(documents, tokenizer):
        lengths = np.array([len(word) for sentence in document for word in sentence], dtype=int)
        ends = np.cumsum(lengths + 1) - 1  # one space or line break after each word
        word_spans = np.stack([ends - lengths, ends], axis=1)
        n_words = np.array([len(sentence) for sentence in document], dtype=int)
        starts = starts_of(n_words)
        sentence_spans = np.stack(
            [word_spans[starts[:-1], 0], word_spans[starts[1:] - 1, 1]], axis=1
        )
        text = "\n".join(" ".join(sentence) for sentence in document)
        yield Source(
            text, sentence_spans, word_spans, np.repeat(np.arange(len(document)), n_words), False
        )


def nested_words(documents: DocumentArray, tokenizer: Any) -> Iterable[list[list[str]]]:
    """Return the words of each sentence of each document, or "#id" without a tokenizer."""
    if tokenizer is None:
        return ([[f"#{i}" for i in sentence] for sentence in document] for document in documents)
    nested: list[list[list[str]]] = tokenizer.inverse_transform(documents)
    return nested
