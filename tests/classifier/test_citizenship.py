"""What scikit-learn expects of an estimator beyond its own checks."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from sk_han import (
    HANClassifier,
    MultiHopAttention,
    explain,
    faithfulness_report,
)
from tests.tiny_models import tiny

TEXTS = 8 * ["It was a good day. The sun shone.", "It was a bad day. The rain fell."]
LABELS = np.array(8 * ["pos", "neg"])


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

    def test_fitting_without_a_seed_uses_only_numpys_global_generator(self):
        classifier = tiny(random_state=None)
        for learn in (classifier.fit, classifier.partial_fit):
            found = moved()
            learn(TEXTS, LABELS)
            assert found() == ["numpy"]

    def test_prediction_and_explanation_leave_global_generators_unchanged(self):
        classifier = tiny(random_state=None).fit(TEXTS, LABELS)
        found = moved()
        classifier.predict_proba(TEXTS)
        classifier.transform(TEXTS)
        for method in ("gradient_attention", "random"):
            explain(classifier, TEXTS[:2], method=method)
        faithfulness_report(classifier, TEXTS[:2])
        assert found() == []

    def test_a_random_state_object_matches_its_seed_and_advances(self):
        by_seed = tiny(random_state=3).fit(TEXTS, LABELS).predict_proba(TEXTS)
        classifier = tiny(random_state=np.random.RandomState(3))
        first = classifier.fit(TEXTS, LABELS).predict_proba(TEXTS)
        np.testing.assert_array_equal(first, by_seed)
        assert not np.array_equal(classifier.fit(TEXTS, LABELS).predict_proba(TEXTS), first)


def test_the_html_diagram_escapes_parameter_values():
    shown = HANClassifier(class_weight={"<script>alert(1)</script>": 1.0})._repr_html_()
    assert "<script>alert" not in shown


class TestParameters:
    def test_set_params_does_not_change_a_fitted_network(self):
        classifier = tiny(pooling=MultiHopAttention(size=4, hops=2)).fit(TEXTS, LABELS)
        expected = classifier.predict_proba(TEXTS)
        classifier.set_params(pooling__size=99, pooling__penalty=5.0)
        assert classifier.net_.module_.options.pooling == MultiHopAttention(size=4, hops=2)
        np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)
