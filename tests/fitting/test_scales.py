"""Scales of logits by the loss of documents, with and without priors."""

import numpy as np
import pytest

from sk_han._fitting.scales import ScalePrior, fit_scales, fit_scales_near
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
    def test_a_temperature_corrects_overconfidence(self):
        targets = np.random.RandomState(0).randint(3, size=2000)
        calibrated = fitted_scales([sure(targets, 3, 1.0)], targets)
        too_sure = fitted_scales([sure(targets, 3, 5.0)], targets)
        assert too_sure == pytest.approx(calibrated / 5, rel=0.01)

    def test_misleading_logits_get_a_scale_near_zero(self):
        targets = np.random.RandomState(0).randint(2, size=500)
        wrong, right = sure(1 - targets, 2, 9.0), sure(targets, 2, 1.0)
        assert fitted_scales([wrong, right], targets)[0] == 0
        assert fitted_scales([wrong], targets) == 0.01

    def test_confident_logits_underflow_without_a_warning(self):
        logits = np.array([[0.0, 2000.0], [2000.0, 0.0], [0.0, 1500.0]])
        with np.errstate(all="raise"):
            fitted_scales([logits], np.array([1, 0, 1]))


class TestScalesNear:
    PRIORS = (ScalePrior(0.25, 0.6), ScalePrior(0.8, 0.15))

    def test_scales_minimize_the_loss_with_the_prior(self):
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
