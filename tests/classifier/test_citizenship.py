"""What scikit-learn expects of an estimator beyond its own checks."""

from __future__ import annotations

import copy
import random

import joblib
import numpy as np
import pytest
import torch

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

    def test_a_generator_of_numpy_gives_the_numbers_of_its_seed_and_goes_on(self):
        by_seed = tiny(random_state=3).fit(TEXTS, LABELS).predict_proba(TEXTS)
        classifier = tiny(random_state=np.random.RandomState(3))
        first = classifier.fit(TEXTS, LABELS).predict_proba(TEXTS)
        np.testing.assert_array_equal(first, by_seed)
        assert not np.array_equal(classifier.fit(TEXTS, LABELS).predict_proba(TEXTS), first)


def test_a_diagram_escapes_what_parameters_hold():
    shown = HANClassifier(class_weight={"<script>alert(1)</script>": 1.0})._repr_html_()
    assert "<script>alert" not in shown


class TestParameters:
    def test_every_parameter_comes_back_as_it_was_given(self):
        params = HANClassifier(**ALL_PARAMS).get_params(deep=False)
        assert params.keys() == ALL_PARAMS.keys() == HANClassifier().get_params(deep=False).keys()
        assert all(params[name] is value for name, value in ALL_PARAMS.items())

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

    def test_options_of_a_fitted_network_are_its_own(self):
        classifier = tiny(pooling=MultiHopAttention(size=4, hops=2)).fit(TEXTS, LABELS)
        expected = classifier.predict_proba(TEXTS)
        classifier.set_params(pooling__size=99, pooling__penalty=5.0)
        assert classifier.net_.module_.options.pooling == MultiHopAttention(size=4, hops=2)
        np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)
