"""Calibration: scales of the logits of each model, fitted on documents that it does not know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

__all__ = [
    "PRETRAINED_SCALES",
    "SENTENCE_SCALES",
    "SENTENCE_SPREADS",
    "SPREADS",
    "USUAL_SCALES",
    "fit_scales",
    "fit_scales_near",
]

# Scales of the network and of the linear models' sum if no documents were held out: the logits of
# a network are overconfident. And by what factor, as a standard deviation of the logarithm, they
# differ between collections. Of five corpora and 300 to 2,000 documents (docs/benchmarks.md, What
# models count in small collections).
USUAL_SCALES = (0.25, 0.8)
SPREADS = (0.6, 0.15)
# A network that text without labels has taught counts more beside the linear models. A guess from
# pools on held-out IMDB reviews (docs/benchmarks.md, Text without labels), not tuned.
PRETRAINED_SCALES = (0.5, 0.5)

# A network over sentence vectors begins as a convex model and is calibrated as one. Of 100, 300 and
# 700 training documents of IMDB and of 20 newsgroups, the scales that were best for the others of
# 1,000: 0.5 to 1.8, and 0 to 0.6.
SENTENCE_SCALES, SENTENCE_SPREADS = (0.85, 0.35), (0.3, 0.6)

_SMALLEST_ALONE = 0.01


def fit_scales(
    logits: Sequence[NDArray[np.float64]],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Find the scales of the logits with the smallest negative log-likelihood of the targets.

    With one model this is temperature scaling (Guo et al., 2017; the scale is one over the
    temperature). With several it is a logarithmic opinion pool (Heskes, 1998). The loss is the
    weighted negative log-likelihood plus half the squared distance to `prior`; it is convex.

    Parameters
    ----------
    logits : sequence of n_models ndarrays of shape (n_documents, n_classes)
    targets : ndarray of int64, shape (n_documents,)
    weights : ndarray of shape (n_documents,)
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
    loss_at = _Loss(logits, targets, weights)

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
    logits: Sequence[NDArray[np.float64]],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    usual: NDArray[np.float64],
    spreads: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Find scales as `fit_scales`, where documents are few and usual scales are known.

    The prior of a scale is log-normal: with thirty held-out documents the result is close to the
    usual scales, and with a thousand it is that of the documents.

    Parameters
    ----------
    logits, targets, weights
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
    loss_at = _Loss(logits, targets, weights)

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
        logits: Sequence[NDArray[np.float64]],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> None:
        self.stacked = np.stack(logits)  # (K, D, C)
        self.shares = weights / weights.mean()
        self.of_target = np.arange(len(targets)), targets  # one of C columns in each of D rows

    def __call__(self, scales: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient."""
        log_proba = log_softmax(np.tensordot(scales, self.stacked, 1), axis=1)  # (D, C)
        loss = -(self.shares * log_proba[self.of_target]).sum()
        residual = np.exp(log_proba)
        residual[self.of_target] -= 1
        residual *= self.shares[:, np.newaxis]
        return float(loss), np.tensordot(self.stacked, residual, 2)
