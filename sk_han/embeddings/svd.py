"""Truncated singular value decomposition of a large sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from sk_han.engines.engine_choice import kernels
from sk_han.engines.tasks import run_tasks

_N_BLOCKS = 5
_N_RANGES = 64  # of rows
_ROWS_AT_ONCE = 1 << 12
_NO_OWN_PART = 1e-10  # of the largest square; the rest is rounding, as these values are
_ROUNDING = 1e-3  # of the largest value, whose square is computed


def left_singular_vectors(
    matrix: csr_matrix, rank: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Approximate the largest singular values (rank,), falling, and their left vectors (M, rank).

    The randomized block Krylov method of Musco and Musco (2015, NeurIPS): a block of random
    directions, a third as many as asked for, and its products with the matrix and its transpose
    span the space in which the vectors are looked for. Large values are exact and the last ones too
    small, which is what latent directions need: subspace iteration (Halko, Martinsson and Tropp,
    2011, SIAM Review) with two iterations takes longer, and half a point of accuracy behind it is
    lost (docs/what_was_tried.md). The result does not depend on the number of threads.
    """
    is_wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T.tocsr() if is_wide else matrix  # (L, N), N the smaller
    transposed = matrix if is_wide else matrix.T.tocsr()
    n = tall.shape[1]
    width = min(rank // 3 + 10, n)
    block = random_state.normal(size=(n, width)).astype(np.float32)
    basis, images = (np.empty((n, 0), dtype=np.float32) for _ in range(2))  # (N, B)
    # If singular values are close, the vectors depend on rounding, and this on BLAS's threads.
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
        # The sign of an eigenvector hangs on the last bit of a sum, which engines round otherwise.
        signs = np.where(_sums_of_cubes(vectors) < 0, -1, 1)
        vectors /= (lengths * signs).astype(np.float32)
        return vectors, values


def _orthonormal(block: NDArray[np.float32], basis: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis of what the block (N, W) adds; without own part it is zero."""
    least = _NO_OWN_PART * float(np.square(block).sum(axis=0).max())
    for _ in range(2):  # the first leaves rounding errors of the size of what it takes away
        block = block - basis @ (basis.T @ block)
        squares, rotation = np.linalg.eigh((block.T @ block).astype(np.float64))
        factors = np.zeros_like(squares)
        kept = squares > least
        factors[kept] = squares[kept] ** -0.5
        block = block @ (rotation * factors).astype(np.float32)
        least = 0.5  # what was kept has the length 1 now
    return block


def _sums_of_cubes(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sum of the cubes of each column, portion by portion; powers of NumPy are slow."""
    sums = np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        some = vectors[start : start + _ROWS_AT_ONCE].astype(np.float64)
        sums += (some * some * some).sum(axis=0)
    return sums


def sparse_product(matrix: csr_matrix, dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """Multiply a sparse matrix with a dense one, by a kernel on several threads if there is one."""
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
