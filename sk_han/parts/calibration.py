"""Calibration: scales of the logits of each model, fitted on documents that it does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sk_han.targets import Target

__all__ = [
    "fit_scales",
    "fit_scales_near",
]

_SMALLEST_ALONE = 0.01


def fit_scales(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the scales (P,), from 0 on, with which logits (P, D, K) have the smallest loss.

    For one model this is temperature scaling (Guo et al., 2017), with a scale of at least 0.01; for
    several a logarithmic opinion pool (Heskes, 1998). Half the squared distance to `prior` is added
    to the weighted loss, which stays convex: with few documents the result is close to the prior.

    Guo, Pleiss, Sun, Weinberger. On Calibration of Modern Neural Networks. ICML.
    Heskes. Selecting Weighting Factors in Logarithmic Opinion Pools. NIPS.
    """
    loss_at = _Loss(target, logits, targets, weights)

    def loss_and_gradient(scales: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = loss_at(scales)
        distance = scales - prior
        loss += (distance**2).sum() / 2
        return loss, gradient + distance

    # A single model with the scale 0 would predict the same for all documents.
    bounds = [(0 if len(prior) > 1 else _SMALLEST_ALONE, None)] * len(prior)
    with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
        solution = minimize(loss_and_gradient, prior, jac=True, method="L-BFGS-B", bounds=bounds)
    scales: NDArray[np.float64] = solution.x
    return scales


def fit_scales_near(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: NDArray[np.float64],
    usual: NDArray[np.float64],
    spreads: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Find scales as `fit_scales`, where documents are few and usual scales (P,) are known.

    The prior of a scale is log-normal, of which `spreads` (P,) are the standard deviations: with
    thirty documents the result is close to the usual scales, with a thousand it is the documents'.
    """
    loss_at = _Loss(target, logits, targets, weights)

    def loss_and_gradient(steps: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scales = usual * np.exp(steps)
        loss, gradient = loss_at(scales)
        loss += ((steps / spreads) ** 2).sum() / 2
        return loss, gradient * scales + steps / spreads**2

    with np.errstate(under="ignore"):
        start = np.zeros(len(usual))
        solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B")
    scales: NDArray[np.float64] = usual * np.exp(solution.x)
    return scales


class _Loss:
    """Negative log-likelihood by the scales of the logits (P, D, K); weights get a mean of 1."""

    def __init__(
        self,
        target: Target,
        logits: Any,
        targets: NDArray[Any],
        weights: NDArray[np.float64],
    ) -> None:
        self.stacked = np.array(logits)  # (P, D, K)
        self.shares = weights / weights.mean()
        self.target, self.targets = target, targets

    def __call__(self, scales: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient."""
        pooled = np.tensordot(scales, self.stacked, 1)  # (D, K)
        loss, gradient = self.target.loss(pooled, self.targets, self.shares)
        return loss, np.tensordot(self.stacked, gradient, 2)
