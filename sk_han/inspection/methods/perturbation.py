"""Documents of some of the words of others, for methods that remove words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, concatenated_ranges, starts_of

__all__ = ["without_each_sentence", "without_each_word"]


def without_each_word(documents: DocumentArray, max_words: int = 65_536) -> Iterator[DocumentArray]:
    """Yield a copy of its document without each word; batches of about `max_words` words."""
    edges = np.arange(documents.n_words + 1)
    return _without_each(documents, edges, documents.words_per_document, max_words)


def without_each_sentence(
    documents: DocumentArray, max_words: int = 65_536
) -> Iterator[DocumentArray]:
    """Yield a copy of its document without each sentence; batches of about `max_words`."""
    edges = documents.sentence_starts
    return _without_each(documents, edges, documents.sentences_per_document, max_words)


def _without_each(
    documents: DocumentArray,
    edges: NDArray[np.int64],
    pieces_per_document: NDArray[np.int64],
    max_words: int,
) -> Iterator[DocumentArray]:
    """Leave out each piece in turn; the edges, (pieces + 1,), divide all words into pieces."""
    word_starts = documents.sentence_starts[documents.document_starts]
    document = np.repeat(np.arange(len(documents)), pieces_per_document)  # (pieces,)
    words_before = starts_of(documents.words_per_document[document])
    first = 0
    while first < len(document):
        fitting = np.searchsorted(words_before, words_before[first] + max_words, side="right") - 1
        pieces = slice(first, max(first + 1, int(fitting)))
        copies = documents[document[pieces]]
        # From offsets in `documents` to offsets in `copies`.
        shift = words_before[pieces] - words_before[first] - word_starts[document[pieces]]
        kept = np.ones(copies.n_words, dtype=bool)
        kept[concatenated_ranges(edges[pieces] + shift, np.diff(edges)[pieces])] = False
        yield copies.keep_words(kept)
        first = pieces.stop
