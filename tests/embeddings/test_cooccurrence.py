"""Vectors learned from co-occurrence, held against counts by a loop; the initial vectors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from threadpoolctl import threadpool_limits

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._kernels.engine import using_threads
from sk_han.embeddings import _cooccurrence as module
from sk_han.embeddings import learn_embeddings
from sk_han.embeddings._cooccurrence import cooccurrence_vectors, left_singular_vectors
from tests.tiny_models import TEXTS

# 2 and 3 keep the same company (4 and 5), 6 and 7 another (8 and 9).
SAME_COMPANY = DocumentArray.from_nested(
    5 * [[[2, 4, 5], [3, 4, 5]], [[6, 8, 9]], [[7, 8, 9], [7, 8, 9]]]
)


def counted(documents, vocabulary_size):
    """Count neighbours with loops."""
    counts = np.zeros((vocabulary_size, vocabulary_size))
    for document in documents:
        words = [word for sentence in document for word in sentence]
        for i, left in enumerate(words):
            for distance, right in enumerate(words[i + 1 : i + 6], start=1):
                if left > 1 and right > 1:
                    counts[left, right] += 1 / distance
                    counts[right, left] += 1 / distance
    return counts


@pytest.mark.parametrize("words_at_once", [3, 1 << 20])
def test_counts_are_those_of_a_loop_whatever_is_counted_at_once(words_at_once, monkeypatch):
    monkeypatch.setattr(module, "_WORDS_AT_ONCE", words_at_once)
    documents = DocumentArray.from_nested(
        [[[2, 3, 1, 4], [3]], [], [[5, 2, 2, 3, 4, 2, 5], [4, 4]], [[3]]]
    )
    found = module._counts(documents, np.ones(4), 7).toarray()
    np.testing.assert_allclose(found / module._UNIT, counted(documents, 7), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 1 / 7, 1e300])
def test_a_weight_gives_the_bits_of_as_many_copies(size):
    words = np.random.RandomState(0).randint(2, 40, size=700)
    documents = DocumentArray.from_nested([[part.tolist()] for part in words.reshape(70, 10)])
    repeats = np.random.RandomState(1).randint(1, 8, size=70)
    repeated = documents[np.random.RandomState(2).permutation(np.repeat(np.arange(70), repeats))]
    weighted, _ = cooccurrence_vectors(documents, (40, 9), weights=size * repeats, random_state=0)
    copies, _ = cooccurrence_vectors(repeated, (40, 9), random_state=0)
    np.testing.assert_array_equal(weighted, copies)


@pytest.mark.parametrize("weights", [[1e-300, 1.0], [1.0, 1.5]])
def test_weights_that_are_no_multiples_give_finite_vectors(weights):
    documents = DocumentArray.from_nested([[[2, 3, 4, 2]], [[3, 2, 4]]])
    vectors, _ = cooccurrence_vectors(documents, (5, 2), weights=np.array(weights), random_state=0)
    assert np.isfinite(vectors).all()


def test_of_very_many_words_a_sample_of_the_documents_is_counted(monkeypatch):
    documents = DocumentArray.from_nested([[[word, word + 1]] for word in range(2, 102, 2)])
    monkeypatch.setattr(module, "_MOST_WORDS", 60)
    _, learnt = cooccurrence_vectors(documents, (102, 3), random_state=0)
    assert learnt.sum() == 60
    assert not learnt[2:62].all()  # not the first documents alone


def test_the_documents_of_a_sample_keep_their_weights(monkeypatch):
    documents = DocumentArray.from_nested([[[word, word, word]] for word in range(2, 52)])
    monkeypatch.setattr(module, "_MOST_WORDS", 60)
    counts, counted_documents = module._counts, []

    def recorded(documents, weights, *further):
        counted_documents.extend(zip(documents.to_nested(), weights, strict=True))
        return counts(documents, weights, *further)

    monkeypatch.setattr(module, "_counts", recorded)
    cooccurrence_vectors(documents, (52, 3), weights=np.arange(2.0, 52.0), random_state=0)
    assert len(counted_documents) == 20
    assert all(nested[0][0] == 2 * weight for nested, weight in counted_documents)  # least is 1


@pytest.mark.parametrize("seed", range(3))
def test_of_a_giant_a_part_is_counted_and_it_hides_no_other_document(seed, monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS", 60)
    documents = DocumentArray.from_nested(
        [[[*range(2, 92)]], *([[word, word + 1]] for word in range(92, 112, 2))]
    )
    _, learnt = cooccurrence_vectors(documents[:1], (112, 3), random_state=seed)
    assert np.flatnonzero(learnt).tolist() == [*range(2, 62)]
    _, learnt = cooccurrence_vectors(documents, (112, 3), random_state=seed)
    assert learnt.sum() == 60


def test_the_number_of_threads_changes_no_bit():
    ranks = np.exp(np.random.RandomState(0).rand(100_000) * np.log(2_998))
    word_ids = 2 + ranks.astype(np.int32)
    documents = DocumentArray(word_ids, np.arange(0, 100_001, 100), np.arange(1_001))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(cooccurrence_vectors(documents, (3_000, 100), random_state=0)[0])
    np.testing.assert_array_equal(*found)


def test_information_is_the_log_of_how_much_more_often_than_by_chance():
    counts = np.array([[0, 2.0, 1.0], [2.0, 0, 0], [1.0, 0, 4.0]])
    found = module._positive_mutual_information(module.csr_matrix(counts)).toarray()
    of_word = np.array([3.0, 2.0, 5.0])
    of_context = of_word**0.75 / (of_word**0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(counts / np.outer(of_word, of_context)), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("embedding_dim", [2, 3, 5])
def test_vectors_are_those_of_numpys_decomposition_times_the_root_of_its_values(embedding_dim):
    words = np.random.RandomState(0).randint(2, 11, size=70)
    documents = DocumentArray.from_nested([[part.tolist()] for part in words.reshape(7, 10)])
    vectors, learnt = cooccurrence_vectors(documents, (11, embedding_dim), random_state=0)
    assert learnt.sum() == 9
    counts = module._counts(documents, np.ones(7), 11)
    information = module._positive_mutual_information(counts).toarray()
    left, values, _ = np.linalg.svd(information[learnt])
    assert values[embedding_dim - 1] > 1.05 * values[embedding_dim]  # or either might be the last
    expected = left[:, :embedding_dim] * np.sqrt(values[:embedding_dim])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = vectors[learnt] / np.linalg.norm(vectors[learnt], axis=1, keepdims=True)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_words_that_occur_have_like_vectors_in_the_same_company_of_the_length_of_random_ones():
    vectors, learnt = cooccurrence_vectors(SAME_COMPANY, (12, 6), random_state=0)
    assert np.flatnonzero(learnt).tolist() == [*range(2, 10)]
    np.testing.assert_allclose(np.linalg.norm(vectors[learnt], axis=1), 0.1 * 6**0.5, rtol=1e-5)
    cosines = vectors @ vectors.T / (0.1**2 * 6)
    assert cosines[2, 3] > 0.8
    assert cosines[6, 7] > 0.8
    assert abs(cosines[[2, 3]][:, [6, 7]]).max() < 0.2


def test_more_numbers_than_words_leave_finite_vectors():
    vectors, learnt = cooccurrence_vectors(SAME_COMPANY, (10, 50), random_state=0)
    assert learnt.sum() == 8
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("nested", [[], [[]], [[[2]]], [[[2], [3]], [[1, 1, 1]]], [[[2, 2, 2]]]])
def test_next_to_nothing_to_count_gives_finite_vectors(nested):
    documents = DocumentArray.from_nested(nested)
    vectors, _ = cooccurrence_vectors(documents, (5, 3), random_state=0)
    assert vectors.shape == (5, 3)
    assert np.isfinite(vectors).all()


def test_a_seed_gives_the_same_bits():
    first, second = (
        cooccurrence_vectors(SAME_COMPANY, (10, 6), random_state=3)[0] for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("engine")
class TestSingularVectors:
    @pytest.fixture
    def low_rank(self) -> csr_matrix:
        """A matrix of 53 x 47 and rank 7, with singular values from 7 to 1 and half of it empty."""
        rng = np.random.default_rng(0)
        left, right = (np.linalg.qr(rng.normal(size=(n, 7)))[0] for n in (53, 47))
        return csr_matrix((left * np.arange(7, 0, -1.0)) @ right.T).astype(np.float32)

    def test_values_and_vectors_are_those_of_numpy(self, low_rank: csr_matrix) -> None:
        vectors, values = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
        expected, all_values, _ = np.linalg.svd(low_rank.toarray())
        np.testing.assert_allclose(values, all_values[:5], rtol=1e-5)
        cosines = np.abs((vectors * expected[:, :5]).sum(axis=0))
        np.testing.assert_allclose(cosines, 1, atol=1e-5)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-5)

    def test_directions_beyond_the_rank_have_no_value(self, low_rank: csr_matrix) -> None:
        vectors, values = left_singular_vectors(low_rank, 20, np.random.RandomState(0))
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(values[7:], 0, atol=1e-3)

    @pytest.mark.parametrize("columns", [1, 16, 37, 44, 200])
    def test_widths_of_any_number_of_vectors(self, columns: int) -> None:
        matrix = csr_matrix(random_array((300, 211), density=0.3, rng=0, dtype=np.float32))
        _, values = left_singular_vectors(matrix, columns, np.random.RandomState(0))
        expected = np.linalg.svd(matrix.toarray(), compute_uv=False)[:columns]
        assert values[0] == pytest.approx(expected[0], rel=1e-4)
        assert (values <= expected * 1.0001).all()

    @pytest.mark.parametrize("shape", [(600, 400), (400, 600)])
    def test_large_values_are_exact_and_no_direction_is_worthless(
        self, shape: tuple[int, int]
    ) -> None:
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

    def test_signs_do_not_hang_on_rounding(self) -> None:
        rng = np.random.default_rng(0)
        matrix = csr_matrix(np.abs(rng.normal(size=(90, 70))).astype(np.float32))
        other = matrix.copy()
        other.data *= 1 + 1e-6 * rng.normal(size=len(other.data)).astype(np.float32)
        found = [
            left_singular_vectors(each, 8, np.random.RandomState(0))[0] for each in (matrix, other)
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-3)

    def test_a_space_that_is_filled_gives_all_of_numpys_values(self) -> None:
        matrix = csr_matrix(np.random.default_rng(0).normal(size=(90, 70)).astype(np.float32))
        _, values = left_singular_vectors(matrix, 50, np.random.RandomState(0))
        expected = np.linalg.svd(matrix.toarray(), compute_uv=False)
        np.testing.assert_allclose(values, expected[:50], rtol=1e-4)

    def test_an_empty_matrix_has_no_directions(self) -> None:
        vectors, values = left_singular_vectors(
            csr_matrix((30, 20), dtype=np.float32), 4, np.random.RandomState(0)
        )
        assert not vectors.any()
        assert not values.any()

    def test_the_number_of_threads_changes_no_bit(self, low_rank: csr_matrix) -> None:
        alone, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
        with using_threads(3):
            together, _ = left_singular_vectors(low_rank, 5, np.random.RandomState(0))
        np.testing.assert_array_equal(alone, together)


@pytest.mark.drawn
def test_learn_embeddings_gives_each_word_the_vector_of_its_id():
    tokenizer = HierarchicalTokenizer(min_df=2)
    documents = tokenizer.fit_transform(TEXTS)
    vocabulary = tokenizer.vocabulary_
    found = learn_embeddings(documents, tokenizer, embedding_dim=4, random_state=0)
    shape = (max(vocabulary.values()) + 1, 4)
    expected, _ = cooccurrence_vectors(documents, shape, random_state=0)
    assert set(found) == set(vocabulary)
    for word in found:
        np.testing.assert_array_equal(found[word], expected[vocabulary[word]])
