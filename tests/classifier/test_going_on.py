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
    @pytest.mark.parametrize("params", [{}, {"optimizer": "adam", "validation_fraction": None}])
    def test_a_copy_goes_on_as_the_same_object_does(self, copied, params, tmp_path):
        classifier = tiny(warm_start=True, max_epochs=2, **params).fit(TEXTS, LABELS)
        other = copied(classifier, tmp_path)
        assert_equal(classifier.fit(TEXTS, LABELS), other.fit(TEXTS, LABELS))

    @pytest.mark.parametrize("name", ["deepcopy", "pickle"])
    def test_so_it_is_with_a_generator_of_numpy(self, name, tmp_path):
        random_state = np.random.RandomState(3)
        classifier = tiny(warm_start=True, random_state=random_state).fit(TEXTS, LABELS)
        other = COPIES[name](classifier, tmp_path)
        assert_equal(classifier.fit(TEXTS, LABELS), other.fit(TEXTS, LABELS))

    @pytest.mark.thorough
    @copied
    def test_no_fit_repeats_the_noise_of_the_fit_before(self, copied, tmp_path):
        still = {"lr": 1e-12, "net_params": {"optimizer__weight_decay": 0.0}}
        classifier = tiny(warm_start=True, max_epochs=1, **still).fit(TEXTS, LABELS)
        losses = []
        for _ in range(4):
            losses.append(classifier.history_[-1]["train_loss"])
            classifier = copied(classifier, tmp_path).fit(TEXTS, LABELS)
        assert np.abs(np.diff(losses)).min() > 1e-6


class TestPartialFit:
    def of_two_portions(self, between):
        """Train a net whose weights stay, so that a loss shows noise and order alone."""
        still = {"lr": 1e-12, "net_params": {"optimizer__weight_decay": 0.0}}
        classifier = tiny(**still).partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        return between(classifier).partial_fit(TEXTS, LABELS)

    @copied
    def test_a_copy_draws_the_noise_that_the_same_object_draws(self, copied, tmp_path):
        same = self.of_two_portions(lambda classifier: classifier)
        other = self.of_two_portions(lambda classifier: copied(classifier, tmp_path))
        losses = [[epoch["train_loss"] for epoch in each.history_] for each in (same, other)]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
        assert losses[1][0] != losses[1][1]

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
