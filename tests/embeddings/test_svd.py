"""The truncated decomposition against NumPy's whole one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from sk_han.embeddings.svd import left_singular_vectors
from sk_han.engines.tasks import using_threads

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


def test_the_number_of_threads_changes_no_bit(low_rank: csr_matrix) -> None:
    alone, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
    with using_threads(3):
        together, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
    np.testing.assert_array_equal(alone, together)
