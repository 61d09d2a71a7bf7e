"""Several labels a document: the target itself."""

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad

from sk_han._targets import AnyOfLabels, OneOfClasses
from sk_han._targets.any_of_labels import best_thresholds
from sk_han._targets.splits import folds_of, hold_out

NAMES = np.array(["late", "broken", "good"])
TARGET = AnyOfLabels(NAMES, np.array([0.5, 0.2, 0.9]))
RNG = np.random.RandomState(0)
T = RNG.rand(11, 3) < 0.4
Z = RNG.normal(size=(11, 3))
W = RNG.rand(11)
SIDES = np.array([[1.0, 0.5, 2.0], [3.0, 1.0, 1.0]])
WEIGHTED = AnyOfLabels(NAMES, TARGET.thresholds, SIDES)


def test_probabilities_are_sigmoids_also_of_large_scores():
    z = np.array([[0.0, 800.0, -800.0]])
    np.testing.assert_allclose(TARGET.probabilities(z), [[0.5, 1, 0]])
    np.testing.assert_allclose(TARGET.log_probabilities(z), [[np.log(0.5), 0, -800]])


@pytest.mark.parametrize("target", [TARGET, WEIGHTED])
def test_the_gradient_of_the_loss_matches_finite_differences(target):
    def loss(z):
        return target.loss(z.reshape(Z.shape), T, W)[0].sum()

    def gradient(z):
        return target.loss(z.reshape(Z.shape), T, W)[1].ravel()

    assert check_grad(loss, gradient, Z.ravel()) < 1e-5


@pytest.mark.parametrize("target", [TARGET, WEIGHTED])
def test_pytorch_computes_the_same_loss(target):
    losses = target.criterion()(reduction="none")(torch.from_numpy(Z).float(), torch.from_numpy(T))
    assert float(losses @ torch.from_numpy(W).float()) == pytest.approx(
        target.loss(Z, T, W)[0].sum()
    )


def test_the_prior_loss_is_that_of_constant_scores():
    shares = (W @ T) / W.sum()
    z = np.tile(np.log(shares / (1 - shares)), (len(T), 1))
    assert TARGET.prior_loss(T, W) == pytest.approx(TARGET.loss(z, T, W)[0].sum() / W.sum())


def test_a_label_is_predicted_if_its_threshold_is_reached():
    z = np.log([[0.5 / 0.5, 0.21 / 0.79, 0.89 / 0.11]])
    assert TARGET.decide(z).tolist() == [[True, True, False]]
    assert TARGET.decode(TARGET.decide(z)).tolist() == [[1, 1, 0]]


def test_balanced_weights_are_equal_with_and_without_a_label():
    target, weights = TARGET.weigh(T, W, "balanced")
    of_problems = target.problem_weights(T, weights)
    np.testing.assert_allclose((of_problems * T).sum(axis=0), W.sum() / 2)
    np.testing.assert_allclose((of_problems * ~T).sum(axis=0), W.sum() / 2)


def test_all_documents_of_the_most_frequent_labels_are_kept():
    t = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 0, 0]]) > 0
    four, w = AnyOfLabels(np.array(list("abcd")), np.arange(4) / 10), np.ones(5)
    target, rows, of_frequent = four.weigh(t, None, "balanced")[0].restrict_to_top(t, 2)
    assert target.names.tolist() == ["b", "c"]  # that each document has "a" tells nothing
    assert target.thresholds.tolist() == [0.1, 0.2]
    assert rows.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(of_frequent, t[:, 1:3])
    weighed = four.weigh(t, None, "balanced")[0].problem_weights(t, w)
    np.testing.assert_array_equal(target.problem_weights(of_frequent, w), weighed[:, 1:3])


def test_the_best_threshold_of_calibrated_probabilities_is_half_its_f1():
    rng = np.random.RandomState(1)
    p = rng.beta(0.5, 2, size=(20_000, 1))
    t = rng.rand(20_000, 1) < p
    (threshold,) = best_thresholds(p, *[t, np.ones(len(p))] * 2)
    given = p >= threshold
    f1 = 2 * (t & given).sum() / (t.sum() + given.sum())
    assert threshold == pytest.approx(f1 / 2, abs=0.02)


def test_a_rare_label_gets_the_threshold_that_its_probabilities_promise():
    p = np.linspace(0.01, 0.6, 50)[:, np.newaxis]
    none, one = np.zeros((50, 1), dtype=bool), np.zeros((50, 1), dtype=bool)
    one[0] = True  # the least likely document: by labels alone, all would get the label
    labelled = np.arange(500)[:, np.newaxis] < 150, np.ones(500)  # as many as are promised
    (without,), (with_one,) = (best_thresholds(p, t, np.ones(50), *labelled) for t in (none, one))
    assert abs(with_one - without) < 0.05


