"""Scales of the parts of a pool, calibrated on documents that none of them has learnt from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sk_han.documents import LabelledDocuments
from sk_han.fitting.data import FitState
from sk_han.parts import Pool
from sk_han.parts.pool import Scale
from sk_han.targets import Target
from sk_han.utils.containers import Floats

_ALONE = 1.0  # the usual scale of a part without others
_SMALLEST_ALONE = 0.01


class ScalePrior(NamedTuple):
    """The log-normal prior of a scale."""

    median: float
    spread: float  # standard deviation of the logarithm


@dataclass(frozen=True)
class FittedParts:
    """Fitted parts whose scales get a common factor: a network, or the linear models."""

    pool: Pool  # with scales relative to each other
    title: str  # in the summary of the fit
    # Logits (H, K) of `FitState.validation` by models that have not learnt from it; NaN where there
    # are none, and None if nothing is known of them.
    logits: NDArray[np.float64] | None
    prior: ScalePrior | None = None  # of the factor; None for the `others_prior` of the network
    others_prior: ScalePrior | None = None
    keeps_factor: bool = False  # whether the scales have the factor of an earlier fit
    is_new: bool = False  # whether scales of an earlier fit do not apply
    is_network: bool = False
    is_of_columns: bool = False


@dataclass(frozen=True)
class ScaledParts:
    """The pool of all parts, and the logits by which it was scaled."""

    pool: Pool
    fitted: Sequence[FittedParts]  # F of them, the network first
    # H documents that no part has learnt from, and their logits (F, H, K) with and without factors.
    validation: LabelledDocuments | None = None
    logits: NDArray[np.float64] | None = None
    unscaled: NDArray[np.float64] | None = None


def scale_parts(fitted: Sequence[FittedParts], fit: FitState) -> ScaledParts:
    """Fit a factor of each of the fitted parts, and decisions, on documents new to all parts.

    A warm start without `X_val` keeps its scales: its network may have learnt from any document
    that this fit could hold out.
    """
    pool = reduce(Pool.combined_with, [each.pool for each in fitted])
    earlier = None if fit.warm_start_from is None else fit.warm_start_from.pool
    if earlier is None or fit.user_validation is not None:
        scaled = _with_factors(fitted, fit, *_validation_logits(fitted, fit))
    elif pool.parts.keys() == earlier.parts.keys() and not any(each.is_new for each in fitted):
        scaled = ScaledParts(replace(pool, scales=earlier.scales), fitted)
    else:
        scaled = _with_factors(fitted, fit, None, None)
    known = None
    if scaled.validation is not None and scaled.logits is not None:
        known = scaled.logits.sum(axis=0), scaled.validation.targets, scaled.validation.weights
    learnt_from = fit.labelled.targets, fit.labelled.weights
    target = fit.target.with_decisions(fit.params.threshold, learnt_from, known)
    return replace(scaled, pool=replace(scaled.pool, target=target))


def _validation_logits(
    fitted: Sequence[FittedParts], fit: FitState
) -> tuple[LabelledDocuments, NDArray[np.float64]] | tuple[None, None]:
    """Return the validation documents new to all parts, and their logits (F, H, K)."""
    found = [each.logits for each in fitted if each.logits is not None]
    if fit.validation is None or len(found) < len(fitted):
        return None, None
    logits = np.stack(found)
    known = ~np.isnan(logits[:, :, 0]).any(axis=0)
    return (fit.validation[known], logits[:, known]) if known.any() else (None, None)


def _with_factors(
    fitted: Sequence[FittedParts],
    fit: FitState,
    validation: LabelledDocuments | None,
    logits: NDArray[np.float64] | None,
) -> ScaledParts:
    """Multiply the scales of fitted parts by calibrated factors, or by usual ones."""
    others_prior = fitted[0].others_prior or ScalePrior(_ALONE, 1.0)
    priors = [each.prior or others_prior for each in fitted]
    usual = np.array(
        [
            _ALONE if len(fitted) == 1 or each.keeps_factor else prior.median
            for each, prior in zip(fitted, priors, strict=True)
        ]
    )
    factors: list[Scale] = usual.tolist()
    if validation is not None and logits is not None:
        if fit.n_classes > 1:
            data = logits, validation.targets, validation.weights
            spreads = np.array([prior.spread for prior in priors])
            factors = (
                fit_scales(fit.target, *data, usual)
                if len(fitted) == 1
                else fit_scales_near(fit.target, *data, usual, spreads)
            ).tolist()
        reliance = fit.target.reliance(fit.training_data.targets)
        if reliance is not None:
            factors = _by_label(factors, fitted, reliance)
    pools = [each.pool.scaled(factor) for each, factor in zip(fitted, factors, strict=True)]
    pool = reduce(Pool.combined_with, pools)
    if logits is None:
        return ScaledParts(pool, fitted)
    scaled = np.stack([factor * each for factor, each in zip(factors, logits, strict=True)])
    return ScaledParts(pool, fitted, validation, scaled, logits)


def _by_label(
    factors: list[Scale], fitted: Sequence[FittedParts], reliance: NDArray[np.float64]
) -> list[Scale]:
    """Move weight from networks to linear models for labels on which networks are unreliable, (K,).

    For a rare label a network is worse than a linear model, which one factor for all does not show.
    """
    pairs = [pair for pair in zip(factors, fitted, strict=True) if not pair[1].is_of_columns]
    linear = sum(factor for factor, of in pairs if not of.is_network)
    if not linear:
        return factors
    moved = sum(factor for factor, _ in pairs) - linear
    by_label: list[Scale] = [
        factor * reliance if of.is_network else factor * (1 + moved * (1 - reliance) / linear)
        for factor, of in pairs
    ]
    return [*by_label, *factors[len(pairs) :]]  # columns are the last


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
