"""The truncated decomposition against NumPy's whole one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from sk_han.embeddings.cooccurrence import left_singular_vectors
from sk_han.kernels.engine import using_threads

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def low_rank() -> csr_matrix:
    """A matrix of 53 x 47 and rank 7, with singular values from 7 to 1 and half of it empty."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 7)))[0] for n in (53, 47))
    return csr_matrix((left * np.arange(7, 0, -1.0)) @ right.T).astype(np.float32)


def test_values_and_vectors_are_those_of_numpy(low_rank: csr_matrix) -> None:
    vectors, values = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
    expected, all_values, _ = np.linalg.svd(low_rank.toarray())
    np.testing.assert_allclose(values, all_values[:5], rtol=1e-5)
    cosines = np.abs((vectors * expected[:, :5]).sum(axis=0))
    np.testing.assert_allclose(cosines, 1, atol=1e-5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-5)


def test_directions_beyond_the_rank_have_no_value(low_rank: csr_matrix) -> None:
    vectors, values = left_singular_vectors(low_rank, 20, np.random.RandomState(0))
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(values[7:], 0, atol=1e-3)


@pytest.mark.parametrize("columns", [1, 16, 37, 44, 200])
def test_widths_of_any_number_of_vectors(columns: int) -> None:
    matrix = csr_matrix(random_array((300, 211), density=0.3, rng=0, dtype=np.float32))
    _, values = left_singular_vectors(matrix, columns, np.random.RandomState(0))
    expected = np.linalg.svd(matrix.toarray(), compute_uv=False)[:columns]
    assert values[0] == pytest.approx(expected[0], rel=1e-4)
    assert (values <= expected * 1.0001).all()


@pytest.mark.parametrize("shape", [(600, 400), (400, 600)])
def test_large_values_are_exact_and_no_direction_is_worthless(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 400)))[0] for n in shape)
    falling = np.arange(1, 401) ** -0.5  # slowly, as those of words in documents
    matrix = csr_matrix(((left * falling) @ right.T).astype(np.float32))
    vectors, values = left_singular_vectors(matrix, 60, np.random.RandomState(0))
    np.testing.assert_allclose(values[:20], falling[:20], rtol=1e-3)
    assert (values > 0.8 * falling[:60]).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(60), atol=1e-3)
    kept = np.linalg.norm(matrix.toarray().T @ vectors) ** 2
    assert kept > 0.98 * np.sum(falling[:60] ** 2)


def test_signs_do_not_hang_on_rounding() -> None:
    rng = np.random.default_rng(0)
    matrix = csr_matrix(np.abs(rng.normal(size=(90, 70))).astype(np.float32))
    other = matrix.copy()
    other.data *= 1 + 1e-6 * rng.normal(size=len(other.data)).astype(np.float32)
    found = [
        left_singular_vectors(each, 8, np.random.RandomState(0))[0] for each in (matrix, other)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


def test_a_space_that_is_filled_gives_all_of_numpys_values() -> None:
    matrix = csr_matrix(np.random.default_rng(0).normal(size=(90, 70)).astype(np.float32))
    _, values = left_singular_vectors(matrix, 50, np.random.RandomState(0))
    expected = np.linalg.svd(matrix.toarray(), compute_uv=False)
    np.testing.assert_allclose(values, expected[:50], rtol=1e-4)


def test_an_empty_matrix_has_no_directions() -> None:
    vectors, values = left_singular_vectors(
        csr_matrix((30, 20), dtype=np.float32), 4, np.random.RandomState(0)
    )
    assert not vectors.any()
    assert not values.any()


def test_the_number_of_threads_changes_no_bit(low_rank: csr_matrix) -> None:
    alone, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
    with using_threads(3):
        together, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
    np.testing.assert_array_equal(alone, together)
