"""Doubts of labels, held against labels that were flipped."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sk_han.inspection._auditing import label_doubts


def drawn(n=4000, k=3, share=0.1, seed=0):
    """Give true classes, labels of which a share is flipped to the next class, and probabilities.

    Classes are drawn by probabilities, which are then turned into those of the labels.
    """
    rng = np.random.RandomState(seed)
    of_class = rng.dirichlet(np.full(k, 0.15), size=n)
    true = np.array([rng.choice(k, p=p) for p in of_class])
    labels = np.where(rng.rand(n) < share, (true + 1) % k, true)
    rates = (1 - share) * np.eye(k) + share * np.roll(np.eye(k), 1, axis=1)
    return true, labels, of_class @ rates


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_expected_number_of_errors_is_right(k, share):
    """Over five draws: rates are estimated from a few hundred documents each."""
    counts = []
    for seed in range(5):
        true, labels, p = drawn(k=k, share=share, seed=seed)
        doubts, wrong = label_doubts(p, labels), true != labels
        along, is_wrong = doubts.chances[doubts.order], wrong[doubts.order]
        counts.append([(along[:n].sum(), is_wrong[:n].sum()) for n in (50, 400, None)])
    expected, found = np.sum(counts, axis=0).T
    assert (np.abs(expected / found - 1) < [0.5, 0.25, 0.25]).all()


def one_way(n, of_first, share, seed):
    """Give labels of two classes, a share of the first as the second, as `drawn` does."""
    rng = np.random.RandomState(seed)
    first = rng.rand(n) < of_first
    x = 2.5 * rng.randn(n) + 6 * first - 3
    odds = np.exp(6 * x / 2.5**2) * of_first / (1 - of_first)
    p = odds / (1 + odds) * (1 - share)
    return first, np.where(first & (rng.rand(n) >= share), 0, 1), np.column_stack([p, 1 - p])


@pytest.mark.parametrize("of_first", [0.05, 0.1])
def test_errors_in_only_one_direction_are_estimated(of_first):
    """The other class has none: rates that are taken for those of both hide four of five."""
    expected = found = 0
    for seed in range(5):
        first, labels, p = one_way(3000, of_first, 0.3, seed)
        expected += label_doubts(p, labels).chances.sum()
        found += (first != (labels == 0)).sum()
    assert abs(expected / found - 1) < 0.25


def test_the_ranking_uses_which_classes_are_confused():
    true, labels, p = drawn(k=4, share=0.15)
    doubts = label_doubts(p, labels)
    rank = np.empty(len(labels))
    rank[doubts.order] = -np.arange(len(labels))
    others = np.where(np.arange(4) == labels[:, None], -1, p).max(axis=1)
    margin = others - p[np.arange(len(p)), labels]
    by_margin = average_precision_score(true != labels, margin)
    assert average_precision_score(true != labels, rank) > by_margin + 0.05


def test_documents_are_ordered_by_chance_and_suggestions_differ():
    _, labels, p = drawn(n=300)
    doubts = label_doubts(p, labels)
    along = doubts.chances[doubts.order]
    assert (np.diff(along) <= 0).all()
    assert 0 <= along[-1] <= along[0] <= 1
    assert sorted(doubts.order) == list(range(300))
    assert (doubts.others != labels).all()


def test_overconfident_probabilities_are_tempered():
    _, labels, p = drawn()
    sure = p**3 / (p**3).sum(axis=1, keepdims=True)
    one, other = label_doubts(p, labels), label_doubts(sure, labels)
    np.testing.assert_allclose(other.chances.sum(), one.chances.sum(), rtol=0.05)


def test_certain_probabilities_and_single_documents_give_finite_doubts():
    labels = np.array([0, 1, 2, 0])
    doubts = label_doubts(np.eye(3)[[0, 1, 1, 2]], labels)
    assert np.isfinite(doubts.chances).all()
    assert set(doubts.order[:2]) == {2, 3}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [60, 2000])
def test_no_label_is_doubted_if_models_agree_with_all_labels(n, k):
    """Wrong labels would look otherwise than the most doubtful of these, which is right."""
    labels, sure = np.arange(n) % k, np.random.RandomState(0).uniform(0.8, 1, n)
    p = np.repeat((1 - sure)[:, np.newaxis] / (k - 1), k, axis=1)
    p[np.arange(n), labels] = sure
    assert label_doubts(p, labels).chances.sum() < 0.01
    labels[7] = (labels[7] + 1) % k
    doubts = label_doubts(p, labels)
    assert doubts.order[0] == 7
    assert doubts.chances[7] > 0.9


@pytest.mark.parametrize("at_once", [1, 70, 1000])
def test_processing_probabilities_in_blocks_changes_nothing(monkeypatch, at_once):
    _, labels, p = drawn(300, 7)
    expected = label_doubts(p, labels)
    monkeypatch.setattr("sk_han.inspection._auditing._AT_ONCE", at_once)
    found = label_doubts(p, labels)
    np.testing.assert_array_equal(found.others, expected.others)
    np.testing.assert_allclose(found.chances, expected.chances, atol=1e-9)


def test_the_power_may_be_estimated_on_a_sample(monkeypatch):
    _, labels, p = drawn(4_000, 7)
    expected = label_doubts(p, labels)
    monkeypatch.setattr("sk_han.inspection._auditing._AT_ONCE", 1)
    found = label_doubts(p, labels)
    assert (found.chances != expected.chances).any()
    np.testing.assert_allclose(found.chances.sum(), expected.chances.sum(), rtol=0.05)
