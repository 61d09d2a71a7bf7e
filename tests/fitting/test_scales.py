"""Scales of logits by the loss of documents, with and without priors."""

import numpy as np
import pytest

from sk_han._fitting.scales import ScalePrior, fit_scales, fit_scales_near
from sk_han._targets.one_of_classes import softmax
from tests.tiny_targets import classes


def sure(targets, n_classes, scale):
    """Give logits that lean towards the right class, with noise, and are scaled."""
    noise = np.random.RandomState(1).normal(size=(len(targets), n_classes))
    return scale * (2 * np.eye(n_classes)[targets] + noise)


def fitted_scales(logits, targets, weights=None):
    """Fit scales beside a prior of ones, to two classes or to as many as logits have."""
    weights = np.ones(len(targets)) if weights is None else weights
    n_classes = logits[0].shape[1]
    return fit_scales(classes(n_classes), logits, targets, weights, np.ones(len(logits)))


class TestFitScales:
    def test_a_temperature_takes_overconfidence_back(self):
        targets = np.random.RandomState(0).randint(3, size=2000)
        calibrated = fitted_scales([sure(targets, 3, 1.0)], targets)
        too_sure = fitted_scales([sure(targets, 3, 5.0)], targets)
        assert too_sure == pytest.approx(calibrated / 5, rel=0.01)

    def test_the_probability_is_the_share_of_right_documents(self):
        # Logits of a coin that is right in 3 of 4 cases: log 3 is the calibrated log-odds.
        targets = np.array([1, 1, 1, 0] * 500)
        logits = np.tile([0.0, 10.0], (2000, 1))
        scale = fitted_scales([logits], targets)
        assert softmax(scale * logits)[0, 1] == pytest.approx(0.75, abs=1e-3)

    def test_logits_that_know_nothing_are_left_out(self):
        targets = np.random.RandomState(0).randint(2, size=2000)
        noise = 9 * np.random.RandomState(2).normal(size=(2000, 2))
        scales = fitted_scales([noise, sure(targets, 2, 1.0)], targets)
        assert scales[0] < 0.02
        assert scales[1] > 0.5

    def test_wrong_logits_are_not_turned_round_nor_taken_away_if_alone(self):
        targets = np.random.RandomState(0).randint(2, size=500)
        wrong, right = sure(1 - targets, 2, 9.0), sure(targets, 2, 1.0)
        assert fitted_scales([wrong, right], targets)[0] == 0
        assert fitted_scales([wrong], targets) == 0.01

    def test_sure_logits_underflow_in_silence(self):
        logits = np.array([[0.0, 2000.0], [2000.0, 0.0], [0.0, 1500.0]])
        with np.errstate(all="raise"):
            fitted_scales([logits], np.array([1, 0, 1]))

    def test_a_weight_counts_as_repetition(self):
        targets = np.array([0, 1, 1, 0, 1])
        logits, weights = sure(targets, 2, 1.0), np.array([3.0, 1.0, 1.0, 1.0, 1.0])
        rows = [0, 0, 0, 1, 2, 3, 4]
        # The prior counts as one document, so both are repeated until it counts for little.
        many, more = [np.tile(logits, (999, 1))], [np.tile(logits[rows], (999, 1))]
        weighted = fitted_scales(many, np.tile(targets, 999), np.tile(weights, 999))
        repeated = fitted_scales(more, np.tile(targets[rows], 999))
        assert weighted == pytest.approx(repeated, rel=1e-2)


class TestScalesNear:
    PRIORS = (ScalePrior(0.25, 0.6), ScalePrior(0.8, 0.15))

    def fitted(self, n, factor=1.0):
        targets = np.random.RandomState(0).randint(2, size=n)
        logits = [sure(targets, 2, factor), np.zeros((n, 2))]
        return fit_scales_near(classes(2), logits, targets, np.ones(n), self.PRIORS)

    def test_without_evidence_scales_are_usual(self):
        nothing = [np.zeros((5, 2))] * 2
        scales = fit_scales_near(
            classes(2), nothing, np.zeros(5, dtype=int), np.ones(5), self.PRIORS
        )
        np.testing.assert_allclose(scales, [0.25, 0.8])

    def test_few_documents_move_them_little_and_many_decide(self):
        few, many = self.fitted(4)[0], self.fitted(4000)[0]
        assert abs(few - 0.25) < abs(many - 0.25) / 2
        assert self.fitted(4000, factor=2.0)[0] == pytest.approx(many / 2, rel=0.02)

    def test_they_minimize_the_loss_with_the_prior(self):
        targets = np.random.RandomState(0).randint(3, size=60)
        logits = [sure(targets, 3, 0.5), sure(targets, 3, 2.0)]
        found = fit_scales_near(classes(3), logits, targets, np.ones(60), self.PRIORS)

        def loss(scales):
            total = sum(scale * part for scale, part in zip(scales, logits, strict=True))
            likelihood = total[np.arange(60), targets] - np.logaddexp.reduce(total, axis=1)
            medians, spreads = np.transpose(self.PRIORS)
            return (np.log(scales / medians) ** 2 / 2 / spreads**2).sum() - likelihood.sum()

        for factor in ([1.02, 1], [0.98, 1], [1, 1.02], [1, 0.98]):
            assert loss(found) < loss(found * factor)
