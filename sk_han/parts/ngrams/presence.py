"""Which n-grams occur in which documents, as a sparse matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, vstack

from sk_han.documents import DocumentArray
from sk_han.parts.ngrams.hashing import BITS, batches, column_table, hash_ngrams
from sk_han.utils.containers import Integers

# So few occurrences are sorted in less time than an array of all hash values is walked through.
_FEW = 1 << 16


def presences(
    documents: DocumentArray, ngram_range: tuple[int, int], buckets: Integers | None = None
) -> csr_matrix:
    """Mark the n-grams of each document with 1, (D, F), or (D, number of hash values) for all.

    Of the `buckets`, in rising order. Rows have sorted indices.
    """
    n_columns = 1 << BITS if buckets is None else len(buckets)
    column_of = None if buckets is None else column_table(buckets)
    found = []
    for batch in batches(documents):
        columns, first_words = hash_ngrams(batch, ngram_range)
        rows = np.repeat(np.arange(len(batch)), batch.words_per_document)[first_words]
        if column_of is not None:
            columns = column_of[columns].astype(np.int64) - 1
            rows, columns = rows[columns >= 0], columns[columns >= 0]
        # Row and column in one number of 32 bits: NumPy sorts these several times as quickly as
        # SciPy sorts the columns of each row.
        entries = np.sort((rows << BITS | columns).astype(np.uint32))
        is_first = np.ones(len(entries), dtype=bool)  # of equal ones
        np.not_equal(entries[1:], entries[:-1], out=is_first[1:])
        entries = entries[is_first]
        starts = np.searchsorted(entries, np.arange(len(batch) + 1, dtype=np.uint32) << BITS)
        columns = (entries & np.uint32((1 << BITS) - 1)).astype(np.int32)
        ones = np.ones(len(columns), dtype=np.float32)
        found.append(csr_matrix((ones, columns, starts), shape=(len(batch), n_columns)))
    return vstack(found, format="csr")


def frequent_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int], least: int
) -> tuple[Integers, csr_matrix]:
    """Mark n-grams that occur in at least so many documents: their hash values (F,), and (D, F)."""
    present = presences(documents, ngram_range)
    buckets = None
    if present.nnz < _FEW:
        buckets, columns = np.unique(present.indices, return_inverse=True)
        present = csr_matrix(
            (present.data, columns, present.indptr), (len(documents), len(buckets))
        )
    kept = np.flatnonzero(present.getnnz(axis=0) >= least)
    return kept if buckets is None else buckets[kept].astype(np.int64), present[:, kept]


def document_counts(documents: DocumentArray, ngram_range: tuple[int, int]) -> Integers:
    """Count the documents with each n-gram, shape (number of hash values,)."""
    counts = np.zeros(1 << BITS, dtype=np.int64)
    for batch in batches(documents):
        np.add.at(counts, presences(batch, ngram_range).indices, 1)
    return counts
