"""Word vectors learnt from text without labels: from the company that words keep."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from sk_han.documents import UNKNOWN_ID, DocumentArray

__all__ = ["cooccurrence_vectors"]

# The exponent of Levy, Goldberg and Dagan (2015): without it, rare contexts weigh too much.
_CONTEXT_SMOOTHING = 0.75

_WORDS_AT_ONCE = 1 << 20  # counted at once, for the memory that their pairs take
_MOST_WORDS = 1 << 24  # counted at all, for the memory of the counts: a GB or two


def cooccurrence_vectors(
    documents: DocumentArray,
    shape: tuple[int, int],
    *,
    weights: NDArray[np.float64] | None = None,
    window: int = 5,
    scale: float = 0.1,
    random_state: np.random.RandomState | int | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Factorize how much more often than by chance words stand near each other.

    The truncated singular value decomposition of the positive pointwise mutual information of
    words and contexts, ``U sqrt(S)``, as recommended by Levy, Goldberg and Dagan (2015); a
    neighbour at distance d counts 1/d. Every vector is then brought to the length
    ``scale * sqrt(embedding_dim)``, that of random initial vectors. Of more than 16 million words
    those of documents drawn at random are counted, the last of them in part.

    Parameters
    ----------
    documents : DocumentArray
    shape : (vocabulary_size, embedding_dim)
    weights : ndarray of shape (D,), default=None
        How often each document counts; None counts each once. Positive; only their ratios matter.
        Where all are whole multiples of the smallest, a document of twice that weight gives the
        same bits as two copies of it.
    window : int, default=5
        Largest distance of a neighbour, within a document.
    scale : float, default=0.1
        Root mean square of the entries.
    random_state : int, RandomState instance or None, default=None
        Source of the vectors of words that have no neighbours, of the sample, and of the
        decomposition.

    Returns
    -------
    vectors : ndarray of float32, shape `shape`
    learnt : ndarray of bool, shape (vocabulary_size,)
        Which words' vectors come from the text. Those of padding and of the unknown word do not.

    References
    ----------
    Levy, Goldberg, Dagan (2015). Improving Distributional Similarity with Lessons Learned from
    Word Embeddings. TACL.
    """
    rng = check_random_state(random_state)
    vocabulary_size, embedding_dim = shape
    vectors = rng.normal(scale=scale, size=shape).astype(np.float32)
    weights = np.ones(len(documents)) if weights is None else _multiples(weights)
    if documents.n_words > _MOST_WORDS:
        order = rng.permutation(len(documents))
        n_words = np.cumsum(documents.words_per_document[order])
        rows = order[: np.searchsorted(n_words, _MOST_WORDS) + 1]
        documents, weights = documents[rows], weights[rows]
    counts = _counts(documents, weights, vocabulary_size, window)
    information = _positive_mutual_information(counts)
    learnt = information.getnnz(axis=1) > 0
    rank = min(embedding_dim, learnt.sum() - 1)
    if rank < 1:
        return vectors, np.zeros(vocabulary_size, dtype=bool)
    # Where singular values are close, vectors turn with the rounding, which follows the threads.
    with threadpool_limits(1, user_api="blas"):
        left, singular_values, _ = randomized_svd(
            information[learnt], rank, n_iter=2, n_oversamples=20, random_state=rng
        )
    vectors[learnt, :rank] = left * np.sqrt(singular_values)
    vectors[learnt, rank:] = 0
    lengths = np.linalg.norm(vectors[learnt], axis=1, keepdims=True)
    vectors[learnt] *= scale * np.sqrt(embedding_dim) / np.maximum(lengths, 1e-12)
    return vectors, learnt


def _multiples(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the smallest weight, and round off what division left of whole numbers."""
    multiples = weights / weights.min()
    if not multiples.max() < 2**32:  # beyond it sums of counts would not be exact
        return weights
    whole = np.rint(multiples)
    return np.where(np.abs(multiples - whole) < 1e-12 * whole, whole, multiples)


def _unit(window: int) -> int:
    """Return a number that every distance up to `window` (or 20) divides."""
    return math.lcm(*range(1, min(window, 20) + 1))


def _counts(
    documents: DocumentArray, weights: NDArray[np.float64], vocabulary_size: int, window: int
) -> csr_matrix:
    """Count how often two words are neighbours, times `_unit`, shape (V, V), symmetric.

    Counts of documents with whole weights are whole numbers, and so exact in whatever order they
    are added up. That matters: where singular values are close, a last bit turns the vectors.
    """
    shape, unit = (vocabulary_size, vocabulary_size), _unit(window)
    counts = csr_matrix(shape, dtype=np.float64)
    # The last document of a sample may reach beyond the limit.
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)[:_MOST_WORDS]
    word_ids = documents.word_ids[:_MOST_WORDS]
    for start in range(0, len(word_ids), _WORDS_AT_ONCE):
        stop = start + _WORDS_AT_ONCE
        lefts, rights, shares = [], [], []
        for distance in range(1, window + 1):
            # The right neighbour may lie beyond `stop`.
            right = word_ids[start + distance : stop + distance]
            left = word_ids[start:stop][: len(right)]
            of_left = document[start:stop][: len(right)]
            known = (left > UNKNOWN_ID) & (right > UNKNOWN_ID)
            near = known & (of_left == document[start + distance : stop + distance])
            lefts.append(left[near])
            rights.append(right[near])
            shares.append(weights[of_left[near]] * (unit / distance))
        pairs = (np.concatenate(lefts), np.concatenate(rights))
        counts += csr_matrix((np.concatenate(shares), pairs), shape)  # adds equal pairs up
    return (counts + counts.T).tocsr()


def _positive_mutual_information(counts: csr_matrix) -> csr_matrix:
    """Log of how much more often than by chance words are neighbours, where it is positive."""
    of_word = np.asarray(counts.sum(axis=1)).ravel()  # (V,)
    total = of_word.sum()
    # Quotients of exact counts: they have the same bits when all counts are multiplied.
    of_word /= max(total, 1)
    of_context = of_word**_CONTEXT_SMOOTHING
    word = np.repeat(np.arange(len(of_word)), np.diff(counts.indptr))
    expected = of_word[word] * of_context[counts.indices] / of_context.sum()
    information = counts.copy()
    information.data = np.maximum(np.log(counts.data / total / expected), 0).astype(np.float32)
    information.eliminate_zeros()
    return information
