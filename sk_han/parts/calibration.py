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
    """Find the scales of the logits with the smallest negative log-likelihood of the targets.

    With one model this is temperature scaling (Guo et al., 2017; the scale is one over the
    temperature). With several it is a logarithmic opinion pool (Heskes, 1998). The loss is the
    weighted negative log-likelihood plus half the squared distance to `prior`; it is convex.

    Parameters
    ----------
    target : Target
    logits : sequence of n_models ndarrays of shape (D, K)
    targets : ndarray of D rows
        Encoded by the target.
    weights : ndarray of shape (D,)
        Positive.
    prior : ndarray of shape (n_models,)
        Scales without documents; with few documents, the result is close to them.

    Returns
    -------
    ndarray of shape (n_models,)
        At least 0; for a single model at least 0.01.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017). On Calibration of Modern Neural Networks. ICML.

    Heskes (1998). Selecting Weighting Factors in Logarithmic Opinion Pools. NIPS.
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
    """Find scales as `fit_scales`, where documents are few and usual scales are known.

    The prior of a scale is log-normal: with thirty held-out documents the result is close to the
    usual scales, and with a thousand it is that of the documents.

    Parameters
    ----------
    target, logits, targets, weights
        As of `fit_scales`.
    usual : ndarray of shape (n_models,)
        Medians of the prior; positive.
    spreads : ndarray of shape (n_models,)
        Standard deviations of the scales' logarithms.

    Returns
    -------
    ndarray of shape (n_models,)
        Positive.
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
    """Negative log-likelihood of the targets, by the scales of the logits.

    Weights are scaled to a mean of 1.
    """

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
