"""Shares of the classes of a batch, estimated from its probabilities."""

import numpy as np
import pytest

from sk_han._model.class_mix import Reference
from sk_han._targets import AnyOfLabels, OneOfClasses
from sk_han.inspection._class_mix import estimated_mix
from tests.inspection.test_class_mix import logit

THREE = OneOfClasses(np.array(["a", "b", "c"]))


MIX = np.array([0.6, 0.3, 0.1])


def calibrated(n, mix, seed):
    """Probabilities that are right where documents have the mix `MIX`, and true classes."""
    rng = np.random.RandomState(seed)
    t = rng.choice(3, n, p=mix)
    z = rng.normal(size=(n, 3)) + 2 * np.eye(3)[t]
    scores = MIX * np.exp(2 * z)  # the densities of the classes, without a common factor
    return scores / scores.sum(axis=1, keepdims=True), t


def held_out(p, shares=MIX):
    return Reference(np.asarray(shares), p.mean(axis=0), float(len(p)), np.zeros(2), np.zeros(3))


def reference(n=2_000, seed=99):
    return held_out(calibrated(n, MIX, seed)[0])


def test_over_predicted_classes_get_a_larger_implied_share():
    shares, predicted = np.array([0.5, 0.5]), np.array([0.7, 0.3])
    one = Reference(shares, predicted, 90.0, np.zeros(2), np.zeros(3))
    np.testing.assert_allclose(one.implied, [0.68, 0.32])  # 90 documents next to 5 of each class
    np.testing.assert_allclose(one._replace(n_held_out=0.0).implied, shares)


class TestEstimates:
    @pytest.mark.parametrize("mix", [(0.1, 0.2, 0.7), (0.3, 0.6, 0.1)])
    def test_estimates_are_accurate_and_intervals_cover_the_true_shares(self, mix):
        p, t = calibrated(2_000, mix, 0)
        found = estimated_mix(p, reference(), THREE)
        shares = np.bincount(t) / len(t)
        assert found.moved
        assert np.abs(found.shares - shares).max() < 0.03
        assert ((found.lower < shares) & (shares < found.upper)).all()
        assert list(found.priors or ()) == ["a", "b", "c"]
        assert "has changed (p < 0.001" in found.text

    def test_intervals_cover_and_false_alarms_are_rare(self):
        found = [
            estimated_mix(calibrated(300, MIX, seed)[0], reference(300, 1_000 + seed), THREE)
            for seed in range(200)
        ]
        covers = [(one.lower <= MIX) & (one.upper >= MIX) for one in found]
        assert np.mean(covers) > 0.9
        assert np.mean([one.moved for one in found]) < 0.06
        p_values = np.array([one.p_values[0] for one in found])
        assert 0.35 < np.mean(p_values < 0.5) < 0.65
        unmoved = next(one for one in found if not one.moved)
        assert "may be that of the training documents" in unmoved.text

    def test_too_few_documents_give_no_new_priors(self):
        found = estimated_mix(calibrated(99, (0.1, 0.2, 0.7), 0)[0], reference(), THREE)
        assert (found.moved, found.priors) == (False, None)
        assert "99 documents are too few" in found.text

    def test_shares_of_several_labels_are_estimated_separately(self):
        rng, target = np.random.RandomState(0), AnyOfLabels(np.arange(2), np.full(2, 0.5))

        def drawn(share, n):  # where the training has a share of 0.3
            t = rng.random_sample(n) < share
            return 1 / (1 + np.exp(-(2 * (rng.normal(size=n) + 2 * t - 1) + logit(0.3))))

        one = held_out(np.stack([drawn(0.3, 2_000), drawn(0.3, 2_000)], axis=1), [0.3, 0.3])
        p = np.stack([drawn(0.3, 1_000), drawn(0.7, 1_000)], axis=1)
        found = estimated_mix(p, one, target)
        assert list(found.priors or ()) == [1]
        assert found.shares == pytest.approx([0.3, 0.7], abs=0.05)

    def test_a_label_of_all_documents_keeps_its_share(self):
        labels = AnyOfLabels(np.array(["all", "half"]), np.full(2, 0.5))
        p = np.column_stack([np.full(400, 0.97), np.random.RandomState(0).rand(400)])
        found = estimated_mix(p, held_out(p, [1.0, 0.5]), labels)
        assert not found.moved
        assert found.shares[0] > 0.95
        assert found.lower[0] <= found.shares[0] <= found.upper[0]
