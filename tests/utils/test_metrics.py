"""Figures are those of scikit-learn, and one is worked by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

from sk_han._utils.metrics import (
    accuracy_interval,
    calibration_error,
    difference_interval,
    figures,
    mean_interval,
    reliability,
    resampled_half_width,
    resampled_share_interval,
    share_interval,
)


def test_figures_match_scikit_learn():
    random = np.random.default_rng(0)
    probabilities = random.dirichlet([1, 1, 1], 101)
    targets = random.integers(3, size=101)
    predicted = probabilities.argmax(axis=1)
    found = figures(probabilities, targets)
    assert found["documents"] == 101
    assert found["accuracy"] == pytest.approx(accuracy_score(targets, predicted))
    assert found["macro_f1"] == pytest.approx(f1_score(targets, predicted, average="macro"))
    assert found["log_loss"] == pytest.approx(log_loss(targets, probabilities))
    np.testing.assert_array_equal(found["confusion"], confusion_matrix(targets, predicted))
    # A class that occurs nowhere does not count, and a probability of zero has a finite loss.
    found = figures(np.array([[0.8, 0.2, 0.0], [1.0, 0.0, 0.0]]), np.array([0, 1]))
    assert found["macro_f1"] == pytest.approx(1 / 3)
    assert found["log_loss"] < 40


def test_calibration_error_worked_by_hand():
    # Bins of width 1/15. (7/15, 8/15]: confidence 0.5, right. (13/15, 14/15]: confidences 0.9, 0.88
    # and 0.92, one of three right.
    probabilities = np.array(
        [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.06, 0.88, 0.06], [0.04, 0.04, 0.92]]
    )
    found = calibration_error(probabilities, np.array([0, 0, 0, 1]))
    assert found == pytest.approx(1 / 4 * (1 - 0.5) + 3 / 4 * (0.9 - 1 / 3))


def test_reliability_bins_group_by_confidence():
    found = reliability(np.array([[0.9, 0.1], [0.88, 0.12], [0.4, 0.6]]), np.array([0, 1, 1]))
    assert [b.n_documents for b in found] == [1, 2]
    assert found[1].confidence == pytest.approx(0.89)
    assert found[1].accuracy == 0.5
    probabilities = np.tile([0.9, 0.1], (12, 1))
    targets, groups = np.arange(12) // 4 % 2, np.arange(12) // 4
    (grouped,) = reliability(probabilities, targets, groups=groups)
    assert (grouped.low, grouped.high) == accuracy_interval(targets == 0, groups)


def test_the_interval_of_a_share_matches_wilson():
    # Newcombe (1998), Two-sided confidence intervals for the single proportion, table I.
    assert share_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert share_interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)


def test_groups_of_one_document_each_change_no_interval():
    random = np.random.default_rng(0)
    right, other, alone = random.random(101) < 0.8, random.random(101) < 0.3, np.arange(101)[::-1]
    assert accuracy_interval(right, alone) == pytest.approx(accuracy_interval(right))
    low, high = difference_interval(right, other)
    assert 0 < low < right.mean() - other.mean() < high
    assert difference_interval(right, other, alone) == pytest.approx((low, high))
    assert difference_interval(other, right) == pytest.approx((-high, -low))
    assert np.prod(difference_interval(right, right)) < 0


def test_the_interval_of_a_difference_follows_agresti_and_min():
    # 15 documents that one alone has right, 5 that the other has: (15.5 - 5.5) / 102 +- 0.08598.
    ours, theirs = np.arange(100) < 95, np.arange(100) >= 15
    assert difference_interval(ours, theirs) == pytest.approx((0.01206, 0.18402), abs=1e-5)


# What is right, groups, and the interval.
GROUPED = {
    "one large group": (np.ones(1029), np.arange(1029).clip(max=29), (0.21, 1)),
    "one group": (np.arange(20) < 15, np.zeros(20, dtype=int), share_interval(0.75, 1)),
    "all right": (np.ones(40), np.arange(40) % 8, share_interval(8, 8)),
    "copies": (np.repeat(np.arange(23) < 16, 7), np.arange(161) // 7, share_interval(16, 23)),
}


@pytest.mark.parametrize(("right", "groups", "expected"), GROUPED.values(), ids=GROUPED)
def test_groups_tell_little_more_than_as_many_documents(right, groups, expected):
    right = right.astype(bool)
    assert accuracy_interval(right, groups) == pytest.approx(expected, abs=0.02)
    low, high = difference_interval(right, ~right, groups)
    assert -1 <= low < high <= 1


@pytest.mark.parametrize("n_groups", [10, 30])
def test_only_intervals_for_groups_cover_the_share(n_groups):
    random = np.random.default_rng(0)
    held = np.zeros(2)
    for _ in range(300):
        share_of_group = random.beta(1.8, 0.6, n_groups)  # 0.75 on average
        groups = np.repeat(np.arange(n_groups), random.integers(2, 20, n_groups))
        right = random.random(len(groups)) < share_of_group[groups]
        for i, given in enumerate((None, groups)):
            low, high = accuracy_interval(right, given)
            held[i] += low <= 0.75 <= high
    assert held[0] < 0.75 * 300
    assert held[1] > 0.88 * 300


@pytest.mark.parametrize("sizes", [np.r_[90, np.full(29, 3)], 600 // np.arange(1, 31) ** 2 + 1])
def test_intervals_hold_where_few_groups_have_most_documents(sizes):
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), sizes)
    held = no_difference = 0
    for _ in range(300):
        right, other = random.random((2, len(groups))) < random.beta(6, 2, (2, 30))[:, groups]
        low, high = accuracy_interval(right, groups)
        held += low <= 0.75 <= high
        low, high = difference_interval(right, other, groups)
        no_difference += low <= 0 <= high
    assert held >= 0.93 * 300
    assert no_difference >= 0.93 * 300


def test_the_bootstrap_interval_is_nearly_that_of_wilson():
    drawn = np.random.default_rng(0).binomial(200, 0.9, 5_000) / 200
    assert resampled_share_interval(0.9, drawn, 200) == pytest.approx(
        share_interval(180, 200), abs=0.004
    )
    # Three documents in place of 200 have a t of 4.30 in place of 1.97.
    low, high = resampled_share_interval(0.9, drawn, 3)
    assert high - low > 2 * 0.08


def test_the_bootstrap_interval_corrects_its_bias():
    drawn = np.random.default_rng(0).normal(0.74, 0.02, 5_000)
    low, high = resampled_share_interval(0.75, drawn, 500)
    assert (low + high) / 2 == pytest.approx(0.76, abs=0.003)
    assert high - low == pytest.approx(2 * resampled_half_width(drawn, 500), rel=0.15)
    # Where samples lose more than they vary, the figure is an end of its interval.
    assert resampled_share_interval(0.85, drawn, 500)[0] == 0.85


def test_equal_values_other_than_0_have_no_interval():
    assert np.isnan(mean_interval(np.full(3, -0.875))).all()
    assert mean_interval(np.zeros(3)) == (0, 0)


def test_an_interval_of_few_documents_uses_students_t():
    # The 0.975 quantile of t is 4.3027 with 2 degrees of freedom; the standard error is 0.1.
    values = 0.4 + 0.1 * np.sqrt(3) * np.array([-1, 0, 1])
    assert mean_interval(values) == pytest.approx((0.4 - 0.43027, 0.4 + 0.43027), abs=1e-5)
    assert mean_interval(values, lowest=0.0)[0] == 0
    assert mean_interval(values + 0.5)[1] == 1


@pytest.mark.parametrize("n", [3, 5, 10])
def test_chance_rarely_seems_significant_on_few_documents(n):
    ours, chance = np.random.default_rng(0).beta(0.6, 1.2, size=(2, 500, n))
    intervals = np.array([mean_interval(pairs) for pairs in ours - chance])
    seems_to_differ = (intervals[:, 0] > 0) | (intervals[:, 1] < 0)
    assert seems_to_differ.mean() < 0.07
