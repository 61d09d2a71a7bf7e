"""Metrics of the held-out documents."""

import numpy as np

from sk_han.training.metrics import accuracy


def test_accuracy_is_the_share_of_targets_with_the_highest_logit():
    logits = np.array([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    assert accuracy(logits, np.array([1, 0, 1, 0])) == 0.75
