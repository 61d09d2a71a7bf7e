"""Texts beside other columns: document vectors among the features of another model."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_han import HierarchicalTokenizer
from tests import tiny_models
from tests.tiny_models import BAD, GOOD

# What the vectors of training documents are good for is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore:The network has memorized")

LABELS = np.array(4 * (3 * ["pos"] + 3 * ["neg"]))
TITLES = ["Good morning", "Bad news", "Rain again", "The sun"]
FRAME = pd.DataFrame(
    {
        "title": [TITLES[i % 4] for i in range(24)],
        "body": 4 * (GOOD + BAD),
        "stars": np.tile([5.0, 4, 5, 1, 2, 1], 4),
    },
    index=range(7, 31),
)

tiny = partial(
    tiny_models.tiny, max_epochs=8, lr=0.05, lr_schedule="constant", validation_fraction=None
)


def vectors(**params):
    return make_pipeline(HierarchicalTokenizer(), tiny(**params))


def features():
    return ColumnTransformer(
        [("body", vectors(), "body"), ("stars", StandardScaler(), ["stars"])], remainder="drop"
    )


def model():
    return make_pipeline(features(), LogisticRegression())


NAMES = [*(f"body__hanclassifier{i}" for i in range(6)), "stars__stars"]


@pytest.fixture(scope="module")
def fitted():
    """The fitted columns, and what they give."""
    columns = features()
    return columns, columns.fit_transform(FRAME, LABELS)


class TestColumns:
    def test_text_and_numbers_go_into_one_model(self):
        assert cross_val_score(model(), FRAME, LABELS, cv=2).tolist() == [1.0, 1.0]

    def test_features_are_the_document_vectors_and_the_numbers(self, fitted):
        found = fitted[1]
        text = vectors().fit(FRAME["body"], LABELS).transform(FRAME["body"])
        np.testing.assert_array_equal(found[:, :6], text)
        np.testing.assert_allclose(
            found[:, 6], StandardScaler().fit_transform(FRAME[["stars"]])[:, 0]
        )

    def test_features_have_names(self, fitted):
        assert fitted[0].get_feature_names_out().tolist() == NAMES

    def test_features_become_a_frame(self, fitted):
        # Documents have no index: behind a tokenizer rows are numbered.
        frame = FRAME.reset_index(drop=True)
        found = features().set_output(transform="pandas").fit_transform(frame, LABELS)
        assert found.columns.tolist() == NAMES
        np.testing.assert_array_equal(found, fitted[1])

    def test_without_a_tokenizer_in_front_they_are_the_same_with_the_index_of_the_frame(
        self, fitted
    ):
        # A column of a frame, since scikit-learn 1.6 does not keep the index of a Series.
        steps = [("body", tiny(), ["body"]), ("stars", StandardScaler(), ["stars"])]
        columns = ColumnTransformer(steps).set_output(transform="pandas")
        found = columns.fit_transform(FRAME, LABELS)
        assert found.columns.tolist() == NAMES
        assert found.index.equals(FRAME.index)
        np.testing.assert_array_equal(found, fitted[1])

    @pytest.mark.thorough
    def test_two_columns_of_texts_have_a_network_each(self):
        columns = ColumnTransformer(
            [("title", vectors(sentence_hidden=2), "title"), ("body", vectors(), "body")]
        )
        assert columns.fit_transform(FRAME, LABELS).shape == (24, 4 + 6)
        both = make_pipeline(columns, LogisticRegression())
        assert cross_val_score(both, FRAME, LABELS, cv=2).min() > 0.8

    @pytest.mark.thorough
    def test_a_union_puts_vectors_beside_other_features_of_the_text(self):
        union = FeatureUnion([("han", vectors()), ("tfidf", TfidfVectorizer())])
        found = union.fit_transform(FRAME["body"], LABELS)
        assert found.shape == (24, 6 + len(union["tfidf"].vocabulary_))
        both = make_pipeline(clone(union), LogisticRegression())
        assert cross_val_score(both, FRAME["body"], LABELS, cv=2).tolist() == [1.0, 1.0]

    @pytest.mark.thorough
    def test_a_stack_weighs_a_model_of_all_columns_against_one_of_numbers(self):
        numbers = make_pipeline(
            ColumnTransformer([("stars", StandardScaler(), ["stars"])]), LogisticRegression()
        )
        stack = StackingClassifier([("all", model()), ("numbers", numbers)], cv=2)
        assert cross_val_score(stack, FRAME, LABELS, cv=2).tolist() == [1.0, 1.0]

    @pytest.mark.thorough
    def test_a_stack_may_hold_a_classifier_of_one_column(self):
        han = make_pipeline(ColumnTransformer([("body", vectors(), "body")]), LogisticRegression())
        numbers = make_pipeline(
            ColumnTransformer([("stars", StandardScaler(), ["stars"])]), LogisticRegression()
        )
        stack = StackingClassifier([("han", han), ("numbers", numbers)], cv=2).fit(FRAME, LABELS)
        assert stack.transform(FRAME).shape == (24, 2)
        assert (stack.final_estimator_.coef_ > 0).all()

    @pytest.mark.thorough
    def test_a_search_reaches_through_the_columns_into_the_pooling(self):
        pipeline = Pipeline([("features", features()), ("model", LogisticRegression())])
        grid = {"features__body__hanclassifier__pooling__size": [2, 3]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(FRAME, LABELS)
        assert search.best_score_ == 1.0
        network = search.best_estimator_["features"].named_transformers_["body"][-1].net_.module_
        assert network.options.pooling.size == search.best_params_[next(iter(grid))]

    @pytest.mark.thorough
    def test_worker_processes_give_the_same_scores(self, one_thread):
        scores = [
            cross_val_score(model(), FRAME, LABELS, cv=2, n_jobs=n_jobs, scoring="neg_log_loss")
            for n_jobs in (1, 2)
        ]
        np.testing.assert_allclose(scores[1], scores[0], rtol=1e-5)
