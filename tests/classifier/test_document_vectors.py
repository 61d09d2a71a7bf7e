"""What `transform` gives: the vectors that the network's last layer scores."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from sk_han import RNN, ContextAttention, HierarchicalTokenizer, MultiHopAttention
from tests.tiny_models import GOOD, LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

# What the vectors of training documents are good for is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore:The network has memorized")

SIZE = 6  # two directions of three states


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


def scored(classifier, vectors):
    """Score vectors as the network does."""
    weights = classifier.net_.weights
    return vectors @ weights["output.weight"].T + weights["output.bias"]


class TestVectors:
    @pytest.mark.parametrize(
        ("params", "size"),
        [
            ({}, SIZE),
            ({"sentence_hidden": 5}, 10),
            ({"rnn": RNN(cell="lstm", num_layers=2, bidirectional=False)}, 3),
            ({"pooling": "max"}, SIZE),
            ({"pooling": "last"}, SIZE),
            ({"pooling": MultiHopAttention(size=4, hops=2)}, 2 * SIZE),
            ({"pooling": ContextAttention(size=4)}, SIZE),
        ],
        ids=str,
    )
    def test_they_are_what_the_last_layer_scores(self, params, size):
        classifier = fitted_classifier(**params)
        vectors = classifier.transform(UNSEEN)
        logits = classifier.net_.outputs(classifier.tokenizer_.transform(UNSEEN))
        assert vectors.shape == (len(UNSEEN), size)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(scored(classifier, vectors), logits, atol=1e-6)

    @pytest.mark.parametrize("pooling", ["attention", "mean", "max", "last"])
    def test_that_of_an_empty_document_is_zeros(self, pooling):
        vectors = fitted_classifier(pooling=pooling).transform(["", "--", GOOD[0]])
        assert not vectors[:2].any()
        assert vectors[2].any()

    def test_one_does_not_depend_on_its_neighbours(self, fitted):
        alone = np.vstack([fitted.transform([text]) for text in UNSEEN])
        np.testing.assert_allclose(fitted.transform(UNSEEN), alone, atol=1e-6)

    def test_batches_come_back_in_order(self, fitted):
        in_batches = pickle.loads(pickle.dumps(fitted))
        in_batches.net_.valid_batch_size = 3
        np.testing.assert_allclose(
            in_batches.transform(UNSEEN), fitted.transform(UNSEEN), atol=1e-6
        )

    def test_word_ids_give_the_same_as_texts(self, fitted):
        pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
        np.testing.assert_array_equal(pipeline.transform(UNSEEN), fitted.transform(UNSEEN))

    def test_fit_transform_is_fit_and_transform(self, fitted):
        np.testing.assert_array_equal(tiny().fit_transform(TEXTS, LABELS), fitted.transform(TEXTS))


NAMES = [f"hanclassifier{i}" for i in range(SIZE)]


class TestNames:
    def test_features_are_numbered_by_the_class(self, fitted):
        assert fitted.get_feature_names_out().tolist() == NAMES
        assert fitted.get_feature_names_out(["body"]).tolist() == NAMES

    def test_a_pipeline_of_two_steps_names_them_too(self):
        pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
        assert pipeline.get_feature_names_out().tolist() == NAMES

    def test_pandas_output_keeps_the_index_of_a_frame(self):
        # scikit-learn 1.6 does not keep that of a Series.
        column = pd.DataFrame({"body": TEXTS}, index=range(7, 25))
        classifier = tiny().set_output(transform="pandas")
        for frame in (classifier.fit_transform(column, LABELS), classifier.transform(column)):
            assert isinstance(frame, pd.DataFrame)
            assert frame.columns.tolist() == NAMES
            assert frame.index.equals(column.index)
            np.testing.assert_array_equal(frame, fitted_classifier().transform(TEXTS))

    def test_polars_output_has_the_names(self):
        frame = tiny().set_output(transform="polars").fit_transform(TEXTS, LABELS)
        assert isinstance(frame, pl.DataFrame)
        assert frame.columns == NAMES

    def test_output_set_for_all_of_scikit_learn_leaves_documents_as_they_are(self):
        with sklearn.config_context(transform_output="pandas"):
            pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
            frame = pipeline.transform(TEXTS)
            assert isinstance(frame, pd.DataFrame)
            assert pipeline.predict(TEXTS).shape == (len(TEXTS),)
