"""Kernel of the n-gram model: scores of documents, and the contributions of words to them.

All n-grams of one size in a sentence are looked up before any is used, so that loads from the
table, which is larger than the cache, overlap. `sk_han._parts.ngram_model` computes the same in
NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import float32, float64, int32, int64, uint64, void
from numpy.typing import NDArray

from sk_han._kernels.vectors import draw, inner_jit, jit, readonly

# The hash function is that of `sk_han._parts.ngrams`. It must not change: stored models identify
# n-grams by their hash values.
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT_OF_SLOT = np.uint64(32)
_SHIFT_1, _SHIFT_2, _SHIFT_OF_BUCKET = np.uint64(29), np.uint64(31), np.uint64(64 - 22)


@inner_jit(void, readonly(int32), int64, int64, int64, readonly(int32), uint64[::1], int32[::1])
def _look_up(
    word_ids: NDArray[np.int32],
    start: int,
    n_ngrams: int,
    n: int,
    column_table: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    columns: NDArray[np.int32],
) -> None:
    """Extend the hash values of n - 1 words by the n-th, and look up columns; -1 is unknown."""
    for i in range(n_ngrams):
        mixed = np.uint64(word_ids[start + i + n - 1]) * _MIX_1
        mixed ^= mixed >> _SHIFT_1
        if n > 1:
            mixed += hashes[i] * _MIX_2
            mixed ^= mixed >> _SHIFT_2
        hashes[i] = mixed
    for i in range(n_ngrams):
        columns[i] = column_table[(hashes[i] * _MIX_1) >> _SHIFT_OF_BUCKET] - 1


@inner_jit(int64, int32, uint64, int32[::1], int64, int32[::1], int64)
def _distinct_number(
    column: int,
    factor: int,
    table: NDArray[np.int32],
    mask: int,
    distinct: NDArray[np.int32],
    n_distinct: int,
) -> int | np.int64:
    """Return the number of a column among the distinct ones of a document.

    A new column gets the number `n_distinct`. `table` is a hash table of such numbers with linear
    probing, and -1 in free slots.
    """
    slot = np.int64((np.uint64(column) * factor) >> _SHIFT_OF_SLOT) & mask
    while table[slot] >= 0:
        if distinct[table[slot]] == column:
            return np.int64(table[slot])
        slot = (slot + 1) & mask
    table[slot] = n_distinct
    distinct[n_distinct] = column
    return n_distinct


@jit(
    void,
    int64[::1],
    *(int64,) * 2,
    readonly(int32),
    *(readonly(int64),) * 2,
    *(int64,) * 2,
    readonly(int32),
    uint64,
    *(readonly(float32, 2),) * 2,
    *(int64,) * 2,
    float64[:, ::1],
    readonly(float64, 2),
    float64[::1],
)
def scores(
    counter: NDArray[np.int64],
    n_tasks: int,
    task_size: int,  # in documents
    word_ids: NDArray[np.int32],
    sentence_starts: NDArray[np.int64],
    document_starts: NDArray[np.int64],
    smallest: int,
    largest: int,
    column_table: NDArray[np.int32],  # by hash value: the number of an n-gram from 1; 0: unknown
    factor: int,
    ratios: NDArray[np.float32],  # (F, S) or (F, 1)
    weights: NDArray[np.float32],  # (F, S)
    longest: int,  # number of words of the longest sentence
    most_ngrams: int,  # as many known n-grams, or more, as the documents with the most have
    result: NDArray[np.float64],  # (D, S), written
    factors: NDArray[np.float64],  # (D, S), or (0, S) where no contributions are wanted
    contributions: NDArray[np.float64],  # (n_words,) zeros; ``factors @ result`` is added
) -> None:
    """Compute scores of documents without the intercept, and on request contributions of words.

    `factor` is a random odd number of 64 bits, which decides on the slots of the hash table and
    changes no result. Nobody can write a document whose n-grams all collide.
    """
    n_documents, n_scores = result.shape
    n_ratios = ratios.shape[1]
    hashes, columns = np.empty(longest, np.uint64), np.empty(longest, np.int32)
    full_size = 16
    while full_size < 2 * most_ngrams:
        full_size *= 2
    table, distinct = np.empty(full_size, np.int32), np.empty(most_ngrams + 1, np.int32)
    lengths = np.empty(n_scores)
    values = np.empty(most_ngrams + 1 if len(factors) else 1)
    n_passes = 2 if len(factors) else 1
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        for document in range(task * task_size, (task + 1) * task_size):
            if document >= n_documents:
                break
            first, last = document_starts[document], document_starts[document + 1]
            n_words = sentence_starts[last] - sentence_starts[first]
            # A short document uses, and clears, only the beginning of the table.
            size = 16
            while size < 2 * n_words * (largest - smallest + 1) and size < full_size:
                size *= 2
            for i in range(size):
                table[i] = -1
            n_distinct = 0
            # The first pass collects the distinct n-grams and computes the scores. The second
            # divides the contribution of an n-gram among its occurrences, and these among their
            # words.
            for turn in range(n_passes):
                for sentence in range(first, last):
                    start = sentence_starts[sentence]
                    for n in range(1, largest + 1):
                        n_ngrams = sentence_starts[sentence + 1] - start - n + 1
                        if n_ngrams <= 0:
                            break
                        _look_up(word_ids, start, n_ngrams, n, column_table, hashes, columns)
                        if n < smallest:
                            continue
                        for i in range(n_ngrams):
                            if columns[i] < 0:
                                continue
                            number = _distinct_number(
                                columns[i], factor, table, size - 1, distinct, n_distinct
                            )
                            if number == n_distinct:
                                n_distinct += 1
                                if n_passes == 2:
                                    values[number] = 0
                            if turn == 1:
                                for word in range(start + i, start + i + n):
                                    contributions[word] += values[number] / n
                            elif n_passes == 2:
                                values[number] += 1  # occurrences, until the end of this turn
                if turn == 1:
                    break
                for c in range(n_scores):
                    total, squares = 0.0, 0.0
                    for i in range(n_distinct):
                        ratio = np.float64(ratios[distinct[i], min(c, n_ratios - 1)])
                        squares += ratio * ratio
                        total += weights[distinct[i], c]
                    length = np.sqrt(squares) if squares > 0 else 1.0
                    result[document, c] = total / length
                    lengths[c] = length
                if n_passes == 2:
                    for i in range(n_distinct):
                        value = 0.0
                        for c in range(n_scores):
                            value += factors[document, c] * weights[distinct[i], c] / lengths[c]
                        values[i] = value / values[i]
