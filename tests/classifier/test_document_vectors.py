"""What `transform` gives: the vectors that the network's last layer scores."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from sk_han import RNN, HierarchicalTokenizer, MultiHopAttention
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
        ],
        ids=str,
    )
    def test_the_last_layer_maps_document_vectors_to_logits(self, params, size):
        classifier = fitted_classifier(**params)
        vectors = classifier.transform(UNSEEN)
        logits = classifier.net_.outputs(classifier.tokenizer_.transform(UNSEEN))
        assert vectors.shape == (len(UNSEEN), size)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(scored(classifier, vectors), logits, atol=1e-6)

    @pytest.mark.parametrize("pooling", ["attention", "mean", "max", "last"])
    def test_the_vector_of_an_empty_document_is_zero(self, pooling):
        vectors = fitted_classifier(pooling=pooling).transform(["", "--", GOOD[0]])
        assert not vectors[:2].any()
        assert vectors[2].any()

    def test_a_document_vector_does_not_depend_on_other_documents(self, fitted):
        alone = np.vstack([fitted.transform([text]) for text in UNSEEN])
        np.testing.assert_allclose(fitted.transform(UNSEEN), alone, atol=1e-6)

    def test_vectors_of_several_batches_come_back_in_order(self, fitted):
        in_batches = pickle.loads(pickle.dumps(fitted))
        in_batches.net_.valid_batch_size = 3
        np.testing.assert_allclose(
            in_batches.transform(UNSEEN), fitted.transform(UNSEEN), atol=1e-6
        )


NAMES = [f"hanclassifier{i}" for i in range(SIZE)]
FRAME = pd.DataFrame({"body": TEXTS, "stars": np.arange(18.0)}, index=range(7, 25))


class TestFrames:
    def test_vectors_of_a_pipeline_have_names(self, fitted):
        pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
        for model in (fitted, pipeline):
            assert model.get_feature_names_out().tolist() == NAMES
        np.testing.assert_array_equal(pipeline.transform(UNSEEN), fitted.transform(UNSEEN))

    # A column of a frame, since scikit-learn 1.6 does not keep the index of a Series.
    def test_a_model_of_columns_gets_vectors_next_to_numbers(self, fitted):
        steps = [("body", tiny(), ["body"]), ("stars", "passthrough", ["stars"])]
        columns = ColumnTransformer(steps).set_output(transform="pandas")
        for result in (columns.fit_transform(FRAME, LABELS), columns.transform(FRAME)):
            assert result.columns.tolist() == [*(f"body__{name}" for name in NAMES), "stars__stars"]
            assert result.index.equals(FRAME.index)
            np.testing.assert_array_equal(result.iloc[:, :-1], fitted.transform(TEXTS))

    def test_a_global_pandas_output_does_not_change_tokenized_documents(self):
        with sklearn.config_context(transform_output="pandas"):
            pipeline = make_pipeline(HierarchicalTokenizer(), tiny()).fit(TEXTS, LABELS)
            assert isinstance(pipeline.transform(TEXTS), pd.DataFrame)
            assert pipeline.predict(TEXTS).shape == (len(TEXTS),)
