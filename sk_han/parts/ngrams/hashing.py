"""Hash values of the n-grams of documents."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.utils.containers import Floats, Integers

# 25,000 film reviews contain about a million distinct pairs of words. With 2**20 buckets,
# collisions cost accuracy.
BITS = 22

# Documents whose n-grams are hashed at once, which bounds the memory. The number of a document and
# a hash value have room in 32 bits (presence.py).
BATCH_SIZE = 256

# Odd constants of the SplitMix64 generator (Steele, Lea and Flood, 2014).
MIX_1 = np.uint64(0x9E3779B97F4A7C15)
MIX_2 = np.uint64(0xBF58476D1CE4E5B9)

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


def hash_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[Integers, Integers]:
    """Return the bucket of every n-gram, and the position of its first word in ``word_ids``."""
    keys, first_words, _ = keyed_ngrams(documents, ngram_range)
    return buckets_of(keys), first_words


def keyed_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.uint64], Integers, Integers]:
    """Return key, first word and number of words of every n-gram; keys differ within a bucket."""
    n_words = documents.n_words
    sentence = np.repeat(np.arange(documents.n_sentences), documents.words_per_sentence)
    mixed = documents.word_ids.astype(np.uint64) * MIX_1
    mixed ^= mixed >> np.uint64(29)
    none = np.empty(0, dtype=np.int64)
    hashes, keys, first_words, sizes = mixed, [none.astype(np.uint64)], [none], [none]
    longest = int(documents.words_per_sentence.max(initial=0))
    for n in range(1, min(ngram_range[1], longest) + 1):
        if n > 1:
            hashes = hashes[:-1] * MIX_2 + mixed[n - 1 :]
            hashes ^= hashes >> np.uint64(31)
        if n >= ngram_range[0]:
            first = np.flatnonzero(sentence[: n_words - n + 1] == sentence[n - 1 :])
            keys.append(hashes[first] * MIX_1)
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


class Occurrences(NamedTuple):
    """Each occurrence of an n-gram that has a column."""

    keys: NDArray[np.uint64]
    first_words: Integers
    sizes: Integers  # in words
    rows: Integers  # its document
    columns: Integers


def known_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int], column_of: NDArray[np.int32]
) -> Occurrences:
    """Find the occurrences of n-grams that have a column in a `column_table`."""
    keys, first, sizes = keyed_ngrams(documents, ngram_range)
    columns = column_of[buckets_of(keys)] - 1
    known = columns >= 0
    first = first[known]
    rows = np.repeat(np.arange(len(documents)), documents.words_per_document)[first]
    return Occurrences(keys[known], first, sizes[known], rows, columns[known].astype(np.int64))
