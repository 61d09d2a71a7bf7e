"""Counts of the words of texts that are read in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.text.word_types import Numbering, WordTypes


class WordCounts:
    """How often each word occurs, exactly; at most 300 bytes a distinct word.

    Words are numbered from 1, in the order in which they first occur.
    """

    def __init__(self, *, of_documents: bool) -> None:
        self.n_documents = 0
        self._number_of = Numbering()
        # Of each word; 0 for words that were left out.
        self.occurrences: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.documents = self.occurrences if of_documents else None

    def add(self, types: WordTypes, words: list[str]) -> DocumentArray:
        """Count a further chunk of texts, whose types mean these words; several may mean the same.

        Return its documents, with numbers of words for ids; see `ids`.
        """
        number = np.fromiter(map(self._number_of.__getitem__, words), np.int64, len(words))
        numbers = number[types.numbers]  # (n_words,)
        self.n_documents += len(types.sentences_per_document)
        self.occurrences = self._sum(self.occurrences, numbers)
        if self.documents is not None:
            once = _once_a_document(numbers, types.words_per_document, len(self._number_of))
            self.documents = self._sum(self.documents, once)
        return DocumentArray._of_lengths(
            numbers.astype(np.int32) + 1, types.words_per_sentence, types.sentences_per_document
        )

    @property
    def words(self) -> list[str]:
        """The words, in the order of their numbers."""
        return list(self._number_of)

    def ids(self, vocabulary: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the id of the word of each number, at the index of the number."""
        found = map(vocabulary.get, self._number_of, repeat(UNKNOWN_ID))
        ids = np.empty(len(self._number_of) + 1, dtype=np.int32)
        ids[0], ids[1:] = UNKNOWN_ID, np.fromiter(found, np.int32, len(self._number_of))
        return ids

    def _sum(self, counts: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.bincount(numbers, minlength=len(self._number_of))
        total[: len(counts)] += counts
        return total


def _once_a_document(
    numbers: NDArray[np.int64], words_per_document: NDArray[np.int64], n_distinct: int
) -> NDArray[np.int64]:
    """Return the distinct numbers of each document, of all documents."""
    document = np.repeat(np.arange(len(words_per_document)), words_per_document)
    return np.unique(document * n_distinct + numbers) % n_distinct
