"""The loss of a batch, the criterion of each target averaged by its weight, and the accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def weighted_loss(
    criterion: Callable[[Tensor, Tensor], Tensor],
    logits: Tensor,
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> Tensor:
    """Compute the mean of the criterion over the targets of a batch by their weights, shape ().

    The criterion returns the loss of each target (n_targets,). Weights are positive; only their
    ratios matter.
    """
    losses = criterion(logits, torch.from_numpy(targets).to(logits.device))
    return weighted_mean(losses, weights)


def weighted_mean(values: Tensor, weights: NDArray[np.float64]) -> Tensor:
    """Compute the mean of values by their weights."""
    shares = weights / weights.sum()  # in double precision, whatever the weights' size
    return (values * torch.from_numpy(shares).to(values)).sum()


def accuracy(logits: NDArray[Any], targets: NDArray[Any]) -> float:
    """Compute the share of targets whose class has the highest logit."""
    return float((logits.argmax(axis=1) == targets).mean())


MEASURES = {"valid_accuracy": accuracy}
