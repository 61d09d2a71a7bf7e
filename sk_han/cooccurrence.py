"""Word vectors learnt from text without labels: from the company that words keep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from sk_han.documents import UNKNOWN_ID, DocumentArray

__all__ = ["cooccurrence_vectors"]

# The exponent of Levy, Goldberg and Dagan (2015): without it, rare contexts weigh too much.
_CONTEXT_SMOOTHING = 0.75

_WORDS_AT_ONCE = 1 << 20  # counted at once, for the memory that their pairs take


def cooccurrence_vectors(
    documents: DocumentArray,
    shape: tuple[int, int],
    *,
    window: int = 5,
    scale: float = 0.1,
    random_state: np.random.RandomState | int | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Factorize how much more often than by chance words stand near each other.

    The truncated singular value decomposition of the positive pointwise mutual information of
    words and contexts, ``U sqrt(S)``, as recommended by Levy, Goldberg and Dagan (2015); a
    neighbour at distance d counts 1/d. Every vector is then brought to the length
    ``scale * sqrt(embedding_dim)``, that of random initial vectors.

    Parameters
    ----------
    documents : DocumentArray
    shape : (vocabulary_size, embedding_dim)
    window : int, default=5
        Largest distance of a neighbour, within a document.
    scale : float, default=0.1
        Root mean square of the entries.
    random_state : int, RandomState instance or None, default=None
        Source of the vectors of words that have no neighbours, and of the decomposition.

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
    vectors = rng.normal(scale=scale, size=shape)
    information = _positive_mutual_information(_counts(documents, vocabulary_size, window))
    learnt = information.getnnz(axis=1) > 0
    rank = min(embedding_dim, learnt.sum() - 1)
    if rank < 1:
        return vectors.astype(np.float32), np.zeros(vocabulary_size, dtype=bool)
    left, singular_values, _ = randomized_svd(
        information[learnt], rank, n_iter=2, n_oversamples=20, random_state=rng
    )
    vectors[learnt, :rank] = left * np.sqrt(singular_values)
    vectors[learnt, rank:] = 0
    lengths = np.linalg.norm(vectors[learnt], axis=1, keepdims=True)
    vectors[learnt] *= scale * np.sqrt(embedding_dim) / np.maximum(lengths, 1e-12)
    return vectors.astype(np.float32), learnt


def _counts(documents: DocumentArray, vocabulary_size: int, window: int) -> csr_matrix:
    """Weighted number of times that two words are neighbours, shape (V, V), symmetric."""
    counts = csr_matrix((vocabulary_size, vocabulary_size), dtype=np.float32)
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    word_ids = documents.word_ids.astype(np.int64)
    for start in range(0, len(word_ids), _WORDS_AT_ONCE):
        stop = start + _WORDS_AT_ONCE
        pairs, shares = [], []
        for distance in range(1, window + 1):
            # The right neighbour may lie beyond `stop`.
            right = word_ids[start + distance : stop + distance]
            left = word_ids[start:stop][: len(right)]
            of_left = document[start:stop][: len(right)]
            known = (left > UNKNOWN_ID) & (right > UNKNOWN_ID)
            near = known & (of_left == document[start + distance : stop + distance])
            pairs.append(left[near] * vocabulary_size + right[near])
            shares.append(np.full(len(pairs[-1]), 1 / distance))
        distinct, pair = np.unique(np.concatenate(pairs), return_inverse=True)
        count = np.bincount(pair, np.concatenate(shares)).astype(np.float32)
        counts += csr_matrix(
            (count, np.divmod(distinct, vocabulary_size)), (vocabulary_size, vocabulary_size)
        )
    return (counts + counts.T).tocsr()


def _positive_mutual_information(counts: csr_matrix) -> csr_matrix:
    """Log of how much more often than by chance words are neighbours, where it is positive."""
    of_word = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()  # (V,)
    of_context = of_word**_CONTEXT_SMOOTHING
    word = np.repeat(np.arange(len(of_word)), np.diff(counts.indptr))
    expected = of_word[word] * of_context[counts.indices] / of_context.sum()
    information = counts.copy()
    information.data = np.maximum(np.log(counts.data / expected), 0).astype(np.float32)
    information.eliminate_zeros()
    return information
