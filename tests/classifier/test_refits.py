"""A prediction while another thread fits the same classifier is that of one fit."""

import numpy as np
import pytest

from sk_han import explain_iter
from sk_han.nn import HierarchicalAttentionNetwork
from tests.tiny_models import UNSEEN, fitted_classifier, tiny

OTHER_TEXTS = ["rain and rain", "sun or shade", "snow. wind."] * 6
OTHER_LABELS = ["wet", "dry", "cold"] * 6


def refitted_while_read(classifier, texts):
    """Yield texts, before which the classifier is fitted to other ones."""
    classifier.fit(OTHER_TEXTS, OTHER_LABELS)
    yield from texts


METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform"]


@pytest.mark.parametrize("method", METHODS)
def test_a_call_that_a_refit_overtakes_gives_the_former_answer(method):
    classifier = fitted_classifier()
    expected = getattr(classifier, method)(UNSEEN)
    found = getattr(classifier, method)(refitted_while_read(classifier, UNSEEN))
    np.testing.assert_array_equal(found, expected)
    assert list(classifier.classes_) == ["cold", "dry", "wet"]


def test_explanations_go_on_with_the_model_that_they_began_with():
    classifier = fitted_classifier()
    expected = classifier.explain(UNSEEN, batch_size=1)
    found = explain_iter(classifier, UNSEEN, batch_size=1)
    begun = next(found)
    classifier.fit(OTHER_TEXTS, OTHER_LABELS)
    assert [begun, *found] == list(expected)


def test_a_state_that_is_taken_during_a_refit_is_that_of_one_fit(monkeypatch):
    classifier = fitted_classifier()
    original = HierarchicalAttentionNetwork.to_plain

    def overtaken(network):
        classifier.fit(OTHER_TEXTS, OTHER_LABELS)
        return original(network)

    monkeypatch.setattr(HierarchicalAttentionNetwork, "to_plain", overtaken)
    expected = classifier.predict_proba(UNSEEN)
    state = classifier.to_state()
    np.testing.assert_array_equal(tiny().from_state(state).predict_proba(UNSEEN), expected)
