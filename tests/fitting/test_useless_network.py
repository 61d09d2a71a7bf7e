"""A network that has learnt nothing of its training documents says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sk_han.datasets import make_reviews
from tests.thorough import first_fast
from tests.tiny_models import tiny

TEXTS, LABELS = make_reviews(80, random_state=0)
LABELS = np.array(LABELS)


@pytest.mark.parametrize("params", [{"max_epochs": 4}, {"validation_fraction": None}])
def test_a_rate_that_is_far_too_high_is_named(params):
    message = r"tells nothing: .* loss is [\d.]+, .* frequencies alone 0\.69\d?\..* Lower lr=100 "
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        tiny(lr=100, **params).fit(TEXTS, LABELS)
    assert len(warned) == 1
    assert warned[0].filename == __file__


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("max_epochs", "noise"),
    first_fast([(1, False), (1, True), ("auto", True), ("auto", False), (2, False), (2, True)], 3),
)
def test_few_epochs_and_labels_without_meaning_are_no_fault_of_training(max_epochs, noise):
    labels = np.random.RandomState(0).permutation(LABELS) if noise else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(max_epochs=max_epochs).fit(TEXTS, labels)


def test_weights_count_in_the_frequencies():
    rare = np.where(np.arange(80) < 75, "pos", "neg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(class_weight="balanced", max_epochs=1).fit(TEXTS, rare)


def test_a_portion_of_other_frequencies_is_no_fault_of_training():
    classifier = tiny().partial_fit(TEXTS, ["pos"] * 80, classes=["neg", "pos"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            classifier.partial_fit(TEXTS, ["neg"] * 80)
