"""N-grams of words, and of characters within words, identified by hash values."""

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
    to_offsets,
)
from sk_han._utils.containers import Floats, Integers

# 25,000 film reviews contain about a million distinct word pairs; with 2**20 buckets, collisions
# reduced accuracy.
BITS = 22

# Documents whose n-grams are hashed at once, which limits the memory. The number of a document
# within the batch and a hash value fit into 32 bits together (`ngram_fitting.count_ngrams`).
BATCH_SIZE = 256

# Odd constants of the SplitMix64 generator (Steele, Lea and Flood, 2014).
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)

# For n-grams of characters, each word begins and ends with the boundary; characters are numbered
# from the second number on. Characters of a word beyond the limit are not read.
_BOUNDARY, _FIRST = 1, 2
LONGEST_WORD = 1_000

_Sliceable = TypeVar("_Sliceable", DocumentArray, Floats)


def check_ngram_range(
    ngram_range: Any, name: str = "linear_ngrams", unit: str = "words", example: str = "(1, 2)"
) -> None:
    """Raise a ValueError unless the range is None, or the smallest and largest number of words."""
    if ngram_range is None:
        return
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in ngram_range)
    if len(ngram_range) != 2 or not whole or not 1 <= ngram_range[0] <= ngram_range[1]:
        raise ValueError(
            f"{name} is {ngram_range!r}; give two numbers of {unit}, such as {example}, or None."
        )


def keyed_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.uint64], Integers, Integers]:
    """Return key, first word and number of words of each n-gram; a key extends the hash value."""
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


def to_buckets(keys: NDArray[np.uint64]) -> Integers:
    """Return the hash values of n-grams, which identify them in models, from their keys."""
    return (keys >> np.uint64(64 - BITS)).astype(np.int64)


def batches(rows: _Sliceable) -> Iterator[_Sliceable]:
    """Yield batches of documents or of their rows; an empty batch if there are no documents."""
    for start in range(0, max(len(rows), 1), BATCH_SIZE):
        yield rows[start : start + BATCH_SIZE]


def column_table(buckets: Integers) -> NDArray[np.int32]:
    """Return a lookup table from a hash value to the number of its column, from 1; 0 is unknown.

    The operating system provides pages of zeros on first access, so few n-grams take little memory.
    """
    table = np.zeros(1 << BITS, dtype=np.int32)
    table[buckets] = np.arange(1, len(buckets) + 1)
    return table


class WordTable(NamedTuple):
    """The spelling of the words of a vocabulary, for documents that only have word ids."""

    characters: NDArray[np.int32]  # code points, word after word
    lengths: NDArray[np.int32]  # (V,), of each word id; 0 of ids without a word

    @classmethod
    def from_vocabulary(cls, words: Mapping[str, int], vocabulary_size: int) -> WordTable:
        """Create the table of words with these ids."""
        of_id = [""] * vocabulary_size
        for word, number in words.items():
            of_id[number] = word[:LONGEST_WORD]
        return cls(*code_points(of_id))

    def spell(self, documents: DocumentArray) -> DocumentArray:
        """Return documents whose sentences are the words, and whose words are the characters.

        N-grams of the result are those of characters within words, as with scikit-learn's
        ``analyzer="char_wb"``.
        """
        codes, lengths, rows = *self, documents.word_ids
        if documents.spelling is not None:
            types, words = documents.spelling.compact()
            # The document's own words come first, then those of the table.
            own = code_points([word[:LONGEST_WORD] for word in words])
            rows = np.where(types >= 0, types, len(words) + documents.word_ids)
            codes, lengths = (np.concatenate(pair) for pair in zip(own, self, strict=True))
        of_word = lengths[rows].astype(np.int64)
        starts = to_offsets(of_word + 2)
        characters = np.full(starts[-1], _BOUNDARY, dtype=np.int32)
        inside = concatenated_ranges(starts[:-1] + 1, of_word)
        characters[inside] = codes[concatenated_ranges(to_offsets(lengths)[rows], of_word)] + _FIRST
        return DocumentArray._from_arrays(characters, starts, documents.word_starts)


def knows_words(documents: DocumentArray) -> bool:
    """Return whether the spelling of all words is known, from the vocabulary or the documents."""
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
    types, words = documents.spelling.compact()
    ids = np.zeros(len(words), dtype=np.int64)
    ids[types[types >= 0]] = documents.word_ids[types >= 0]
    pairs = zip(words, ids.tolist(), strict=True)
    return {word: number for word, number in pairs if number > UNKNOWN_ID}
