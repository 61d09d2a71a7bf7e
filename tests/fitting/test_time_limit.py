"""`time_limit`: seconds of a whole fit, and what is left out to keep to them."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han.datasets import make_reviews
from tests.tiny_models import LABELS, TEXTS, tiny

REVIEWS, SIDES = make_reviews(120, random_state=0)


def test_training_stops_when_the_time_is_over():
    model = tiny(max_epochs=100_000, time_limit=3).fit(REVIEWS, SIDES)
    assert model.fit_summary_.ended == "the time"
    assert model.fit_summary_.total_seconds < 30  # 100,000 epochs take an hour
    assert "stopped when the time was over" in str(model.fit_summary_)


def test_a_generous_time_limit_does_not_change_the_fit():
    limited, whole = (tiny(time_limit=limit).fit(TEXTS, LABELS) for limit in (3600, None))
    np.testing.assert_array_equal(limited.predict_proba(TEXTS), whole.predict_proba(TEXTS))
    assert limited.fit_summary_.cuts == []


def test_the_limit_reduces_the_sample_of_unlabelled_texts():
    unlabelled = 10_000 * ["A day by the sea." * 60]  # ten million characters
    model = tiny(time_limit=20, max_epochs=1).fit(REVIEWS, SIDES, X_unlabelled=unlabelled)
    assert "8,040 of 10,000 documents without labels" in model.fit_summary_.cuts
    assert "left out in time_limit" in str(model.fit_summary_)


def test_a_limit_too_short_is_refused_with_the_minimum():
    with pytest.raises(ValueError, match=r"time_limit=0.0001 is less than.*Give \d+ or more"):
        tiny(time_limit=1e-4).fit(REVIEWS, SIDES)


def test_an_iterator_of_texts_without_labels_is_refused():
    with pytest.raises(ValueError, match=r"which is an iterator.*Give a list"):
        tiny(time_limit=60).fit(REVIEWS, SIDES, X_unlabelled=iter(REVIEWS))


@pytest.mark.parametrize("limit", [0, -1, "60", float("nan")])
def test_the_limit_is_a_positive_number(limit):
    with pytest.raises(ValueError, match="time_limit"):
        tiny(time_limit=limit).fit(TEXTS, LABELS)
