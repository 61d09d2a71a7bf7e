"""The average of the weights against one that is computed in full after every step."""

import numpy as np
import pytest
from skorch.callbacks import Callback

from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, tiny

DECAY = 0.8


class Recorder(Callback):
    """Average all weights after every step, and copy what validation and epochs see."""

    def on_train_begin(self, net, **kwargs):
        self.step, self.sums = 0, {}
        self.in_validation, self.at_epoch_end = [], []

    def on_batch_end(self, net, training, **kwargs):
        if not training:
            self.in_validation.append(self.weights(net))
            return
        self.step += 1
        for name, weight in self.weights(net).items():
            self.sums[name] = DECAY * self.sums.get(name, 0) + (1 - DECAY) * weight

    def on_epoch_end(self, net, **kwargs):
        self.at_epoch_end.append(self.weights(net))
        self.expected = {n: total / (1 - DECAY**self.step) for n, total in self.sums.items()}

    @staticmethod
    def weights(net):
        return {name: w.astype(np.float64) for name, w in net.weights.items()}


def trained(**params):
    """Give a classifier trained with averaging, and its recorder."""
    defaults = {
        "max_epochs": 3,
        "batch_size": 3,
        "lr": 0.02,
        "weight_averaging": DECAY,
        "validation_fraction": None,
        "linear_ngrams": None,
        "callbacks": [("recorder", Recorder())],
    }
    classifier = tiny(**{**defaults, **params}).fit(TEXTS, LABELS)
    return classifier, dict(classifier.net_.callbacks_)["recorder"]


def largest_difference(found, expected):
    return max(np.abs(found[name] - expected[name]).max() for name in expected)


@pytest.mark.parametrize("optimizer", first_fast(["adamw", "adam", "sgd"]))
@pytest.mark.parametrize("clip_norm", first_fast([1.0, None]))
def test_the_average_over_all_steps_is_kept(optimizer, clip_norm):
    # adamw has sparse gradients of the word vectors, the others dense ones.
    classifier, recorder = trained(optimizer=optimizer, net_params={"clip_norm": clip_norm})
    assert recorder.step == 18
    assert largest_difference(classifier.net_.weights, recorder.expected) < 1e-6


@pytest.mark.thorough
def test_training_goes_on_from_the_weights_themselves():
    losses = [
        [epoch["train_loss"] for epoch in trained(weight_averaging=decay)[0].history_]
        for decay in (DECAY, None)
    ]
    assert losses[0] == losses[1]


def test_validation_sees_the_averages():
    _, recorder = trained(validation_fraction=0.25)
    assert len(recorder.in_validation) == 3
    assert largest_difference(recorder.in_validation[-1], recorder.expected) < 1e-6


def test_the_averages_of_the_best_epoch_are_kept():
    classifier, recorder = trained(validation_fraction=0.25, max_epochs=6)
    kept = recorder.at_epoch_end[classifier.best_epoch_ - 1]
    assert largest_difference(classifier.net_.weights, kept) == 0


def test_vectors_that_thaw_are_averaged_with_what_they_were():
    classifier, recorder = trained(freeze_embedding=2)
    assert largest_difference(classifier.net_.weights, recorder.expected) < 1e-6


def test_each_portion_of_partial_fit_has_an_average_of_its_own():
    classifier, _ = trained()
    for _ in range(2):
        classifier.partial_fit(TEXTS, LABELS)
        recorder = dict(classifier.net_.callbacks_)["recorder"]
        assert recorder.step == 6
        assert largest_difference(classifier.net_.weights, recorder.expected) < 1e-6
