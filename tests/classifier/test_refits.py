"""A prediction while another thread fits the same classifier is that of one fit."""

import threading

import numpy as np
import pytest

from sk_han import explain_iter
from sk_han.nn import HierarchicalAttentionNetwork
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny

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


@pytest.mark.thorough
def test_four_readers_of_a_model_that_is_refitted_get_answers_of_fitted_models_only():
    models = [(TEXTS, LABELS), (OTHER_TEXTS, OTHER_LABELS)]
    texts = [*UNSEEN, *OTHER_TEXTS[:3]]
    known = {tiny().fit(*data).predict_proba(texts).tobytes() for data in models}
    classifier, found, ends = fitted_classifier(), set(), threading.Event()

    def read():
        while not ends.is_set():
            found.add(classifier.predict_proba(texts).tobytes())

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for data in 3 * models:
            classifier.fit(*data)
    finally:
        ends.set()
        for reader in readers:
            reader.join()
    assert found
    assert found <= known
