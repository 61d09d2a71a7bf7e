import re
from functools import partial

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.embeddings.cooccurrence import (
    check_embedding_init,
    cooccurrence_vectors,
    initial_vectors,
)
from tests.tiny_models import LABELS, TEXTS, tiny

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
        message = r"'word2vec'; give 'cooccurrence', 'random', .*load_embed"
        with pytest.raises(ValueError, match=message):
            check_embedding_init("word2vec")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([[0.0] * 3] * 5, r"is a list; give .* a NumPy array.*np\.asarray"),
            (torch.zeros(SHAPE), r"is a Tensor; .*np\.asarray"),
            (np.array([["good", "bad"]]), r"dtype <U4; expected numbers: .*astype"),
        ],
    )
    def test_what_is_no_array_of_numbers_is_refused_with_the_repair(self, given, message):
        with pytest.raises(TypeError, match=message):
            check_embedding_init(given)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
    def test_an_array_that_is_not_finite_is_refused_by_its_rows(self, value):
        given = np.zeros((11, 3))
        given[[4, 7], 1] = value
        message = rf"holds {re.escape(str(value))} in row 4; 2 of 11 rows hold NaN.*np\.nan_to_num"
        with pytest.raises(ValueError, match=message):
            check_embedding_init(given)

    def test_a_single_number_is_left_to_the_check_of_shapes(self):
        with pytest.raises(ValueError, match=r"embedding_init has the shape \(\)"):
            tiny(embedding_init=np.array(np.nan)).fit(TEXTS, LABELS)

    def test_an_array_that_is_not_finite_is_refused_before_a_text_is_read(self):
        def never(text):
            raise AssertionError("a text was read")

        tokenizer = HierarchicalTokenizer(word_tokenizer=never)
        classifier = tiny(embedding_init=np.full((5, 7), np.nan), tokenizer=tokenizer)
        for fit in (classifier.fit, partial(classifier.partial_fit, classes=["neg", "pos"])):
            with pytest.raises(ValueError, match="5 of 5 rows"):
                fit(TEXTS, LABELS)


class TestInitialVectors:
    def test_at_random_the_network_draws_its_own(self):
        assert vectors("random") is None
        assert vectors("random", vocabulary=None) is None

    def test_an_array_is_taken_as_it_is_in_single_precision(self):
        given = np.arange(15.0).reshape(SHAPE)
        found = vectors(given, vocabulary=None)  # it needs no words
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, given)

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

    @pytest.mark.drawn
    def test_learnt_vectors_are_those_of_the_weighted_documents(self):
        weights = (3.0, 1.0)
        documents = DocumentArray.from_nested([[[2, 3, 4, 2]], [[4, 4], [2, 3]]])
        expected, _ = cooccurrence_vectors(
            documents, SHAPE, weights=np.array(weights), random_state=np.random.RandomState(0)
        )
        np.testing.assert_array_equal(vectors("cooccurrence", weights=weights), expected)
        assert abs(vectors("cooccurrence") - expected).max() > 1e-3

    def test_a_mapping_that_is_not_finite_is_refused_by_its_words_before_training(self):
        words = {"good": [np.nan] * 7, "day": [1e300] * 7, "it": [0.0] * 7, "zebra": [np.inf] * 7}
        started = []

        class Started(Callback):
            def on_train_begin(self, net, **kwargs):
                started.append(net)

        message = r"vectors of 'good', 'day', 2 of 3, hold NaN, infinity .* Leave these words out"
        with pytest.raises(ValueError, match=message):
            tiny(embedding_init=words, callbacks=[Started()]).fit(TEXTS, LABELS)
        assert not started
        del words["good"], words["day"]  # the word "zebra" is not in the documents
        tiny(embedding_init=words, callbacks=[Started()]).fit(TEXTS, LABELS)
        assert started