def test_a_label_without_any_evidence_is_not_predicted():
    p = np.full((50, 2), 1e-4)
    p[:, 1] = np.linspace(1e-4, 0.01, 50)
    none = np.zeros((50, 2), dtype=bool), np.ones(50)
    assert not (p >= best_thresholds(p, *none, *none)).any()


@pytest.mark.parametrize("share", [0.001, 0.02])
def test_class_weights_move_the_threshold_of_a_rare_label_along(share):
    rng = np.random.RandomState(0)
    t = rng.rand(20_000, 1) < share
    scores = rng.normal(3.0 * t)  # the odds of a label are exp(3 * score - 4.5) times its share's
    p = 1 / (1 + np.exp(4.5 - 3.0 * scores))  # of balanced weights
    rows = slice(0, 2_000)
    (threshold,) = best_thresholds(p[rows], t[rows], np.ones(2_000), t, np.ones(len(t)))

    def f1(threshold):
        given = p >= threshold
        return 2 * (t & given).sum() / (t.sum() + given.sum())

    assert f1(threshold) > 0.8 * max(map(f1, 1 - np.geomspace(0.001, 1, 99)))


def test_thresholds_of_calibrated_probabilities_ignore_label_frequencies():
    rng = np.random.RandomState(0)
    p = rng.beta(0.5, 0.5, size=(2_000, 1))
    t, w = rng.rand(*p.shape) < p, np.ones(2_000)
    rare = np.arange(5_000)[:, np.newaxis] < 25, np.ones(5_000)
    np.testing.assert_allclose(best_thresholds(p, t, w, *rare), best_thresholds(p, t, w, t, w))


def test_labelled_documents_of_twice_the_weight_count_twice():
    p, t, w = np.linspace(0.3, 0.9, 50)[:, np.newaxis], np.zeros((50, 1), bool), np.ones(50)
    labelled = np.arange(400)[:, np.newaxis] < 20
    twice = np.where(labelled[:, 0], 2.0, 1.0)
    repeated = np.concatenate([labelled, labelled[:20]])
    found, expected, without = (
        best_thresholds(p, t, w, *each)
        for each in ((labelled, twice), (repeated, np.ones(420)), (labelled, np.ones(400)))
    )
    np.testing.assert_allclose(found, expected, rtol=0.03)
    assert found < without - 0.05


@pytest.mark.parametrize(("n_with", "is_given"), [(0, False), (60, True)])
def test_probabilities_count_as_far_as_labels_confirm_them(n_with, is_given):
    # With class weights, the probabilities of a rare label are far too high.
    p, labelled = np.linspace(0.2, 0.4, 20)[:, np.newaxis], np.zeros((200, 1), dtype=bool)
    labelled[:n_with] = True
    none = np.zeros((20, 1), dtype=bool), np.ones(20)
    assert (p >= best_thresholds(p, *none, labelled, np.ones(200))).any() == is_given


def labels_of(n, seed=0):
    rng = np.random.RandomState(seed)
    return rng.rand(n, 5) < [0.5, 0.2, 0.1, 0.04, 0.02]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_held_out_groups_have_their_share_of_each_label(size):
    t = labels_of(4000)
    t[:, 0] = True  # what a rare label comes with does not draw it to the larger side
    groups = np.arange(4000) // size
    training, held_out = hold_out(t, 0.1, np.random.RandomState(0), groups)
    assert set(groups[training]).isdisjoint(groups[held_out])
    np.testing.assert_allclose(t[held_out].sum(axis=0), 0.1 * t.sum(axis=0), atol=4)


def test_the_only_document_of_a_label_is_trained_on():
    t = labels_of(200)
    t[:, 4] = False
    t[7, 4] = True
    for seed in range(5):
        training, _ = hold_out(t, 0.3, np.random.RandomState(seed))
        assert 7 in training


def test_the_only_group_of_a_label_is_trained_on():
    for seed in range(60):
        t, groups = labels_of(90, seed), np.random.RandomState(seed).randint(20, size=90)
        t[:, 4] = groups == 7
        training, held_out = hold_out(t, 0.2, np.random.RandomState(seed), groups)
        assert len(held_out)
        assert t[training, 4].sum() == t[:, 4].sum()


def test_folds_are_stratified_and_hold_groups_together():
    t, groups = labels_of(500), np.arange(500) // 4
    for given in (None, groups):
        folds = list(folds_of(t, given))
        assert sorted(np.concatenate(folds)) == list(range(500))
        for fold in folds:
            np.testing.assert_allclose(t[fold].sum(axis=0), t.sum(axis=0) / 5, atol=6)
            if given is not None:
                assert not np.isin(groups[fold], np.delete(groups, fold)).any()


def test_more_than_thirty_labels_get_an_attention_each():
    for n, has_it in ((30, False), (31, True)):
        assert AnyOfLabels(np.arange(n), np.full(n, 0.5)).attends_per_label is has_it
    assert not OneOfClasses(np.arange(50)).attends_per_label
