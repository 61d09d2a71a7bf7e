import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.embeddings.cooccurrence import cooccurrence_vectors
from sk_han.embeddings.initial import check_embedding_init, initial_vectors

SHAPE = (5, 3)  # padding, unknown word, and three words
VOCABULARY = {"a": 2, "good": 3, "day": 4}


def vectors(init, vocabulary=VOCABULARY, weights=(1.0, 1.0)):
    documents = DocumentArray.from_nested([[[2, 3, 4, 2]], [[4, 4], [2, 3]]])
    random = np.random.RandomState(0)
    return initial_vectors(init, documents, np.array(weights), vocabulary, SHAPE, random)


class TestCheckEmbeddingInit:
    @pytest.mark.parametrize("given", ["random", "cooccurrence", np.zeros(SHAPE), {"a": [1.0]}])
    def test_what_can_be_given_passes(self, given):
        check_embedding_init(given)

    def test_another_name_is_refused_with_those_that_exist(self):
        with pytest.raises(
            ValueError, match=r"'word2vec'; give 'cooccurrence', 'random', .*load_embed"
        ):
            check_embedding_init("word2vec")

    def test_a_list_of_vectors_is_refused_with_the_repair(self):
        with pytest.raises(TypeError, match=r"is a list; give .* a NumPy array.*np\.asarray"):
            check_embedding_init([[0.0] * 3] * 5)

    def test_a_tensor_is_refused_with_the_repair(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(TypeError, match=r"is a Tensor; .*np\.asarray"):
            check_embedding_init(torch.zeros(SHAPE))


class TestInitialVectors:
    def test_at_random_the_network_draws_its_own(self):
        assert vectors("random") is None
        assert vectors("random", vocabulary=None) is None

    def test_an_array_is_taken_as_it_is_in_single_precision(self):
        given = np.arange(15.0).reshape(SHAPE)
        found = vectors(given)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, given)

    def test_an_array_needs_no_words(self):
        assert vectors(np.ones(SHAPE), vocabulary=None).shape == SHAPE

    def test_a_wrong_shape_names_the_right_one(self):
        with pytest.raises(ValueError, match=r"\(5, 2\); expected \(5, 3\)"):
            vectors(np.ones((5, 2)))

    def test_each_vector_of_a_mapping_stands_on_the_row_of_its_word(self):
        found = vectors({"day": [1.0, 2.0, 3.0], "elsewhere": [0.0, 0.0, 0.0]})
        assert found.shape == SHAPE
        assert found[4].tolist() == [1, 2, 3]

    def test_a_mapping_without_words_is_refused_with_the_repair(self):
        with pytest.raises(ValueError, match=r"X holds word ids\. Give an array"):
            vectors({"day": [1.0, 2.0, 3.0]}, vocabulary=None)

    def test_learnt_vectors_are_those_of_the_weighted_documents(self):
        weights = (3.0, 1.0)
        documents = DocumentArray.from_nested([[[2, 3, 4, 2]], [[4, 4], [2, 3]]])
        expected, _ = cooccurrence_vectors(
            documents, SHAPE, weights=np.array(weights), random_state=np.random.RandomState(0)
        )
        np.testing.assert_array_equal(vectors("cooccurrence", weights=weights), expected)
        assert abs(vectors("cooccurrence") - expected).max() > 1e-3
