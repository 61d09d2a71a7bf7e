"""Word vectors learnt from text without labels, by the co-occurrence of words."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.documents.offsets import sampled_rows
from sk_han.embeddings.svd import left_singular_vectors

# The exponent of Levy, Goldberg and Dagan (2015). Without it, rare contexts have too much weight.
_CONTEXT_SMOOTHING = 0.75

_WINDOW = 5  # words up to this distance are neighbours
_UNIT = math.lcm(*range(1, _WINDOW + 1))  # a number that every distance divides

_SCALE = 0.1  # deviation of the numbers in a vector, as of the network's random ones

_WORDS_AT_ONCE = 1 << 20  # words counted at once; it bounds the memory of their pairs
_MOST_WORDS = 1 << 24  # words counted in all; it bounds the memory of the counts to a GB or two


def cooccurrence_vectors(
    documents: DocumentArray,
    shape: tuple[int, int],
    *,
    weights: NDArray[np.float64] | None = None,
    random_state: np.random.RandomState | int | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Factorize the positive pointwise mutual information (PPMI) of words and their neighbours.

    The vectors are ``U sqrt(S)`` of the truncated singular value decomposition, as recommended by
    Levy, Goldberg and Dagan (2015, TACL); a neighbour at distance d counts 1/d. Every vector is
    then scaled to the length ``0.1 * sqrt(embedding_dim)``, that of random initial vectors. Of
    more than 16 million words, those of a random sample of documents are counted, and only a part
    of its last document.

    Positive ``weights`` (D,) say how often each document counts. If all are integer multiples of
    the smallest, a document of twice that weight has the same result, bit by bit, as two copies of
    it. Returned are vectors of this shape, and whether the vector of each word is learnt: those of
    padding, of the unknown word and of words without neighbours are random.
    """
    rng = check_random_state(random_state)
    vocabulary_size, embedding_dim = shape
    vectors = rng.normal(scale=_SCALE, size=shape).astype(np.float32)
    weights = np.ones(len(documents)) if weights is None else _multiples(weights)
    if documents.n_words > _MOST_WORDS:
        rows = sampled_rows(documents.words_per_document, _MOST_WORDS, rng)
        documents, weights = documents[rows], weights[rows]
    counts = _counts(documents, weights, vocabulary_size)
    information = _positive_mutual_information(counts)
    learnt = information.getnnz(axis=1) > 0
    rank = min(embedding_dim, learnt.sum() - 1)
    if rank < 1:
        return vectors, np.zeros(vocabulary_size, dtype=bool)
    left, singular_values = left_singular_vectors(information[learnt], rank, rng)
    vectors[learnt, :rank] = left * np.sqrt(singular_values)
    vectors[learnt, rank:] = 0
    lengths = np.linalg.norm(vectors[learnt], axis=1, keepdims=True)
    vectors[learnt] *= _SCALE * np.sqrt(embedding_dim) / np.maximum(lengths, 1e-12)
    return vectors, learnt


def _multiples(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the smallest weight, and correct the rounding errors of whole numbers."""
    multiples = weights / weights.min()
    if not multiples.max() < 2**32:  # beyond it sums of counts would not be exact
        return weights
    whole = np.rint(multiples)
    return np.where(np.abs(multiples - whole) < 1e-12 * whole, whole, multiples)


def _counts(
    documents: DocumentArray, weights: NDArray[np.float64], vocabulary_size: int
) -> csr_matrix:
    """Count how often two words are neighbours, times `_UNIT`, shape (V, V), symmetric.

    If weights are whole numbers, counts are too, and their sums are exact in any order. This
    matters: if singular values are close, the last bit can change the vectors.
    """
    shape = (vocabulary_size, vocabulary_size)
    counts = csr_matrix(shape, dtype=np.float64)
    # The last document of a sample may reach beyond the limit.
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)[:_MOST_WORDS]
    word_ids = documents.word_ids[:_MOST_WORDS]
    for start in range(0, len(word_ids), _WORDS_AT_ONCE):
        stop = start + _WORDS_AT_ONCE
        lefts, rights, shares = [], [], []
        for distance in range(1, _WINDOW + 1):
            # The right neighbour may lie beyond `stop`.
            right = word_ids[start + distance : stop + distance]
            left = word_ids[start:stop][: len(right)]
            left_document = document[start:stop][: len(right)]
            known = (left > UNKNOWN_ID) & (right > UNKNOWN_ID)
            near = known & (left_document == document[start + distance : stop + distance])
            lefts.append(left[near])
            rights.append(right[near])
            shares.append(weights[left_document[near]] * (_UNIT / distance))
        pairs = (np.concatenate(lefts), np.concatenate(rights))
        counts += csr_matrix((np.concatenate(shares), pairs), shape)  # sums equal pairs
    return (counts + counts.T).tocsr()


def _positive_mutual_information(counts: csr_matrix) -> csr_matrix:
    """Compute the logarithm of observed by expected counts of neighbours where it is positive."""
    word_shares = np.asarray(counts.sum(axis=1)).ravel()  # (V,)
    total = word_shares.sum()
    # Quotients of exact counts do not change when all counts are multiplied.
    word_shares /= max(total, 1)
    context_shares = word_shares**_CONTEXT_SMOOTHING
    word = np.repeat(np.arange(len(word_shares)), np.diff(counts.indptr))
    expected = word_shares[word] * context_shares[counts.indices] / context_shares.sum()
    information = counts.copy()
    information.data = np.maximum(np.log(counts.data / total / expected), 0).astype(np.float32)
    information.eliminate_zeros()
    return information
