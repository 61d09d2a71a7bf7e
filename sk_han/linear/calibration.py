"""How the logits of the network and of the n-gram channel become those of the classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.linear.ngrams import NgramChannel, fit_ngram_channel

__all__ = ["combined_logits", "fit_channel", "fit_scales"]

# Scales of the network beside a channel, and of the channel, where no documents were held out: a
# network's logits are overconfident. Typical of the collections in benchmarks/defaults.py.
_BESIDE_CHANNEL = (0.25, 1.0)

_SMALLEST_ALONE = 0.01


def fit_channel(
    network_logits: Callable[[DocumentArray], NDArray[np.floating]],
    n_classes: int,
    training: LabelledDocuments,
    validation: LabelledDocuments | None,
    data: LabelledDocuments,
    ngram_range: tuple[int, int] | None,
    kept_scales: NDArray[np.float64] | None = None,
) -> tuple[NgramChannel | None, NDArray[np.float64]]:
    """Fit the n-gram channel, and the scales of network and channel on held-out documents.

    The two learn apart from each other: the channel separates its training documents, so a network
    trained together with it finds little left to learn from. Trained on what cross-fitted logits of
    the channel leave over it did no better (docs/benchmarks.md).

    Parameters
    ----------
    network_logits : callable
        Return the logits (D, C) of documents; the network is trained on `training`.
    n_classes : int
    training, validation : LabelledDocuments
        `validation` may be None: the scales are then the usual ones.
    data : LabelledDocuments
        What the channel learns from in the end: `training`, with the part of it held out.
    ngram_range : tuple of int or None
        None leaves the channel out, and fits the network's temperature.
    kept_scales : ndarray, default=None
        Scales to take in place of fitted ones, where network and channel are as many: of a fit
        that goes on, whose held-out documents the network may have learnt from before.

    Returns
    -------
    channel : NgramChannel or None
    scales : ndarray of shape (1,) or (2,)
        Factors of the logits of the network and, where there is one, of the channel.
    """
    fitted_on = training if kept_scales is None else data
    channel = fit_ngram_channel(fitted_on, n_classes, ngram_range) if ngram_range else None
    scales = np.ones(1) if channel is None else np.array(_BESIDE_CHANNEL)
    if kept_scales is not None:
        return channel, kept_scales if len(kept_scales) == len(scales) else scales
    if validation is None or n_classes == 1:
        return channel, scales
    logits = [network_logits(validation.documents).astype(np.float64)]
    if channel is not None:
        logits.append(channel.logits(validation.documents))
    scales = fit_scales(logits, validation.targets, validation.weights, scales)
    if channel is not None and len(data) > len(training):
        channel = fit_ngram_channel(data, n_classes, channel.ngram_range)
    return channel, scales


def combined_logits(
    network_logits: NDArray[np.floating],
    documents: DocumentArray,
    channel: NgramChannel | None,
    scales: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Add the scaled logits of network and channel, shape (D, C)."""
    logits = scales[0] * network_logits.astype(np.float64)
    if channel is not None:
        logits += scales[1] * channel.logits(documents)
    return logits


def fit_scales(
    logits: Sequence[NDArray[np.float64]],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Find the factors with which the sum of logits predicts held-out documents best.

    For one kind of logits this is temperature scaling (Guo et al., 2017; the factor is one over
    the temperature), for several a logarithmic opinion pool (Heskes, 1998). The negative
    log-likelihood is convex in the factors.

    Parameters
    ----------
    logits : sequence of n_kinds ndarrays of shape (n_documents, n_classes)
    targets : ndarray of int64, shape (n_documents,)
    weights : ndarray of shape (n_documents,)
        Positive.
    prior : ndarray of shape (n_kinds,)
        Few documents do not lead far away from these factors.

    Returns
    -------
    ndarray of shape (n_kinds,)
        Not negative; of a single kind of logits at least 0.01.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017). On Calibration of Modern Neural Networks. ICML.

    Heskes (1998). Selecting Weighting Factors in Logarithmic Opinion Pools. NIPS.
    """
    stacked = np.stack(logits)  # (K, D, C)
    shares = weights / weights.mean()
    right = np.eye(stacked.shape[2])[targets]  # (D, C)

    def loss_and_gradient(factors: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_proba = log_softmax(np.tensordot(factors, stacked, 1), axis=1)  # (D, C)
        off = factors - prior
        loss = -(shares * (right * log_proba).sum(axis=1)).sum() + (off**2).sum() / 2
        residual = shares[:, None] * (np.exp(log_proba) - right)
        return loss, np.tensordot(stacked, residual, 2) + off

    # A factor of 0 alone would take every prediction away.
    bounds = [(0 if len(prior) > 1 else _SMALLEST_ALONE, None)] * len(prior)
    with np.errstate(under="ignore"):  # next to a class that is sure, others may vanish
        solution = minimize(loss_and_gradient, prior, jac=True, method="L-BFGS-B", bounds=bounds)
    factors: NDArray[np.float64] = solution.x
    return factors
