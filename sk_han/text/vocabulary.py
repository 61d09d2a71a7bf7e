"""Vocabularies: words and their ids, learnt from counts of texts or given by the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import repeat
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.text.word_types import Numbering, WordTypes
from sk_han.utils.counts import counted


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
        return types.documents(numbers.astype(np.int32) + 1, words)

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


_FIRST_ID = UNKNOWN_ID + 1


def learn_vocabulary(
    counts: WordCounts, *, min_df: float = 1, max_features: int | None = None
) -> dict[str, int]:
    """Number words from 2 by falling frequency, then alphabetically; see `needs_documents`."""
    words, occurrences = counts.words, counts.occurrences
    least = min_df if isinstance(min_df, Integral) else min_df * counts.n_documents
    kept = occurrences > 0  # stop words and words beyond a limit have a type, but no count
    if not kept.any():
        raise ValueError(
            "empty vocabulary; perhaps the documents are blank, only contain stop words, or "
            "token_pattern matches none of their words"
        )
    if least > 1:
        assert counts.documents is not None  # see `needs_documents`
        kept &= counts.documents >= least
        if not kept.any():
            raise ValueError(
                f"After pruning, no terms remain: no word occurs in {least:g} of "
                f"{counted(counts.n_documents)}. Try a lower min_df."
            )
    by_rank = sorted(np.flatnonzero(kept).tolist(), key=lambda i: (-occurrences[i], words[i]))[
        :max_features
    ]
    return {words[i]: rank for rank, i in enumerate(by_rank, start=_FIRST_ID)}


def needs_documents(min_df: float) -> bool:
    """Return whether `learn_vocabulary` needs the number of documents with each word."""
    return min_df > 1 if isinstance(min_df, Integral) else min_df > 0


def check_vocabulary(vocabulary: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
    """Return a given vocabulary as a checked dict: ids by word, words in order, or a sorted set."""
    if isinstance(vocabulary, str):
        raise TypeError(f"vocabulary must hold words; got the string {vocabulary!r}.")
    if isinstance(vocabulary, Mapping):
        words, ids = list(vocabulary), list(vocabulary.values())
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, Set) else list(vocabulary)
        ids = list(range(_FIRST_ID, _FIRST_ID + len(words)))
    if not words:
        raise ValueError("empty vocabulary; leave it out (None) to learn it from the documents.")
    largest = np.iinfo(np.int32).max  # outside of the loop: a model file has 80,000 words
    for word, i in zip(words, ids, strict=True):
        if not isinstance(word, str):
            raise TypeError(f"vocabulary has {word!r} of type {type(word).__name__} for a word.")
        if type(i) is not int and (not isinstance(i, Integral) or isinstance(i, bool)):
            raise TypeError(f"vocabulary gives {word!r} the id {i!r}, which is not an integer.")
        if i < _FIRST_ID:
            raise ValueError(
                f"vocabulary gives {word!r} the id {i}; ids start at {_FIRST_ID}, for 0 is the "
                "padding and 1 the unknown word."
            )
        if int(i) > largest:
            raise ValueError(f"vocabulary gives {word!r} the id {i}, which is beyond 2**31 - 1.")
    checked = {word: int(i) for word, i in zip(words, ids, strict=True)}
    if len(checked) < len(words):
        raise ValueError(f"Duplicate term in vocabulary: {_repeated(words)!r}.")
    if len(set(ids)) < len(ids):
        raise ValueError(f"vocabulary gives the id {_repeated(ids)!r} to several words.")
    return checked


def _repeated(values: list[object]) -> object:
    seen: set[object] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
