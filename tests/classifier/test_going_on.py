"""Learning that goes on, in the same object and in copies of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sk_han import load, save
from tests.tiny_models import LABELS, TEXTS, tiny


def saved_and_loaded(classifier, tmp_path):
    save(classifier, tmp_path / "model")
    return load(tmp_path / "model")


COPIES = {
    "deepcopy": lambda classifier, tmp_path: copy.deepcopy(classifier),
    "pickle": lambda classifier, tmp_path: pickle.loads(pickle.dumps(classifier)),
    "file": saved_and_loaded,
}
copied = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())


def assert_equal(classifier, other):
    assert [epoch["train_loss"] for epoch in classifier.history_] == [
        epoch["train_loss"] for epoch in other.history_
    ]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), other.predict_proba(TEXTS))


class TestWarmStart:
    @copied
    def test_a_copy_goes_on_as_the_same_object_does(self, copied, tmp_path):
        classifier = tiny(warm_start=True, max_epochs=2, optimizer="adam").fit(TEXTS, LABELS)
        other = copied(classifier, tmp_path)
        assert_equal(classifier.fit(TEXTS, LABELS), other.fit(TEXTS, LABELS))

    def test_no_fit_repeats_the_noise_of_the_fit_before(self):
        still = {"lr": 1e-12, "net_params": {"optimizer__weight_decay": 0.0}}
        classifier = tiny(warm_start=True, **still)
        losses = [
            classifier.fit(TEXTS, LABELS).history_[-1]["train_loss"],
            classifier.fit(TEXTS, LABELS).history_[-1]["train_loss"],
            classifier.partial_fit(TEXTS, LABELS).history_[-1]["train_loss"],
        ]
        assert len({round(loss, 6) for loss in losses}) == 3


class TestPartialFit:
    @copied
    def test_a_copy_begins_with_new_moments_of_the_optimizer(self, copied, tmp_path):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        other = copied(classifier, tmp_path)
        without = copy.deepcopy(classifier.partial_fit(TEXTS, LABELS))
        other.partial_fit(TEXTS, LABELS)
        assert not np.array_equal(other.predict_proba(TEXTS), without.predict_proba(TEXTS))

        again = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        again.net_.optimizer_.state.clear()
        assert_equal(again.partial_fit(TEXTS, LABELS), other)
