"""What scikit-learn expects of an estimator beyond its own checks."""

from __future__ import annotations

import copy
import random

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from sk_han import (
    RNN,
    HANClassifier,
    HierarchicalTokenizer,
    MultiHopAttention,
    explain,
    faithfulness_report,
)
from tests.tiny_models import tiny

TEXTS = 8 * ["It was a good day. The sun shone.", "It was a bad day. The rain fell."]
LABELS = np.array(8 * ["pos", "neg"])
ALL_PARAMS = {
    "tokenizer": HierarchicalTokenizer(min_df=2),
    "text_column": "review",
    "columns": ["price"],
    "embedding_dim": 8,
    "embedding_init": np.zeros((3, 8)),
    "freeze_embedding": True,
    "word_hidden": 4,
    "sentence_hidden": 5,
    "rnn": RNN(cell="lstm", num_layers=2, bidirectional=False),
    "pooling": MultiHopAttention(size=4, hops=2, penalty=0.5),
    "dropout": 0.1,
    "word_dropout": 0.0,
    "adversarial_noise": 0.01,
    "linear_ngrams": (1, 2),
    "linear_chars": (2, 3),
    "optimizer": "sgd",
    "lr": 0.1,
    "lr_schedule": "constant",
    "max_epochs": 2,
    "batch_size": 8,
    "class_weight": {"pos": 2.0},
    "threshold": 0.5,  # others are for several labels a document
    "priors": {"pos": 0.3, "neg": 0.7},
    "ordered": True,
    "validation_fraction": 0.2,
    "n_iter_no_change": 3,
    "warm_start": True,
    "random_state": 0,
    "device": "cpu",
    "callbacks": [],
    "net_params": {"module__max_words": 50},
    "engine": "torch",
    "n_threads": 1,
    "verbose": 1,
}


def moved():
    """Seed the global generators, and return a function that names those moved since."""
    np.random.seed(5)
    random.seed(5)
    torch.manual_seed(5)
    states = {
        "numpy": lambda: repr(np.random.get_state(legacy=False)),
        "random": random.getstate,
        "torch": lambda: torch.get_rng_state().tolist(),
    }
    before = {name: state() for name, state in states.items()}
    return lambda: [name for name, state in states.items() if state() != before[name]]


class TestRandomness:
    @pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
    def test_global_generators_are_left_alone_with_a_random_state(self, random_state):
        found = moved()
        classifier = tiny(random_state=random_state).fit(TEXTS, LABELS)
        classifier.partial_fit(TEXTS, LABELS)
        classifier.set_params(warm_start=True).fit(TEXTS, LABELS)
        assert found() == []

    def test_without_a_random_state_learning_moves_the_generator_of_numpy_alone(self):
        classifier = tiny(random_state=None)
        for learn in (classifier.fit, classifier.partial_fit):
            found = moved()
            learn(TEXTS, LABELS)
            assert found() == ["numpy"]

    def test_prediction_and_explanation_move_no_global_generator(self):
        classifier = tiny(random_state=None).fit(TEXTS, LABELS)
        found = moved()
        classifier.predict_proba(TEXTS)
        classifier.transform(TEXTS)
        for method in ("gradient_attention", "random"):
            explain(classifier, TEXTS[:2], method=method)
        faithfulness_report(classifier, TEXTS[:2])
        assert found() == []

    def test_the_state_of_global_generators_changes_nothing(self):
        expected = tiny().fit(TEXTS, LABELS).predict_proba(TEXTS)
        np.random.seed(6)
        random.seed(6)
        torch.manual_seed(6)
        np.testing.assert_array_equal(tiny().fit(TEXTS, LABELS).predict_proba(TEXTS), expected)

    def test_a_generator_of_numpy_gives_the_numbers_of_its_seed(self):
        by_seed = tiny(random_state=3).fit(TEXTS, LABELS)
        by_state = tiny(random_state=np.random.RandomState(3)).fit(TEXTS, LABELS)
        np.testing.assert_array_equal(by_state.predict_proba(TEXTS), by_seed.predict_proba(TEXTS))

    def test_a_generator_of_numpy_goes_on_from_fit_to_fit(self):
        classifier = tiny(random_state=np.random.RandomState(3))
        first = classifier.fit(TEXTS, LABELS).predict_proba(TEXTS)
        assert not np.array_equal(classifier.fit(TEXTS, LABELS).predict_proba(TEXTS), first)

    def test_no_random_state_draws_from_the_generator_of_numpy(self):
        probabilities = []
        for _ in range(2):
            np.random.seed(7)
            classifier = tiny(random_state=None).fit(TEXTS, LABELS)
            probabilities.append(classifier.predict_proba(TEXTS))
        np.testing.assert_array_equal(*probabilities)


