"""Truncated singular value decomposition of a large sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from sk_han.engines.engine_choice import kernels
from sk_han.engines.tasks import run_tasks

N_ITERATIONS = 2
N_OVERSAMPLES = 20
_N_RANGES = 64  # of rows


def left_singular_vectors(
    matrix: csr_matrix, rank: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Approximate the largest singular values (rank,), falling, and their left vectors (M, rank).

    The randomized method of Halko, Martinsson and Tropp (2011, SIAM Review) with two power
    iterations, as `sklearn.utils.extmath.randomized_svd`. It takes a third of that one's time on
    25,000 reviews, where word vectors took a fifth of a fit: rows are made orthonormal, and the
    small matrix decomposed, by eigenvalues of products with themselves, and compiled kernels
    multiply. The result does not depend on the number of threads.
    """
    transposed = matrix.T.tocsr()
    width = min(rank + N_OVERSAMPLES, *matrix.shape)
    start = random_state.normal(size=(matrix.shape[1], width)).astype(np.float32)
    # If singular values are close, the vectors depend on rounding, and this on BLAS's threads.
    with threadpool_limits(1, user_api="blas"):
        basis = _orthonormal(_product(matrix, start))  # (M, width)
        for _ in range(N_ITERATIONS):
            basis = _orthonormal(_product(matrix, _orthonormal(_product(transposed, basis))))
        small = _product(transposed, basis)  # (N, width)
        squares, rotation = np.linalg.eigh((small.T @ small).astype(np.float64))
        vectors = basis @ rotation[:, ::-1][:, :rank].astype(np.float32)
    return vectors, np.sqrt(np.maximum(squares[::-1][:rank], 0)).astype(np.float32)


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis of the columns; columns without own part become zero."""
    squares, rotation = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    factors = np.zeros_like(squares)
    kept = squares > 1e-10 * squares[-1]
    factors[kept] = squares[kept] ** -0.5
    return columns @ (rotation * factors).astype(np.float32)


def _product(matrix: csr_matrix, dense: NDArray[np.float32]) -> NDArray[np.float32]:
    compiled = kernels("sparse")
    indices = matrix.indptr, matrix.indices
    if compiled is None or any(each.dtype != np.int32 for each in indices):
        product: NDArray[np.float32] = matrix @ dense
        return product
    result = np.empty((matrix.shape[0], dense.shape[1]), dtype=np.float32)
    (height, width), n_panels = dense.shape, -(-dense.shape[1] // compiled.PANEL)
    panels = np.zeros((n_panels, height, compiled.PANEL), dtype=np.float32)  # (n_panels, N, PANEL)
    for panel, start in zip(panels, range(0, width, compiled.PANEL), strict=True):
        some = dense[:, start : start + compiled.PANEL]
        panel[:, : some.shape[1]] = some
    arrays = matrix.data, panels.reshape(-1), result.reshape(-1)
    run_tasks(compiled.product, n_panels * _N_RANGES, width, *indices, *arrays)
    return result
