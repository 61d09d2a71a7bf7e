"""Metrics of the held-out documents during training."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def accuracy(logits: NDArray[Any], targets: NDArray[Any]) -> float:
    """Compute the share of targets whose class has the highest logit."""
    return float((logits.argmax(axis=1) == targets).mean())
