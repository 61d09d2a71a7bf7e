"""Fits that work, but do less than they seem to: each says so at the user's line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.tiny_models import LABELS, TEXTS, tiny


def warnings_of(learn):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


class TestClassesOfOneDocument:
    def test_they_are_named_with_what_becomes_of_their_document(self):
        labels = [*LABELS[:-2], "rare", "odd"]
        (message,) = warnings_of(lambda: tiny().fit(TEXTS, labels))
        assert message.startswith("2 of 4 classes have a single document: 'odd', 'rare'. It is")
        assert "trained on and not held out" in message

    def test_texts_in_place_of_labels_are_shortened(self):
        texts = [f"{text} The day was number {i} of them." for i, text in enumerate(TEXTS)]
        (message,) = warnings_of(lambda: tiny().fit(LABELS, texts))
        assert "...r 11 of them." in message
        assert len(message) < 500

    def test_a_document_of_weight_zero_is_none(self):
        weights = np.ones(len(TEXTS))
        weights[LABELS == "pos"] = 0
        weights[0] = 1
        (message,) = warnings_of(lambda: tiny().fit(TEXTS, LABELS, sample_weight=weights))
        assert "single document: 'pos'" in message

    def test_a_portion_may_have_one(self):
        learn = tiny().partial_fit
        assert warnings_of(lambda: learn(TEXTS[:4], LABELS[:4], classes=["neg", "pos"])) == []


class TestEarlyStoppingWithoutHeldOutDocuments:
    @pytest.mark.parametrize(
        ("params", "why"),
        [
            ({"validation_fraction": None}, "and validation_fraction is None. Give X_val"),
            ({"validation_fraction": 0.01}, "18 documents of 2 classes are too few to hold out"),
        ],
    )
    def test_it_says_that_it_has_no_effect(self, params, why):
        classifier = tiny(n_iter_no_change=3, **params)
        (message,) = warnings_of(lambda: classifier.fit(TEXTS, LABELS))
        assert message.startswith("n_iter_no_change=3 has no effect without held-out documents")
        assert why in message

    def test_documents_given_for_validation_are_enough(self):
        classifier = tiny(n_iter_no_change=3, validation_fraction=None)
        given = {"X_val": TEXTS, "y_val": LABELS}
        assert warnings_of(lambda: classifier.fit(TEXTS, LABELS, **given)) == []
