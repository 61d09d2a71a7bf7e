"""Word vectors learned from co-occurrence, truncated SVD, and the initial vectors of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from sk_han._documents import UNKNOWN_ID, DocumentArray
from sk_han._documents.array import sampled_rows
from sk_han._kernels.engine import kernels, run_tasks
from sk_han._utils.messages import a_kind, agreeing, check_count, plural
from sk_han.embeddings._pretrained import Embeddings, embedding_matrix, running_share, word_ids

# Blocks of the Krylov space, ranges of rows of a sparse product, and rows of a portion.
_N_BLOCKS, _N_RANGES, _ROWS_AT_ONCE = 5, 64, 1 << 12
# Smaller parts, relative to the largest square or the largest singular value, are rounding errors.
_NO_OWN_PART, _ROUNDING = 1e-10, 1e-3


def left_singular_vectors(
    matrix: csr_matrix, rank: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Approximate the left singular vectors (M, rank) and values (rank,) by truncated SVD.

    This is the randomized block Krylov method of Musco and Musco (2015, NeurIPS). The vectors are
    searched in the space spanned by a block of random directions, a third as many as the rank, and
    its repeated products with the matrix and its transpose. Large values are exact and the last
    ones too small, which suits latent directions: subspace iteration (Halko, Martinsson and Tropp,
    2011, SIAM Review) with two iterations takes longer, and costs half a point of accuracy
    (docs/what_was_tried.md). The result does not depend on the number of threads.
    """
    is_wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T.tocsr() if is_wide else matrix  # (L, N), N the smaller
    transposed = matrix if is_wide else matrix.T.tocsr()
    n = tall.shape[1]
    width = min(rank // 3 + 10, n)
    block = random_state.normal(size=(n, width)).astype(np.float32)
    basis, images = (np.empty((n, 0), dtype=np.float32) for _ in range(2))  # (N, B)
    # If singular values are close, the vectors depend on rounding, which depends on BLAS's threads.
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, min(_N_BLOCKS * width, n), width):
            block = _orthonormal(block, basis)[:, -(n - start) :]
            basis = np.concatenate([basis, block], axis=1)
            block = sparse_product(transposed, sparse_product(tall, block))
            images = np.concatenate([images, block], axis=1)
        squares, rotation = np.linalg.eigh((basis.T @ images).astype(np.float64))
        vectors = basis @ rotation[:, ::-1][:, :rank].astype(np.float32)
        values = np.sqrt(np.maximum(squares[::-1][:rank], 0)).astype(np.float32)
        has_value = values > _ROUNDING * values[0]
        values[~has_value] = 0
        lengths = np.where(has_value, 1 if is_wide else values, np.inf)
        if not is_wide:
            vectors = sparse_product(tall, vectors)
        # The sign of an eigenvector depends on the last bits of sums, which differ between engines.
        # The sum of cubes, computed in portions and by products since NumPy's powers are slow,
        # fixes it.
        cubes = np.zeros(vectors.shape[1])
        for start in range(0, len(vectors), _ROWS_AT_ONCE):
            rows = vectors[start : start + _ROWS_AT_ONCE].astype(np.float64)
            cubes += (rows * rows * rows).sum(axis=0)
        signs = np.where(cubes < 0, -1, 1)
        vectors /= (lengths * signs).astype(np.float32)
        return vectors, values


