"""Weights and samples of documents in counts of neighbours, and singular vectors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from sk_han import DocumentArray
from sk_han._kernels.engine import using_threads
from sk_han.embeddings import _cooccurrence as module
from sk_han.embeddings._cooccurrence import cooccurrence_vectors, left_singular_vectors


def test_counts_do_not_depend_on_the_chunk_size(monkeypatch):
    words = np.random.RandomState(0).randint(1, 9, size=(7, 1, 11)).tolist()
    documents = DocumentArray.from_nested(words)
    whole = cooccurrence_vectors(documents, (9, 3), random_state=0)
    monkeypatch.setattr(module, "_WORDS_AT_ONCE", 3)
    for expected, array in zip(
        whole, cooccurrence_vectors(documents, (9, 3), random_state=0), strict=True
    ):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("size", [1, 3, 1 / 7, 1e300])
def test_a_weight_equals_as_many_copies_bit_for_bit(size):
    words = np.random.RandomState(0).randint(2, 40, size=700)
    documents = DocumentArray.from_nested([[part.tolist()] for part in words.reshape(70, 10)])
    repeats = np.random.RandomState(1).randint(1, 8, size=70)
    repeated = documents[np.random.RandomState(2).permutation(np.repeat(np.arange(70), repeats))]
    weighted, _ = cooccurrence_vectors(documents, (40, 9), weights=size * repeats, random_state=0)
    copies, _ = cooccurrence_vectors(repeated, (40, 9), random_state=0)
    np.testing.assert_array_equal(weighted, copies)


@pytest.mark.parametrize("weights", [[1e-300, 1.0], [1.0, 1.5]])
def test_unequal_weights_give_finite_vectors(weights):
    documents = DocumentArray.from_nested([[[2, 3, 4, 2]], [[3, 2, 4]]])
    vectors, _ = cooccurrence_vectors(documents, (5, 2), weights=np.array(weights), random_state=0)
    assert np.isfinite(vectors).all()


def test_sampled_documents_keep_their_weights(monkeypatch):
    documents = DocumentArray.from_nested([[[word, word, word]] for word in range(2, 52)])
    monkeypatch.setattr(module, "_MOST_WORDS", 60)
    counts, counted_documents = module._counts, []

    def recorded(documents, weights, *further):
        counted_documents.extend(zip(documents.to_nested(), weights, strict=True))
        return counts(documents, weights, *further)

    monkeypatch.setattr(module, "_counts", recorded)
    cooccurrence_vectors(documents, (52, 3), weights=np.arange(2.0, 52.0), random_state=0)
    assert len(counted_documents) == 20
    assert counted_documents[-1][0][0][0] > 21  # not the first documents alone
    assert all(nested[0][0] == 2 * weight for nested, weight in counted_documents)  # least is 1


@pytest.mark.parametrize("seed", range(3))
def test_a_huge_document_is_truncated_and_hides_no_other(seed, monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS", 60)
    documents = DocumentArray.from_nested(
        [[[*range(2, 92)]], *([[word, word + 1]] for word in range(92, 112, 2))]
    )
    _, learnt = cooccurrence_vectors(documents[:1], (112, 3), random_state=seed)
    assert np.flatnonzero(learnt).tolist() == [*range(2, 62)]
    _, learnt = cooccurrence_vectors(documents, (112, 3), random_state=seed)
    assert learnt.sum() == 60


@pytest.mark.parametrize("nested", [[], [[]], [[[2]]], [[[2], [3]], [[1, 1, 1]]], [[[2, 2, 2]]]])
def test_very_few_counts_give_finite_vectors(nested):
    documents = DocumentArray.from_nested(nested)
    vectors, _ = cooccurrence_vectors(documents, (5, 3), random_state=0)
    assert vectors.shape == (5, 3)
    assert np.isfinite(vectors).all()


def singular_vectors(matrix, rank):
    return left_singular_vectors(matrix, rank, np.random.RandomState(0))


@pytest.mark.usefixtures("engine")
class TestSingularVectors:
    @pytest.fixture
    def low_rank(self):
        """A matrix of 53 x 47 and rank 7, with singular values from 7 to 1."""
        rng = np.random.default_rng(0)
        left, right = (np.linalg.qr(rng.normal(size=(n, 7)))[0] for n in (53, 47))
        return csr_matrix((left * np.arange(7, 0, -1.0)) @ right.T).astype(np.float32)

    def test_singular_vectors_match_numpy(self, low_rank):
        vectors, values = singular_vectors(low_rank, 20)
        expected, all_values, _ = np.linalg.svd(low_rank.toarray())
        np.testing.assert_allclose(values[:7], all_values[:7], rtol=1e-5)
        np.testing.assert_allclose(values[7:], 0, atol=1e-3)
        similar = np.abs((vectors[:, :7] * expected[:, :7]).sum(axis=0))
        np.testing.assert_allclose(similar, 1, atol=1e-5)
        np.testing.assert_allclose(vectors[:, :7].T @ vectors[:, :7], np.eye(7), atol=1e-5)
        assert np.isfinite(vectors).all()
        assert not np.any(singular_vectors(csr_matrix((30, 20), dtype=np.float32), 4)[1])

    @pytest.mark.parametrize("columns", [1, 16, 37, 200])
    def test_any_number_of_singular_values_is_accurate(self, columns):
        matrix = csr_matrix(random_array((300, 211), density=0.3, rng=0, dtype=np.float32))
        _, values = singular_vectors(matrix, columns)
        expected = np.linalg.svd(matrix.toarray(), compute_uv=False)[:columns]
        assert values[0] == pytest.approx(expected[0], rel=1e-4)
        assert (values <= expected * 1.0001).all()
        if columns == 200:  # the whole space is filled
            np.testing.assert_allclose(values, expected, rtol=1e-4)

    @pytest.mark.parametrize("shape", [(600, 400), (400, 600)])
    def test_large_singular_values_are_exact_and_small_ones_nearly(self, shape):
        rng = np.random.default_rng(0)
        left, right = (np.linalg.qr(rng.normal(size=(n, 400)))[0] for n in shape)
        falling = np.arange(1, 401) ** -0.5  # slowly, as those of words in documents
        matrix = csr_matrix(((left * falling) @ right.T).astype(np.float32))
        vectors, values = singular_vectors(matrix, 60)
        np.testing.assert_allclose(values[:20], falling[:20], rtol=1e-3)
        assert (values > 0.8 * falling[:60]).all()
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(60), atol=1e-3)
        kept = np.linalg.norm(matrix.toarray().T @ vectors) ** 2
        assert kept > 0.98 * np.sum(falling[:60] ** 2)

    def test_signs_do_not_depend_on_rounding_nor_bits_on_threads(self):
        rng = np.random.default_rng(0)
        matrix = csr_matrix(np.abs(rng.normal(size=(90, 70))).astype(np.float32))
        other = matrix.copy()
        other.data *= 1 + 1e-6 * rng.normal(size=len(other.data)).astype(np.float32)
        vectors, _ = singular_vectors(matrix, 8)
        np.testing.assert_allclose(vectors, singular_vectors(other, 8)[0], atol=1e-3)
        with using_threads(3):
            np.testing.assert_array_equal(vectors, singular_vectors(matrix, 8)[0])