class TestParameters:
    def test_every_parameter_comes_back_as_it_was_given(self):
        given = HANClassifier(**ALL_PARAMS).get_params(deep=False)
        assert given.keys() == ALL_PARAMS.keys()
        assert all(given[name] is value for name, value in ALL_PARAMS.items())

    def test_no_parameter_is_left_out_of_these_tests(self):
        assert ALL_PARAMS.keys() == HANClassifier().get_params(deep=False).keys()
        defaults = HANClassifier().get_params(deep=False)
        assert [name for name, value in ALL_PARAMS.items() if value is defaults[name]] == []

    def test_a_clone_has_equal_parameters_and_no_fitted_state(self):
        fitted = tiny(tokenizer=HierarchicalTokenizer(min_df=2)).fit(TEXTS, LABELS)
        cloned = clone(fitted)
        params, expected = cloned.get_params(), fitted.get_params()
        assert repr(params.pop("tokenizer")) == repr(expected.pop("tokenizer"))
        assert params == expected
        with pytest.raises(NotFittedError):
            check_is_fitted(cloned)

    def test_fit_changes_no_parameter(self):
        X = HierarchicalTokenizer(min_df=2).fit_transform(TEXTS)
        vectors = np.full((int(X.word_ids.max()) + 1, ALL_PARAMS["embedding_dim"]), 0.5)
        params = ALL_PARAMS | {
            "verbose": 0,
            "embedding_init": vectors,
            "text_column": None,
            "columns": None,
            "ordered": False,  # these labels have no order
        }
        before = copy.deepcopy(params)
        classifier = HANClassifier(**params).fit(X, LABELS)
        assert all(getattr(classifier, name) is value for name, value in params.items())
        assert joblib.hash(params) == joblib.hash(before)

    def test_parameters_of_the_tokenizer_are_reached_by_name(self):
        classifier = HANClassifier(tokenizer=HierarchicalTokenizer())
        classifier.set_params(tokenizer__min_df=3)
        assert classifier.get_params()["tokenizer__min_df"] == 3
        assert classifier.tokenizer.min_df == 3

    def test_parameters_of_the_options_are_reached_by_name(self):
        classifier = HANClassifier(rnn=RNN(), pooling=MultiHopAttention())
        classifier.set_params(rnn__num_layers=3, pooling__hops=2, pooling__size=7)
        assert classifier.rnn == RNN(num_layers=3)
        assert classifier.pooling == MultiHopAttention(size=7, hops=2)
        params = classifier.get_params()
        found = {name: params[name] for name in params if "__" in name}
        assert found == {
            "rnn__cell": "gru",
            "rnn__num_layers": 3,
            "rnn__bidirectional": True,
            "pooling__size": 7,
            "pooling__per_label": "auto",
            "pooling__hops": 2,
            "pooling__penalty": 1.0,
        }

    def test_a_clone_has_options_that_are_equal_and_its_own(self):
        classifier = HANClassifier(rnn=RNN(num_layers=2), pooling=MultiHopAttention(hops=3))
        cloned = clone(classifier)
        assert (cloned.rnn, cloned.pooling) == (classifier.rnn, classifier.pooling)
        assert type(cloned.pooling) is MultiHopAttention
        cloned.set_params(rnn__num_layers=1, pooling__size=5)
        assert classifier.rnn == RNN(num_layers=2)
        assert classifier.pooling == MultiHopAttention(hops=3)

    def test_options_of_a_fitted_network_are_its_own(self):
        classifier = tiny(pooling=MultiHopAttention(size=4, hops=2)).fit(TEXTS, LABELS)
        expected = classifier.predict_proba(TEXTS)
        classifier.set_params(pooling__size=99, pooling__penalty=5.0)
        assert classifier.net_.module_.options.pooling == MultiHopAttention(size=4, hops=2)
        np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)

    @pytest.mark.parametrize("name", ["pooling__hop", "rnn__num_layer"])
    def test_an_option_that_does_not_exist_is_refused(self, name):
        classifier = HANClassifier(rnn=RNN(), pooling=MultiHopAttention())
        with pytest.raises(ValueError, match=f"Invalid parameter {name.partition('__')[2]!r}"):
            classifier.set_params(**{name: 3})

    def test_options_are_printed_as_they_were_written(self):
        pooling = MultiHopAttention(hops=2)
        assert repr(pooling) in " ".join(repr(HANClassifier(pooling=pooling)).split())


class TestNotebook:
    def test_a_diagram_names_both_steps_and_whether_they_are_fitted(self):
        pipeline = make_pipeline(HierarchicalTokenizer(), tiny())
        before = estimator_html_repr(pipeline)
        after = estimator_html_repr(pipeline.fit(TEXTS, LABELS))
        for name in ("HierarchicalTokenizer", "HANClassifier"):
            assert name in before
        assert "Not fitted" in before
        assert "Not fitted" not in after

    def test_a_diagram_escapes_what_parameters_hold(self):
        shown = HANClassifier(class_weight={"<script>alert(1)</script>": 1.0})._repr_html_()
        assert "<script>alert" not in shown


def test_it_is_a_classifier_also_behind_a_tokenizer():
    assert is_classifier(HANClassifier())
    assert is_classifier(make_pipeline(HierarchicalTokenizer(), HANClassifier()))
