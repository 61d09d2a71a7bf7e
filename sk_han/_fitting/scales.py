"""Calibration of the scales of all parts, on documents that no part has learnt from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sk_han._documents import LabelledDocuments
from sk_han._fitting.data import FitState
from sk_han._parts import Pool
from sk_han._parts.pool import Scale
from sk_han._targets import Target
from sk_han._utils.containers import Floats, Integers

# The default scale of a part that is alone, and its smallest one: with 0 it would predict the same
# for all documents.
_ALONE = 1.0
_SMALLEST_ALONE = 0.01
# Standard deviation of the normal prior of the coefficients of offsets.
_SPREAD_OF_OFFSETS = 3.0


class ScalePrior(NamedTuple):
    """The log-normal prior of a scale; it is not used for a part that is alone."""

    median: float
    spread: float  # standard deviation of the logarithm

    def penalty(self, step: float) -> tuple[float, float]:
        """Return the negative log-density at the median times exp(step), and its slope."""
        return (step / self.spread) ** 2 / 2, step / self.spread**2


class HeldOutLogits(NamedTuple):
    """Logits of validation documents by models that have not learnt from them."""

    rows: Integers  # (n,), rising, of `FitState.validation`
    logits: Floats  # (n, K)

    @classmethod
    def from_pool(cls, pool: Pool, validation: LabelledDocuments | None) -> HeldOutLogits:
        """Score all validation documents, if there are any, by parts that have not seen them."""
        if validation is None:
            return cls(np.empty(0, dtype=np.int64), np.empty((0, pool.target.n_scores)))
        return cls(np.arange(len(validation)), pool.logits(validation.documents))


@dataclass(frozen=True)
class FittedParts:
    """Fitted parts whose scales are multiplied by a common factor."""

    pool: Pool  # with scales relative to each other
    title: str  # the name in the summary of the fit
    held_out: HeldOutLogits
    prior: ScalePrior  # of the factor, unless these parts are alone


class FittedNetwork(FittedParts):
    """A network, which for rare labels hands part of its weight to the n-gram models."""


@dataclass(frozen=True)
class FittedNgrams(FittedParts):
    """The n-gram models, which for rare labels take over part of the weight of the network."""

    has_new_directions: bool  # whether earlier scales do not apply, since a latent model is new


@dataclass(frozen=True)
class ScaledParts:
    """The pool of all parts with their final scales, and the logits that determined these."""

    pool: Pool
    fitted: Sequence[FittedParts]  # F of them, the network first
    # H documents that no part has learnt from, their rows in `FitState.validation`, and their
    # logits (F, H, K) with and without factors.
    validation: LabelledDocuments | None = None
    rows: Integers | None = None
    logits: NDArray[np.float64] | None = None
    unscaled: NDArray[np.float64] | None = None

    @property
    def together(self) -> Floats:
        """Logits of the whole pool for the held-out documents, (H, K)."""
        assert self.logits is not None
        together: Floats = self.logits.sum(axis=0) + self.pool.target.offsets
        return together


def scale_parts(fitted: Sequence[FittedParts], fit: FitState) -> ScaledParts:
    """Fit a factor for each group of parts, and decisions, on documents that are new to all parts.

    A warm start without `X_val` keeps its scales, since its network may have learnt from any
    document that this fit could hold out.
    """
    pool = reduce(Pool.combined_with, [parts.pool for parts in fitted])
    earlier = None if fit.warm_start_from is None else fit.warm_start_from.pool
    rows = np.empty(0, dtype=np.int64)
    if earlier is None or fit.user_validation is not None:
        rows = reduce(np.intersect1d, [parts.held_out.rows for parts in fitted])
    is_new = any(isinstance(parts, FittedNgrams) and parts.has_new_directions for parts in fitted)
    if len(rows):
        scaled = _calibrate(fitted, fit, rows)
    elif earlier is not None and pool.parts.keys() == earlier.parts.keys() and not is_new:
        scaled = ScaledParts(replace(pool, scales=earlier.scales), fitted)
    else:
        scaled = ScaledParts(_apply_factors(fitted, _usual_factors(fitted).tolist()), fitted)
    unseen, target = None, scaled.pool.target
    if scaled.validation is not None:
        unseen = scaled.together, scaled.validation.targets, scaled.validation.weights
    learnt_from = fit.labelled.targets, fit.labelled.weights
    target = target.with_decisions(fit.params.threshold, learnt_from, unseen)
    return replace(scaled, pool=replace(scaled.pool, target=target, shift=target.offsets))


def _calibrate(fitted: Sequence[FittedParts], fit: FitState, rows: Integers) -> ScaledParts:
    """Calibrate the factors on these rows of the validation documents, and apply them."""
    assert fit.validation is not None
    validation, usual = fit.validation[rows], _usual_factors(fitted)
    held_out = [parts.held_out for parts in fitted]
    logits = np.stack([z[np.searchsorted(scored, rows)] for scored, z in held_out])  # (F, H, K)
    factors: list[Scale] = usual.tolist()
    offsets, target = fit.target.offset_shapes(), fit.target
    if fit.n_classes > 1:
        scored = target, logits, validation.targets, validation.weights
        priors = [
            parts.prior._replace(spread=parts.prior.spread * target.freedom) for parts in fitted
        ]
        alone, n = len(fitted) == 1, len(fitted)
        numbers = (
            fit_scales(*scored, usual, offsets)
            if alone
            else fit_scales_near(*scored, priors, offsets)
        )
        factors = numbers[:n].tolist()
        if len(offsets):
            target = replace(target, offsets=numbers[n:] @ offsets)  # type: ignore[type-var]
    reliance = fit.target.reliance(fit.training_data.targets)
    if reliance is not None:
        factors = _by_label(factors, fitted, reliance)
    scaled = np.stack([factor * z for factor, z in zip(factors, logits, strict=True)])
    pool = replace(_apply_factors(fitted, factors), target=target)
    return ScaledParts(pool, fitted, validation, rows, scaled, logits)


def _usual_factors(fitted: Sequence[FittedParts]) -> Floats:
    return np.array([_ALONE if len(fitted) == 1 else parts.prior.median for parts in fitted])


def _apply_factors(fitted: Sequence[FittedParts], factors: Sequence[Scale]) -> Pool:
    """Return the pool of all parts, with scales multiplied by the factors."""
    pairs = zip(fitted, factors, strict=True)
    return reduce(Pool.combined_with, [parts.pool.rescale(factor) for parts, factor in pairs])


def _by_label(
    factors: list[Scale], fitted: Sequence[FittedParts], reliance: NDArray[np.float64]
) -> list[Scale]:
    """Move weight from the network to the n-gram models for labels with little `reliance`, (K,).

    For rare labels a network is worse than a linear model, which a common factor cannot express.
    """
    pairs = [*zip(factors, fitted, strict=True)]
    ngrams = sum(factor for factor, parts in pairs if isinstance(parts, FittedNgrams))
    if not ngrams:
        return factors
    text = FittedNetwork, FittedNgrams
    moved = sum(factor for factor, parts in pairs if isinstance(parts, text)) - ngrams

    def by_label(factor: Scale, parts: FittedParts) -> Scale:
        if isinstance(parts, FittedNetwork):
            return factor * reliance
        if isinstance(parts, FittedNgrams):
            return factor * (1 + moved * (1 - reliance) / ngrams)
        return factor

    return [by_label(*pair) for pair in pairs]


def fit_scales(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: Floats,
    centres: Floats,
    offsets: Floats | None = None,
) -> Floats:
    """Return the scales, (P,), at least 0, that minimize the loss of the sum of logits (P, D, K).

    For one model this is temperature scaling (Guo et al., 2017), with a scale of at least 0.01; for
    several, a logarithmic opinion pool (Heskes, 1998). Half the squared distance to `centres`,
    (P,), is added to the weighted loss, which stays convex; with few documents the result is close
    to them. The coefficients of `offsets`, (Q, K), whose weighted sum is added to the logits,
    follow the scales.
    """
    n, logits = len(centres), _append_offsets(logits, offsets)
    loss_at = _loss_by_scales(target, logits, targets, weights)
    centres = np.append(centres, np.zeros(len(logits) - n))

    def loss_and_gradient(scales: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_at(scales)
        distance = scales - centres
        return loss + (distance**2).sum() / 2, gradient + distance

    # A single model with the scale 0 would predict the same for all documents.
    bounds: list[Any] = [(0 if n > 1 else _SMALLEST_ALONE, None)] * n
    bounds += [(None, None)] * (len(centres) - n)
    return _minimum(loss_and_gradient, centres, bounds)


def fit_scales_near(
    target: Target,
    logits: Any,
    targets: NDArray[Any],
    weights: Floats,
    priors: Sequence[ScalePrior],
    offsets: Floats | None = None,
) -> Floats:
    """Return scales, (P,), and coefficients as `fit_scales`, with a log-normal prior of each scale.

    With thirty documents the result is close to the medians; with a thousand, the documents decide.
    """
    logits = _append_offsets(logits, offsets)
    loss_at = _loss_by_scales(target, logits, targets, weights)
    medians, n = np.array([prior.median for prior in priors]), len(priors)

    def loss_and_gradient(steps: Floats) -> tuple[float, Floats]:
        scales, free = medians * np.exp(steps[:n]), steps[n:]
        loss, gradient = loss_at(np.append(scales, free))
        pairs = [prior.penalty(step) for prior, step in zip(priors, steps[:n], strict=True)]
        penalties, slopes = np.array(pairs).T
        of_free = (free / _SPREAD_OF_OFFSETS) ** 2 / 2, free / _SPREAD_OF_OFFSETS**2
        return loss + penalties.sum() + of_free[0].sum(), np.append(
            gradient[:n] * scales + slopes, gradient[n:] + of_free[1]
        )

    solution = _minimum(loss_and_gradient, np.zeros(len(logits)))
    return np.append(medians * np.exp(solution[:n]), solution[n:])


def _append_offsets(logits: Any, offsets: Floats | None) -> Floats:
    """Append offsets, (Q, K), to logits, (P, D, K), repeated for every document."""
    logits = np.asarray(logits)
    if offsets is None or not len(offsets):
        return logits
    every = np.broadcast_to(offsets[:, np.newaxis], (len(offsets), *logits.shape[1:]))
    return np.concatenate([logits, every])


def _loss_by_scales(
    target: Target, logits: Any, targets: NDArray[Any], weights: Floats
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the loss and its gradient as a function of the scales of logits, (P, D, K)."""
    stacked, shares = np.array(logits), weights / weights.mean()

    def loss_at(scales: Floats) -> tuple[float, Floats]:
        pooled = np.tensordot(scales, stacked, 1)  # (D, K)
        losses, gradient = target.loss(pooled, targets, shares)
        return float(losses.sum()), np.tensordot(stacked, gradient, 2)

    return loss_at


def _minimum(
    loss_and_gradient: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: Any = None
) -> Floats:
    """Minimize a loss by L-BFGS and return the solution."""
    # Small probabilities may underflow to 0.
    with np.errstate(under="ignore"):
        solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds)
    lowest: Floats = solution.x
    return lowest
