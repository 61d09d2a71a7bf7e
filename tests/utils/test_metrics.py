"""Figures are those of scikit-learn, and one is worked by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, log_loss

from sk_han._utils.metrics import (
    calibration_error,
    difference_interval,
    effective_groups,
    figures,
    interval_of,
    mean_interval,
    reliability,
    resampled_half_width,
    resampled_share_interval,
    share_interval,
)


def test_figures_are_those_of_scikit_learn():
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


def test_a_class_that_occurs_nowhere_does_not_count():
    probabilities = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0]])
    assert figures(probabilities, np.array([0, 1]))["macro_f1"] == 1


def test_a_probability_of_zero_has_a_finite_loss():
    assert figures(np.array([[1.0, 0.0]]), np.array([1]))["log_loss"] < 40


def test_calibration_error_worked_by_hand():
    # Bins of width 1/15. (7/15, 8/15]: confidence 0.5, right. (13/15, 14/15]: confidences 0.9, 0.88
    # and 0.92, one of three right.
    probabilities = np.array(
        [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.06, 0.88, 0.06], [0.04, 0.04, 0.92]]
    )
    found = calibration_error(probabilities, np.array([0, 0, 0, 1]))
    assert found == pytest.approx(1 / 4 * (1 - 0.5) + 3 / 4 * (0.9 - 1 / 3))


def test_bins_hold_the_documents_of_their_confidence():
    found = reliability(np.array([[0.9, 0.1], [0.88, 0.12], [0.4, 0.6]]), np.array([0, 1, 1]))
    assert [b.n_documents for b in found] == [1, 2]
    assert found[1].confidence == pytest.approx(0.89)
    assert found[1].accuracy == 0.5


def test_the_interval_of_a_share_is_that_of_wilson():
    # Newcombe (1998), Two-sided confidence intervals for the single proportion, table I.
    assert share_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert share_interval(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)


@pytest.mark.parametrize("n_right", [0, 1])
def test_one_document_tells_almost_nothing(n_right):
    low, high = share_interval(n_right, 1)
    assert high - low > 0.75


def test_groups_of_one_document_each_change_no_interval():
    random = np.random.default_rng(0)
    right, other, alone = random.random(101) < 0.8, random.random(101) < 0.6, np.arange(101)[::-1]
    assert interval_of(right, alone) == pytest.approx(interval_of(right))
    assert difference_interval(right, other, alone) == pytest.approx(
        difference_interval(right, other)
    )


def test_copies_of_documents_tell_no_more_than_the_documents():
    random = np.random.default_rng(0)
    once, other = random.random(23) < 0.7, random.random(23) < 0.5
    groups = np.arange(23).repeat(7)
    of_copies = interval_of(once.repeat(7), groups)
    assert of_copies == pytest.approx(interval_of(once), abs=0.02)
    low, high = interval_of(once.repeat(7))
    assert high - low < 0.5 * (of_copies[1] - of_copies[0])
    found = difference_interval(once.repeat(7), other.repeat(7), groups)
    assert found == pytest.approx(difference_interval(once, other), abs=0.04)


@pytest.mark.parametrize("n_groups", [10, 30])
def test_intervals_of_groups_hold_the_share_that_those_of_documents_miss(n_groups):
    random = np.random.default_rng(0)
    held = np.zeros(2)
    for _ in range(300):
        share_of_group = random.beta(1.8, 0.6, n_groups)  # 0.75 on average
        groups = np.repeat(np.arange(n_groups), random.integers(2, 20, n_groups))
        right = random.random(len(groups)) < share_of_group[groups]
        for i, given in enumerate((None, groups)):
            low, high = interval_of(right, given)
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
        low, high = interval_of(right, groups)
        held += low <= 0.75 <= high
        low, high = difference_interval(right, other, groups)
        no_difference += low <= 0 <= high
    assert held >= 0.93 * 300
    assert no_difference >= 0.93 * 300


def test_one_large_group_tells_little_more_than_a_document():
    groups = np.repeat(np.arange(30), np.r_[1000, np.ones(29, dtype=int)])
    assert effective_groups(groups) == pytest.approx(1029**2 / (1000**2 + 29))
    low, high = interval_of(groups == 0, groups)
    assert low < 0.2
    assert high > 0.9
    assert interval_of(np.ones(1029, dtype=bool), groups) == pytest.approx((0.21, 1), abs=0.01)


def test_the_interval_by_samples_of_a_share_is_nearly_that_of_wilson():
    drawn = np.random.default_rng(0).binomial(200, 0.9, 5_000) / 200
    assert resampled_share_interval(0.9, drawn, 200) == pytest.approx(
        share_interval(180, 200), abs=0.004
    )
    # Three documents in place of 200 have a t of 4.30 in place of 1.97.
    low, high = resampled_share_interval(0.9, drawn, 3)
    assert high - low > 2 * 0.08


def test_what_samples_lose_the_figure_has_lost_once():
    drawn = np.random.default_rng(0).normal(0.74, 0.02, 5_000)
    low, high = resampled_share_interval(0.75, drawn, 500)
    assert (low + high) / 2 == pytest.approx(0.76, abs=0.003)
    assert high - low == pytest.approx(2 * resampled_half_width(drawn, 500), rel=0.15)
    # Where samples lose more than they vary, the figure is an end of its interval.
    assert resampled_share_interval(0.85, drawn, 500)[0] == 0.85


def test_a_difference_is_no_more_than_all_documents():
    groups = np.repeat(np.arange(12), [200] + [3] * 11)
    ours, theirs = np.ones(233, dtype=bool), np.zeros(233, dtype=bool)
    low, high = difference_interval(ours, theirs, groups)
    assert -1 <= low < high == 1


def test_one_group_tells_as_much_as_one_document():
    right = np.arange(20) < 15
    assert interval_of(right, np.zeros(20, dtype=int)) == share_interval(0.75, 1)


def test_groups_that_are_all_right_tell_as_much_as_a_document_each():
    found = interval_of(np.ones(40, dtype=bool), np.arange(40) % 8)
    assert found == pytest.approx(share_interval(8, 8))


def test_bins_have_the_intervals_of_their_groups():
    probabilities = np.tile([0.9, 0.1], (12, 1))
    targets, groups = np.arange(12) // 4 % 2, np.arange(12) // 4
    (found,) = reliability(probabilities, targets, groups=groups)
    assert (found.low, found.high) == interval_of(targets == 0, groups)


def test_equal_models_may_be_equal():
    right = np.array([True, False, True])
    low, high = difference_interval(right, right)
    assert low < 0 < high


def test_the_interval_of_a_difference_turns_round_with_the_models():
    random = np.random.default_rng(0)
    ours, theirs = random.random(211) < 0.9, random.random(211) < 0.6
    low, high = difference_interval(ours, theirs)
    assert 0 < low < ours.mean() - theirs.mean() < high
    assert difference_interval(theirs, ours) == pytest.approx((-high, -low))


def test_equal_values_of_three_documents_do_not_tell_how_others_vary():
    assert np.isnan(mean_interval(np.full(3, -0.875))).all()
    assert mean_interval(np.zeros(3)) == (0, 0)


def test_an_interval_is_that_of_the_normal_distribution_for_many_documents():
    values = np.random.RandomState(0).normal(scale=0.1, size=2_000)
    low, high = mean_interval(values)
    error = values.std() / np.sqrt(len(values))
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.01)


def test_an_interval_of_few_documents_is_that_of_student():
    # The 0.975 quantile of t is 4.3027 with 2 degrees of freedom; the standard error is 0.1.
    values = 0.4 + 0.1 * np.sqrt(3) * np.array([-1, 0, 1])
    assert mean_interval(values) == pytest.approx((0.4 - 0.43027, 0.4 + 0.43027), abs=1e-5)
    assert mean_interval(values, lowest=0.0)[0] == 0
    assert mean_interval(values + 0.5)[1] == 1


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_method_as_good_as_chance_rarely_seems_better_on_few_documents(n):
    ours, chance = np.random.default_rng(0).beta(0.6, 1.2, size=(2, 500, n))
    intervals = np.array([mean_interval(pairs) for pairs in ours - chance])
    seems_to_differ = (intervals[:, 0] > 0) | (intervals[:, 1] < 0)
    assert seems_to_differ.mean() < 0.07
