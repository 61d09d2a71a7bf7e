"""Calibration: scales of the logits of each model, fitted on held-out documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from sk_han.documents import DocumentArray

__all__ = ["USUAL_SCALES", "ScoringModel", "fit_scales", "pooled_logits"]

# Scales of the network and of the n-gram model if no documents were held out: the logits of a
# network are overconfident. Typical of the collections in benchmarks/defaults.py.
USUAL_SCALES = (0.25, 1.0)

_SMALLEST_ALONE = 0.01


class ScoringModel(Protocol):
    """A model that scores documents: the network or the linear model."""

    def logits(self, documents: DocumentArray) -> NDArray[Any]:
        """Score documents, shape (D, C)."""


def pooled_logits(
    documents: DocumentArray, models: Sequence[tuple[float, ScoringModel]]
) -> NDArray[np.float64]:
    """Compute the sum of scaled logits, shape (D, C): a logarithmic opinion pool.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)
    models : sequence of (scale, model)
        At least one.
    """
    scaled = [scale * model.logits(documents).astype(np.float64) for scale, model in models]
    total: NDArray[np.float64] = sum(scaled[1:], start=scaled[0])
    return total


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
    stacked = np.stack(logits)  # (K, D, C)
    shares = weights / weights.mean()
    one_hot = np.eye(stacked.shape[2])[targets]  # (D, C)

    def loss_and_gradient(scales: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_proba = log_softmax(np.tensordot(scales, stacked, 1), axis=1)  # (D, C)
        distance = scales - prior
        loss = -(shares * (one_hot * log_proba).sum(axis=1)).sum() + (distance**2).sum() / 2
        residual = shares[:, None] * (np.exp(log_proba) - one_hot)
        return loss, np.tensordot(stacked, residual, 2) + distance

    # A single model with the scale 0 would predict the same for all documents.
    bounds = [(0 if len(prior) > 1 else _SMALLEST_ALONE, None)] * len(prior)
    with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
        solution = minimize(loss_and_gradient, prior, jac=True, method="L-BFGS-B", bounds=bounds)
    scales: NDArray[np.float64] = solution.x
    return scales
