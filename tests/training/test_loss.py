"""The loss of a batch, against numbers worked by hand."""

import numpy as np
import pytest
import torch

from sk_han.training.net import accuracy, weighted_mean

LOGITS = torch.log(torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]))
TARGETS = torch.tensor([1, 0, 0])
CRITERION = torch.nn.CrossEntropyLoss(reduction="none")


def test_targets_count_by_their_weights():
    weights = np.array([1.0, 2.0, 1.0])
    expected = -(np.log(0.75) + 2 * np.log(0.5) + np.log(0.9)) / 4
    assert weighted_mean(CRITERION(LOGITS, TARGETS), weights).item() == pytest.approx(expected)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_only_ratios_of_weights_matter(size):
    plain = weighted_mean(torch.tensor([2.0, 5.0, 8.0]), np.array([1.0, 2.0, 1.0]))
    scaled = weighted_mean(torch.tensor([2.0, 5.0, 8.0]), size * np.array([1.0, 2.0, 1.0]))
    assert plain.item() == scaled.item() == 5.0


def test_gradients_reach_the_logits_by_the_weights():
    logits = LOGITS.clone().requires_grad_()
    weighted_mean(CRITERION(logits, TARGETS), np.array([0.0, 3.0, 1.0])).backward()
    np.testing.assert_allclose(logits.grad.tolist()[:2], [[0, 0], [-0.375, 0.375]], atol=1e-7)


def test_accuracy_is_the_share_of_targets_with_the_highest_logit():
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    assert accuracy(logits, np.array([1, 0, 1, 0])) == 0.75
