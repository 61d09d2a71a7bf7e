"""Documents of some of the words of others, for methods that remove words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, SentenceArray, concatenated_ranges, starts_of

__all__ = ["each_sentence_alone", "keep_words", "without_each_sentence", "without_each_word"]


def keep_words(documents: DocumentArray, kept: NDArray[np.bool_]) -> DocumentArray:
    """Return the documents with only the marked words.

    Parameters
    ----------
    documents : DocumentArray of shape (n_documents,)
    kept : ndarray of bool, shape (n_words,)
        Whether each word of `documents` stays.

    Returns
    -------
    DocumentArray of shape (n_documents,)
        Sentences that lose all their words are dropped; documents stay, perhaps empty.

    Raises
    ------
    ValueError
        If `kept` is not boolean or does not have one value for each word.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han import DocumentArray
    >>> X = DocumentArray.from_nested([[[2, 3], [4]], [[5]]])
    >>> keep_words(X, np.array([True, False, False, False])).to_nested()
    [[[2]], []]
    """
    if kept.dtype != bool or kept.shape != (documents.n_words,):
        raise ValueError(
            f"kept must be boolean with one value for each of the {documents.n_words} words; "
            f"got dtype {kept.dtype} and shape {kept.shape}."
        )
    return documents.keep_words(kept)


def each_sentence_alone(documents: DocumentArray) -> DocumentArray:
    """Return each sentence as a document of its own, shape (N,)."""
    starts = np.arange(documents.n_sentences + 1)
    alone = DocumentArray(documents.word_ids, documents.sentence_starts, starts)
    if isinstance(documents, SentenceArray):
        return SentenceArray(alone, documents.vectors, documents.sentence_numbers)
    return alone


def without_each_word(documents: DocumentArray, max_words: int = 65_536) -> Iterator[DocumentArray]:
    """Yield a copy of its document without each word; batches of about `max_words` words."""
    one = np.ones(documents.n_words, dtype=np.int64)
    starts = documents.sentence_starts[documents.document_starts]
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    yield from _without_each(
        documents, np.arange(documents.n_words), one, document, starts, max_words
    )


def without_each_sentence(
    documents: DocumentArray, max_words: int = 65_536
) -> Iterator[DocumentArray]:
    """Yield a copy of its document without each sentence; batches of about `max_words`."""
    starts = documents.sentence_starts[documents.document_starts]
    document = np.repeat(np.arange(len(documents)), documents.sentences_per_document)
    lengths = documents.words_per_sentence
    yield from _without_each(
        documents, documents.sentence_starts[:-1], lengths, document, starts, max_words
    )


def _without_each(
    documents: DocumentArray,
    piece_starts: NDArray[np.int64],
    piece_lengths: NDArray[np.int64],
    document_of_piece: NDArray[np.int64],
    word_starts: NDArray[np.int64],
    max_words: int,
) -> Iterator[DocumentArray]:
    """Leave out each piece, a run of words, in turn."""
    words_before = starts_of(documents.words_per_document[document_of_piece])
    first = 0
    while first < len(piece_starts):
        fitting = np.searchsorted(words_before, words_before[first] + max_words, side="right") - 1
        pieces = slice(first, max(first + 1, int(fitting)))
        copies = documents[document_of_piece[pieces]]
        # From offsets in `documents` to offsets in `copies`.
        shift = words_before[pieces] - words_before[first] - word_starts[document_of_piece[pieces]]
        kept = np.ones(copies.n_words, dtype=bool)
        kept[concatenated_ranges(piece_starts[pieces] + shift, piece_lengths[pieces])] = False
        yield keep_words(copies, kept)
        first = pieces.stop
