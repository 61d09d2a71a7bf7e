"""The loss of a batch, and the accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def weighted_mean(values: Tensor, weights: NDArray[np.float64]) -> Tensor:
    """Compute the mean of values, such as losses, by their weights, shape ()."""
    shares = weights / weights.sum()  # in double precision, whatever the weights' size
    return (values * torch.from_numpy(shares).to(values)).sum()


def accuracy(logits: NDArray[Any], targets: NDArray[Any]) -> float:
    """Compute the share of targets whose class has the highest logit."""
    return float((logits.argmax(axis=1) == targets).mean())


MEASURES = {"valid_accuracy": accuracy}