def _orthonormal(block: NDArray[np.float32], basis: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis (N, W) of what a block adds to a basis, zero where nothing."""
    least = _NO_OWN_PART * float(np.square(block).sum(axis=0).max())
    # Projecting once leaves rounding errors as large as what is subtracted, so it is done twice.
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        squares, rotation = np.linalg.eigh((block.T @ block).astype(np.float64))
        factors = np.zeros_like(squares)
        kept = squares > least
        factors[kept] = squares[kept] ** -0.5
        block = block @ (rotation * factors).astype(np.float32)
        # What was kept now has length 1.
        least = 0.5
    return block


def sparse_product(matrix: csr_matrix, dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply a sparse matrix with a dense one, by a kernel on several threads if there is one."""
    compiled = kernels("sparse")
    indices = matrix.indptr, matrix.indices
    if compiled is None or any(array.dtype != np.int32 for array in indices):
        product: NDArray[np.float32] = matrix @ dense
        return product
    result = np.empty((matrix.shape[0], dense.shape[1]), dtype=np.float32)
    (height, width), n_panels = dense.shape, -(-dense.shape[1] // compiled.PANEL)
    panels = np.zeros((n_panels, height, compiled.PANEL), dtype=np.float32)  # (n_panels, N, PANEL)
    for panel, start in zip(panels, range(0, width, compiled.PANEL), strict=True):
        columns = dense[:, start : start + compiled.PANEL]
        panel[:, : columns.shape[1]] = columns
    arrays = matrix.data, panels.reshape(-1), result.reshape(-1)
    run_tasks(compiled.product, n_panels * _N_RANGES, width, *indices, *arrays)
    return result


# The context smoothing of Levy, Goldberg and Dagan (2015), without which rare contexts have too
# much weight.
_CONTEXT_SMOOTHING = 0.75
# Words up to this distance are neighbours. Counts are multiples of 1 / `_UNIT`, a number that every
# distance divides, so that they are exact.
_WINDOW = 5
_UNIT = math.lcm(*range(1, _WINDOW + 1))
# Standard deviation of the entries of a vector, as in the network's random vectors.
_SCALE = 0.1
# Words counted at once, which limits the memory of their pairs, and in total, which limits the
# memory of the counts to one or two GB.
_WORDS_AT_ONCE, _MOST_WORDS = 1 << 20, 1 << 24


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
    more than 16 million words, a random sample of documents is counted.

    Positive ``weights`` (D,) multiply the counts of each document. If all are integer multiples of
    the smallest, a document of twice that weight gives the same bits as two copies of it. Return
    vectors of this shape, and whether each word has a learned vector; those of padding, of the
    unknown word and of words without neighbours are random.
    """
    rng = check_random_state(random_state)
    vocabulary_size, embedding_dim = shape
    vectors = rng.normal(scale=_SCALE, size=shape).astype(np.float32)
    if weights is None:
        weights = np.ones(len(documents))
    elif (multiples := weights / weights.min()).max() < 2**32:
        # With whole numbers, sums of counts are exact, so rounding errors of multiples are removed.
        whole = np.rint(multiples)
        weights = np.where(np.abs(multiples - whole) < 1e-12 * whole, whole, multiples)
    if documents.n_words > _MOST_WORDS:
        rows = sampled_rows(documents.words_per_document, _MOST_WORDS, rng)
        documents, weights = documents[rows], weights[rows]
    counts = _counts(documents, weights, vocabulary_size)
    information = _positive_mutual_information(counts)
    has_vector = information.getnnz(axis=1) > 0
    rank = min(embedding_dim, has_vector.sum() - 1)
    if rank < 1:
        return vectors, np.zeros(vocabulary_size, dtype=bool)
    left, singular_values = left_singular_vectors(information[has_vector], rank, rng)
    vectors[has_vector, :rank] = left * np.sqrt(singular_values)
    vectors[has_vector, rank:] = 0
    lengths = np.linalg.norm(vectors[has_vector], axis=1, keepdims=True)
    vectors[has_vector] *= _SCALE * np.sqrt(embedding_dim) / np.maximum(lengths, 1e-12)
    return vectors, has_vector


def _counts(
    documents: DocumentArray, weights: NDArray[np.float64], vocabulary_size: int
) -> csr_matrix:
    """Count how often two words are neighbours, times `_UNIT`, as a symmetric matrix (V, V).

    If weights are whole numbers, counts are too, and their sums are exact in any order. Otherwise,
    if singular values are close, the last bit could change the vectors.
    """
    shape = (vocabulary_size, vocabulary_size)
    counts = csr_matrix(shape, dtype=np.float64)
    # The last document of a sample may exceed the limit, so it is cut.
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)[:_MOST_WORDS]
    word_ids = documents.word_ids[:_MOST_WORDS]
    for start in range(0, len(word_ids), _WORDS_AT_ONCE):
        stop = start + _WORDS_AT_ONCE
        lefts, rights, shares = [], [], []
        for distance in range(1, _WINDOW + 1):
            # The right neighbour may be beyond `stop`.
            right = word_ids[start + distance : stop + distance]
            left = word_ids[start:stop][: len(right)]
            left_document = document[start:stop][: len(right)]
            is_word = (left > UNKNOWN_ID) & (right > UNKNOWN_ID)
            is_pair = is_word & (left_document == document[start + distance : stop + distance])
            lefts.append(left[is_pair])
            rights.append(right[is_pair])
            shares.append(weights[left_document[is_pair]] * (_UNIT / distance))
        pairs = (np.concatenate(lefts), np.concatenate(rights))
        counts += csr_matrix((np.concatenate(shares), pairs), shape)  # sums equal pairs
    return (counts + counts.T).tocsr()


def _positive_mutual_information(counts: csr_matrix) -> csr_matrix:
    """Compute the logarithm of observed by expected counts of neighbours where it is positive."""
    word_shares = np.asarray(counts.sum(axis=1)).ravel()  # (V,)
    total = word_shares.sum()
    # Quotients of exact counts do not change if all counts are multiplied by a number.
    word_shares /= max(total, 1)
    context_shares = word_shares**_CONTEXT_SMOOTHING
    word = np.repeat(np.arange(len(word_shares)), np.diff(counts.indptr))
    expected = word_shares[word] * context_shares[counts.indices] / context_shares.sum()
    information = counts.copy()
    information.data = np.maximum(np.log(counts.data / total / expected), 0).astype(np.float32)
    information.eliminate_zeros()
    return information


def learn_embeddings(
    documents: DocumentArray,
    vocabulary: Any,
    *,
    embedding_dim: int = 192,
    random_state: Any = None,
) -> Embeddings:
    """Learn word vectors from text, labelled or not.

    Words with similar neighbours get similar vectors (equations in `cooccurrence_vectors`).
    ``HANClassifier(embedding_init="cooccurrence")`` does the same with its training documents in
    `fit`; this function is for unlabelled text.

    Parameters
    ----------
    documents : DocumentArray
        More documents give better vectors.
    vocabulary : fitted HierarchicalTokenizer or mapping of str to int
        The words of the ids in `documents`.
    embedding_dim : int, default=192
        Size of a vector.
    random_state : int, RandomState instance or None, default=None
        Source of the start of the decomposition, and of the sample of a large collection.

    Returns
    -------
    Embeddings
        As in `load_embeddings`: for ``HANClassifier(embedding_init=...)``.

    Raises
    ------
    TypeError, ValueError
        If the vocabulary is not that of the documents, or no two known words are neighbours.

    Notes
    -----
    With more than 16 million words, only a random sample of the documents is counted. Ten million
    words take about half a minute and a gigabyte of memory.

    References
    ----------
    Levy, Goldberg, Dagan (2015). Improving Distributional Similarity with Lessons Learned from
    Word Embeddings. TACL.

    Examples
    --------
    >>> from sk_han import HierarchicalTokenizer
    >>> from sk_han.datasets import make_reviews
    >>> from sk_han.embeddings import learn_embeddings
    >>> tokenizer = HierarchicalTokenizer()
    >>> documents = tokenizer.fit_transform(make_reviews(100, random_state=0)[0])
    >>> vectors = learn_embeddings(documents, tokenizer, embedding_dim=8, random_state=0)
    >>> vectors["the"].shape
    (8,)
    """
    ids = word_ids(vocabulary)
    if not isinstance(documents, DocumentArray):
        raise TypeError(
            f"documents is {a_kind(documents)}; give a DocumentArray: tokenizer.transform(texts)."
        )
    check_count("embedding_dim", embedding_dim)
    n_rows = max(ids.values(), default=UNKNOWN_ID) + 1
    highest = int(documents.word_ids.max(initial=UNKNOWN_ID))
    if highest >= n_rows:
        raise ValueError(
            f"documents hold the word id {highest}, but the vocabulary ends at {n_rows - 1}: "
            "tokenize them with the tokenizer of this vocabulary."
        )
    vectors, has_vector = cooccurrence_vectors(
        documents, (n_rows, int(embedding_dim)), random_state=random_state
    )
    words = {word: row for word, row in ids.items() if has_vector[row]}
    if not words:
        raise ValueError(
            f"No two words of the vocabulary are near each other in {plural(len(documents))} of "
            f"{plural(documents.n_words, 'word')}: there is nothing to learn from."
        )
    coverage = len(ids), len(words), running_share(documents, np.flatnonzero(has_vector))
    return Embeddings(words, vectors, *coverage)


def check_embedding_init(init: Any) -> None:
    """Check `embedding_init`, except for vectors of a mapping, which are checked when aligned."""
    can_be_given = "'cooccurrence', 'random', a NumPy array or a mapping of words to vectors"
    if isinstance(init, str):
        if init not in ("cooccurrence", "random"):
            raise ValueError(
                f"embedding_init is {init!r}; give {can_be_given}, such as load_embeddings(path)."
            )
    elif isinstance(init, Sequence) or hasattr(init, "numpy"):
        raise TypeError(
            f"embedding_init is {a_kind(init)}; give {can_be_given}, such as np.asarray(...)."
        )
    elif isinstance(init, np.ndarray):
        _check_finite(init)


def initial_vectors(
    init: Any,
    documents: DocumentArray,
    weights: NDArray[np.float64],
    vocabulary: Mapping[str, int] | None,
    shape: tuple[int, int],
    random_state: np.random.RandomState,
) -> NDArray[np.float32] | None:
    """Return initial word vectors of this shape; None for "random".

    Documents and their positive weights (D,) are used for "cooccurrence", the vocabulary for a
    mapping.
    """
    if isinstance(init, str) and init == "random":
        return None
    if isinstance(init, str):
        return cooccurrence_vectors(documents, shape, weights=weights, random_state=random_state)[0]
    if not isinstance(init, np.ndarray):
        if vocabulary is None:
            raise ValueError(
                "embedding_init maps words to vectors, but X holds word ids. Give an array, as "
                "sk_han.embeddings.embedding_matrix makes it, or fit on raw text."
            )
        init = embedding_matrix(init, vocabulary, shape[1], random_state)
    if init.shape != shape:
        raise ValueError(
            f"embedding_init has the shape {init.shape}; expected {shape}, the "
            "vocabulary with padding and unknown word, and embedding_dim."
        )
    return init.astype(np.float32)


def _check_finite(vectors: NDArray[Any]) -> None:
    if vectors.dtype.kind not in "biuf":
        raise TypeError(
            f"embedding_init is an array of dtype {vectors.dtype}; expected numbers: "
            "vectors.astype(np.float32) makes them of what can be read as such."
        )
    with np.errstate(over="ignore"):
        wrong = np.argwhere(~np.isfinite(vectors.astype(np.float32)))
    if vectors.ndim and len(wrong):
        rows = np.unique(wrong[:, 0])
        raise ValueError(
            f"embedding_init holds {vectors[tuple(wrong[0])]} in row {rows[0]}; {len(rows):,} of "
            f"{plural(len(vectors), 'row')} {agreeing(len(rows), 'hold')} NaN, infinity or "
            "numbers beyond single precision. Replace them, for example by np.nan_to_num."
        )
