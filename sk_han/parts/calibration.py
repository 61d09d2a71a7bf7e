"""Calibration: scales of the logits of each model, fitted on documents new to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sk_han.targets import Target
from sk_han.utils.containers import Floats

_SMALLEST_ALONE = 0.01


def fit_scales(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: Floats,
    prior: Floats,
) -> Floats:
    """Return the scales (P,), from 0 on, with which logits (P, D, K) have the smallest loss.

    For one model this is temperature scaling (Guo et al., 2017), with a scale of at least 0.01; for
    several a logarithmic opinion pool (Heskes, 1998). Half the squared distance to `prior` is added
    to the weighted loss, which stays convex: with few documents the result is close to the prior.
    """
    loss_at = _loss_by_scales(target, logits, targets, weights)

    def loss_and_gradient(scales: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_at(scales)
        distance = scales - prior
        return loss + (distance**2).sum() / 2, gradient + distance

    # A single model with the scale 0 would predict the same for all documents.
    bounds = [(0 if len(prior) > 1 else _SMALLEST_ALONE, None)] * len(prior)
    with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
        solution = minimize(loss_and_gradient, prior, jac=True, method="L-BFGS-B", bounds=bounds)
    scales: Floats = solution.x
    return scales


def fit_scales_near(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: Floats,
    usual: Floats,
    spreads: Floats,
) -> Floats:
    """Return scales as `fit_scales`, with a log-normal prior around usual scales (P,).

    `spreads` (P,) are its standard deviations: with thirty documents the result is close to the
    usual scales, with a thousand the documents decide.
    """
    loss_at = _loss_by_scales(target, logits, targets, weights)

    def loss_and_gradient(steps: Floats) -> tuple[float, Floats]:
        scales = usual * np.exp(steps)
        loss, gradient = loss_at(scales)
        penalty = ((steps / spreads) ** 2).sum() / 2
        return loss + penalty, gradient * scales + steps / spreads**2

    with np.errstate(under="ignore"):
        start = np.zeros(len(usual))
        solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B")
    scales: Floats = usual * np.exp(solution.x)
    return scales


def _loss_by_scales(
    target: Target, logits: Any, targets: NDArray[Any], weights: Floats
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the loss, with its gradient, by the scales of logits (P, D, K)."""
    stacked, shares = np.array(logits), weights / weights.mean()

    def loss_at(scales: Floats) -> tuple[float, Floats]:
        pooled = np.tensordot(scales, stacked, 1)  # (D, K)
        losses, gradient = target.loss(pooled, targets, shares)
        return float(losses.sum()), np.tensordot(stacked, gradient, 2)

    return loss_at
