"""What scikit-learn builds on top of an estimator, given raw texts; `tests/scenarios` has more."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han import RNN, HierarchicalTokenizer, MultiHopAttention
from tests import tiny_models
from tests.tiny_models import BAD, GOOD

TEXTS = 4 * (GOOD + BAD)
LABELS = np.array(4 * (3 * ["pos"] + 3 * ["neg"]))

# It learns the cue words in a tenth of a second.
quick = partial(
    tiny_models.tiny,
    dropout=0.0,
    word_dropout=0.0,
    lr=0.1,
    lr_schedule="constant",
    max_epochs=8,
    batch_size=8,
    validation_fraction=None,
)


class TestSearches:
    def test_a_search_sets_nested_options_of_the_best_network(self):
        options = {"rnn": RNN(), "pooling": MultiHopAttention(size=3)}
        grid = {"pooling__hops": [1, 2], "rnn__num_layers": [1, 2]}
        search = GridSearchCV(quick(max_epochs=2, **options), grid, cv=2).fit(TEXTS, LABELS)
        assert options == {"rnn": RNN(), "pooling": MultiHopAttention(size=3)}
        best, fitted = search.best_params_, search.best_estimator_.net_.module_.options
        assert fitted.pooling == MultiHopAttention(size=3, hops=best["pooling__hops"])
        assert fitted.rnn == RNN(num_layers=best["rnn__num_layers"])

    def test_weights_are_routed_through_a_search_of_a_pipeline(self):
        right = np.where(np.arange(24) % 4 == 3, 0.0, 1.0)
        partly_wrong = np.where(right, LABELS, np.where(LABELS == "pos", "neg", "pos"))
        with sklearn.config_context(enable_metadata_routing=True):
            classifier = quick(max_epochs=16).set_fit_request(sample_weight=True)
            scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
            pipeline = make_pipeline(HierarchicalTokenizer(), classifier)
            search = GridSearchCV(pipeline, {"hanclassifier__lr": [0.1]}, cv=2, scoring=scorer)
            search.fit(TEXTS, partly_wrong, sample_weight=right)
        assert search.best_score_ == 1.0
        directly = make_pipeline(HierarchicalTokenizer(), quick(max_epochs=16))
        directly.fit(TEXTS, partly_wrong, hanclassifier__sample_weight=right)
        np.testing.assert_array_equal(search.predict_proba(TEXTS), directly.predict_proba(TEXTS))


def test_calibration_does_not_retrain_a_frozen_classifier():
    fitted = quick().fit(TEXTS, LABELS)
    before = fitted.predict_proba(TEXTS)
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), cv=2).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(TEXTS), before)
    np.testing.assert_array_equal(calibrated.predict(TEXTS), LABELS)


READ = []


def counted_words(sentence):
    READ.append(sentence)
    return sentence.lower().split()


@pytest.mark.thorough
def test_memory_keeps_the_tokenized_documents(tmp_path):
    steps = [("tokenizer", HierarchicalTokenizer(word_tokenizer=counted_words))]
    pipeline = Pipeline([*steps, ("han", quick())], memory=str(tmp_path))
    READ.clear()
    first = pipeline.fit(TEXTS, LABELS).predict_proba(TEXTS)
    n_read = len(READ)
    again = pipeline.fit(TEXTS, LABELS)
    assert len(READ) == n_read
    np.testing.assert_array_equal(again.predict_proba(TEXTS), first)
