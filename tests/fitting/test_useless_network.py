"""A fit warns of a model that is no better than chance, and of a useless network."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from sk_han.datasets import make_reviews
from tests.thorough import first_fast
from tests.tiny_models import tiny

TEXTS, LABELS = make_reviews(80, random_state=0)
LABELS = np.array(LABELS)


@pytest.mark.parametrize("params", [{"max_epochs": 4}, {"validation_fraction": None}])
def test_a_learning_rate_far_too_high_is_reported(params):
    message = r"is useless: .* loss is [\d.]+, .* frequencies alone 0\.69\d?\..* Set lr=100 "
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        tiny(lr=100, **params).fit(TEXTS, LABELS)
    assert len(warned) == 1
    assert warned[0].filename == __file__


MANY_TEXTS, MANY_LABELS = make_reviews(400, random_state=1)
SHUFFLED = np.random.RandomState(0).permutation(MANY_LABELS)
INDICATOR = np.stack([SHUFFLED, np.roll(SHUFFLED, 1)], axis=1) == "positive"


def judged(**params):
    return tiny(max_epochs=5, validation_fraction=0.25, **params)


@pytest.mark.parametrize("labels", [SHUFFLED, INDICATOR.astype(int)], ids=["classes", "labels"])
def test_labels_without_meaning_are_no_better_than_chance(labels):
    message = (
        r"The model is no better than chance: on 100 held-out documents its accuracy is 0\.\d+, "
        r".* Set max_epochs=5 \(by default 'auto'\), batch_size=32 \(by default 'auto'\) back, "
        "give more documents, or check that labels belong to their documents"
    )
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        judged().fit(MANY_TEXTS, labels)
    assert len(warned) == 1


def test_fits_to_true_or_rare_labels_beat_chance():
    rare = [f"{text} defect" if i % 25 == 0 else text for i, text in enumerate(MANY_TEXTS)]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The model is no better than chance")
        warnings.filterwarnings("ignore", "The network is useless")
        judged().fit(MANY_TEXTS, MANY_LABELS)
        judged().fit(rare, (np.arange(400) % 25 == 0).astype(int))


def test_cross_validation_warns_at_the_line_of_the_caller():
    with pytest.warns(ConvergenceWarning, match="no better than chance|is useless") as warned:
        cross_val_score(judged(), MANY_TEXTS, SHUFFLED, cv=2)
    assert len(warned) > 1
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("max_epochs", "noise"),
    first_fast([(1, False), (1, True), ("auto", True), ("auto", False), (2, False), (2, True)], 3),
)
def test_few_epochs_or_random_labels_raise_no_warning(max_epochs, noise):
    labels = np.random.RandomState(0).permutation(LABELS) if noise else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(max_epochs=max_epochs).fit(TEXTS, labels)


def test_balanced_weights_raise_no_warning_on_rare_classes():
    rare = np.where(np.arange(80) < 75, "pos", "neg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(class_weight="balanced", max_epochs=1).fit(TEXTS, rare)


def test_portions_with_other_class_frequencies_raise_no_warning():
    classifier = tiny().partial_fit(TEXTS, ["pos"] * 80, classes=["neg", "pos"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            classifier.partial_fit(TEXTS, ["neg"] * 80)
