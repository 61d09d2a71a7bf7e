"""The vectors that training starts with: learnt from the documents, or given."""

from functools import partial

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_han import Attention, HANClassifier, HierarchicalTokenizer
from sk_han.embeddings import learn_embeddings

OF_TWELVE = 6 * ["A good day. The sun shone.", "A bad day. The rain fell, and fell."]
KINDS = np.array(6 * ["pos", "neg"])
SIZES = {"embedding_dim": 5, "word_hidden": 3, "sentence_hidden": 3, "pooling": Attention(size=3)}


def untrained(**params):
    training = {"max_epochs": 1, "validation_fraction": None, "freeze_embedding": True}
    return HANClassifier(**SIZES, **training, **params, device="cpu", random_state=0)


def fitted(X=OF_TWELVE, y=KINDS, sample_weight=None, **params):
    return untrained(**params).fit(X, y, sample_weight=sample_weight)


def vectors(*data, **params):
    return weights_of(fitted(*data, **params))


def weights_of(classifier):
    return classifier.net_.weights["embedding.weight"]


@pytest.mark.filterwarnings("ignore:. of 2 classes (has|have) a single document")
class TestLearnt:
    def test_training_starts_with_vectors_learnt_from_the_training_documents(self):
        learnt = vectors(embedding_init="cooccurrence")
        tokenizer = HierarchicalTokenizer().fit(OF_TWELVE)
        documents = tokenizer.transform(OF_TWELVE)
        of_words = learn_embeddings(documents, tokenizer, embedding_dim=5, random_state=0)
        found = learnt[[tokenizer.vocabulary_[word] for word in of_words]]
        expected = np.array(list(of_words.values()))
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)

    def test_continued_fits_keep_the_initial_vectors(self):
        first = fitted(OF_TWELVE[:4], KINDS[:4], warm_start=True)
        learnt = weights_of(first)
        other = ["Fell a good rain. The shone day a sun.", "The bad sun a day. And fell the good."]
        tokenizer = HierarchicalTokenizer(vocabulary=first.tokenizer_.vocabulary_)
        of_other = vectors(other, ["neg", "pos"], tokenizer=tokenizer)
        assert abs(of_other - learnt).max() > 1e-3
        portion = untrained()
        portion.partial_fit(OF_TWELVE[:4], KINDS[:4], classes=["neg", "pos"])
        portion.partial_fit(other, ["neg", "pos"])
        for later in (portion, first.fit(other, ["neg", "pos"])):
            np.testing.assert_array_equal(weights_of(later), learnt)

    def test_documents_of_weight_0_are_not_read(self):
        texts = [*OF_TWELVE, "quite another matter here"]
        labels, weights = np.append(KINDS, "pos"), np.append(np.ones(12), 0)
        known = HierarchicalTokenizer().fit(texts).vocabulary_
        tokenizer = HierarchicalTokenizer(vocabulary=known)
        found = vectors(texts, labels, weights, linear_ngrams=None, tokenizer=tokenizer)
        length = np.linalg.norm(found[known["matter"]])
        assert abs(length - 0.1 * 5**0.5) > 1e-4  # a learnt vector has this length


WORDS = HierarchicalTokenizer().fit(OF_TWELVE).vocabulary_
SHAPE = (len(WORDS) + 2, 5)  # after the padding and the unknown word


NOT_FINITE = np.zeros((11, 3))
NOT_FINITE[[4, 7], 1] = np.nan, 1e39


class NeverStarted(Callback):
    def on_train_begin(self, net, **kwargs):
        raise AssertionError("the training started")


class TestGiven:
    def test_random_initialization_needs_no_words(self):
        drawn, learnt = vectors(embedding_init="random"), vectors(embedding_init="cooccurrence")
        assert abs(drawn - learnt).max() > 1e-3
        of_ids = HierarchicalTokenizer().fit_transform(OF_TWELVE)  # it needs no words
        np.testing.assert_array_equal(vectors(of_ids, embedding_init="random"), drawn)

    @pytest.mark.parametrize(
        ("init", "error", "message"),
        [
            ("word2vec", ValueError, r"'word2vec'; give 'cooccurrence', 'random', .*load_embed"),
            ([[0.0] * 5] * 5, TypeError, r"is a list; give .* a NumPy array.*np\.asarray"),
            (torch.zeros(SHAPE), TypeError, r"is a Tensor; .*np\.asarray"),
            (np.array([["good", "bad"]]), TypeError, r"dtype <U4; expected numbers: .*astype"),
            (np.array(np.nan), ValueError, r"embedding_init has the shape \(\)"),
            (np.ones((5, 2)), ValueError, rf"\(5, 2\); expected \({SHAPE[0]}, 5\)"),
            (NOT_FINITE, ValueError, r"holds nan in row 4; 2 of 11 rows hold NaN.*np\.nan_to_num"),
            ({"good": [np.nan] * 5}, ValueError, "vectors of 'good', 1 of 1, hold NaN"),
        ],
    )
    def test_an_invalid_embedding_init_is_refused(self, init, error, message):
        with pytest.raises(error, match=message):
            fitted(embedding_init=init, callbacks=[NeverStarted()])

    def test_a_nonfinite_array_is_refused_before_reading_texts(self):
        def never(text):
            raise AssertionError("a text was read")

        tokenizer = HierarchicalTokenizer(word_tokenizer=never)
        classifier = untrained(embedding_init=NOT_FINITE, tokenizer=tokenizer)
        for fit in (classifier.fit, partial(classifier.partial_fit, classes=["neg", "pos"])):
            with pytest.raises(ValueError, match="2 of 11 rows"):
                fit(OF_TWELVE, KINDS)

    def test_an_array_is_used_unchanged_in_single_precision(self):
        init = np.arange(5.0 * SHAPE[0]).reshape(SHAPE)
        of_ids = HierarchicalTokenizer().fit_transform(OF_TWELVE)  # it needs no words
        for X in (OF_TWELVE, of_ids):
            weights = vectors(X, embedding_init=init)
            assert weights.dtype == np.float32
            np.testing.assert_array_equal(weights[1:], init[1:])

    def test_a_mapping_gives_vectors_of_words_and_needs_words(self):
        init = {"day": [1.0, 2.0, 3.0, 4.0, 5.0], "elsewhere": [np.inf] * 5}
        assert vectors(embedding_init=init)[WORDS["day"]].tolist() == [1, 2, 3, 4, 5]
        of_ids = HierarchicalTokenizer().fit_transform(OF_TWELVE)
        with pytest.raises(ValueError, match=r"X holds word ids\. Give an array"):
            fitted(of_ids, embedding_init=init)
