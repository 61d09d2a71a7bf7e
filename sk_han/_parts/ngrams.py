"""N-grams of words, and of characters within words, which models know by their hash values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import (
    UNKNOWN_ID,
    DocumentArray,
    code_points,
    concatenated_ranges,
    starts_of,
)
from sk_han._utils.containers import Floats, Integers

# 25,000 film reviews contain about a million distinct pairs of words. With 2**20 buckets,
# collisions cost accuracy.
BITS = 22

# Documents whose n-grams are hashed at once, which bounds the memory. The number of a document and
# a hash value fit into 32 bits (`ngram_fitting.count_ngrams`).
BATCH_SIZE = 256

# Odd constants of the SplitMix64 generator (Steele, Lea and Flood, 2014).
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)

_BOUNDARY = 1  # stands before and after each word
_FIRST = 2  # number of the first character of Unicode
LONGEST_WORD = 1_000  # characters of a word that are read

_Sliceable = TypeVar("_Sliceable", DocumentArray, Floats)


def check_ngram_range(
    ngram_range: Any, name: str = "linear_ngrams", unit: str = "words", example: str = "(1, 2)"
) -> None:
    """Raise a ValueError unless the range is None or a pair of numbers of words, or of `unit`."""
    if ngram_range is None:
        return
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in ngram_range)
    if len(ngram_range) != 2 or not whole or not 1 <= ngram_range[0] <= ngram_range[1]:
        raise ValueError(
            f"{name} is {ngram_range!r}; it takes the smallest and the largest number of {unit}, "
            f"such as {example}, or None for no such model."
        )


def keyed_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.uint64], Integers, Integers]:
    """Return key, first word and number of words of every n-gram; keys differ within a bucket."""
    n_words = documents.n_words
    sentence = np.repeat(np.arange(documents.n_sentences), documents.words_per_sentence)
    mixed = documents.word_ids.astype(np.uint64) * _MIX_1
    mixed ^= mixed >> np.uint64(29)
    none = np.empty(0, dtype=np.int64)
    hashes, keys, first_words, sizes = mixed, [none.astype(np.uint64)], [none], [none]
    longest = int(documents.words_per_sentence.max(initial=0))
    for n in range(1, min(ngram_range[1], longest) + 1):
        if n > 1:
            hashes = hashes[:-1] * _MIX_2 + mixed[n - 1 :]
            hashes ^= hashes >> np.uint64(31)
        if n >= ngram_range[0]:
            first = np.flatnonzero(sentence[: n_words - n + 1] == sentence[n - 1 :])
            keys.append(hashes[first] * _MIX_1)
            first_words.append(first)
            sizes.append(np.full(len(first), n))
    return np.concatenate(keys), np.concatenate(first_words), np.concatenate(sizes)


def buckets_of(keys: NDArray[np.uint64]) -> Integers:
    """Return the hash values of n-grams, by which models know them, from their keys."""
    return (keys >> np.uint64(64 - BITS)).astype(np.int64)


def batches(rows: _Sliceable) -> Iterator[_Sliceable]:
    """Yield the rows of each batch of documents; of no documents, an empty batch."""
    for start in range(0, max(len(rows), 1), BATCH_SIZE):
        yield rows[start : start + BATCH_SIZE]


def column_table(buckets: Integers) -> NDArray[np.int32]:
    """Return a look-up table from a hash value to the number of its column, from 1, else 0.

    The system gives a page of zeros when one of it is first read, so few n-grams cost little.
    """
    table = np.zeros(1 << BITS, dtype=np.int32)
    table[buckets] = np.arange(1, len(buckets) + 1)
    return table


class WordTable(NamedTuple):
    """The spelling of the words of a vocabulary, for documents that hold word ids alone."""

    characters: NDArray[np.int32]  # code points, word after word
    lengths: NDArray[np.int32]  # (V,), of each word id; 0 of ids without a word

    @classmethod
    def of(cls, words: Mapping[str, int], vocabulary_size: int) -> WordTable:
        """Return the table of words with their ids."""
        of_id = [""] * vocabulary_size
        for word, number in words.items():
            of_id[number] = word[:LONGEST_WORD]
        return cls(*code_points(of_id))

    def spell(self, documents: DocumentArray) -> DocumentArray:
        """Return the documents with words in place of sentences, and characters in place of words.

        The n-grams of the result are those of characters within words, as in scikit-learn's
        ``analyzer="char_wb"``.
        """
        codes, lengths, rows = *self, documents.word_ids
        if documents.spelling is not None:
            types, words = documents.spelling.used()
            found = code_points([word[:LONGEST_WORD] for word in words])
            rows = np.where(types >= 0, types, len(words) + documents.word_ids)
            codes, lengths = (np.concatenate(pair) for pair in zip(found, self, strict=True))
        of_word = lengths[rows].astype(np.int64)
        starts = starts_of(of_word + 2)
        characters = np.full(starts[-1], _BOUNDARY, dtype=np.int32)
        inside = concatenated_ranges(starts[:-1] + 1, of_word)
        characters[inside] = codes[concatenated_ranges(starts_of(lengths)[rows], of_word)] + _FIRST
        return DocumentArray._checked(characters, starts, documents.word_starts)


def knows_words(documents: DocumentArray) -> bool:
    """Return whether the spelling of all words is known, by the vocabulary or the documents."""
    unknown = documents.word_ids == UNKNOWN_ID
    if documents.spelling is not None:
        unknown &= documents.spelling.types < 0
    return not unknown.any()


def n_characters(documents: DocumentArray) -> int:
    """Count the characters of documents with the spelling of their words."""
    assert documents.spelling is not None
    types, words = documents.spelling
    counts = np.bincount(types[types >= 0], minlength=len(words))
    return int(counts @ np.fromiter(map(len, words), np.int64, len(words)))


def words_by_id(documents: DocumentArray) -> dict[str, int]:
    """Return the words of documents that hold their spelling, with their ids."""
    if documents.spelling is None:
        return {}
    types, words = documents.spelling.used()
    ids = np.zeros(len(words), dtype=np.int64)
    ids[types[types >= 0]] = documents.word_ids[types >= 0]
    pairs = zip(words, ids.tolist(), strict=True)
    return {word: number for word, number in pairs if number > UNKNOWN_ID}
