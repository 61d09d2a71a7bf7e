"""The scales of a pool: what each learner's parts count beside the others'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.learner import Fitted, ScalePrior
from sk_han.parts import Pool
from sk_han.parts.calibration import fit_scales, fit_scales_near
from sk_han.parts.pool import Scale

_ALONE = 1.0  # the usual scale of a part without others


class UnseenLogits(NamedTuple):
    """Logits of H documents by models that have not learnt from them."""

    of_learners: NDArray[np.float64]  # (L, H, K), of each learner's parts before its factor
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]  # (H,)
    groups: NDArray[np.int64] | None = None  # (H,), of documents that belong together


class Scaled(NamedTuple):
    """A pool, and how its scales came about."""

    pool: Pool
    learnt: Sequence[Fitted]  # what is not empty, the network's first
    factors: Sequence[Scale | None]  # of the scales of each; None without a common one
    unseen: UnseenLogits | None  # None if no document is new to all parts

    @property
    def unseen_logits(self) -> NDArray[np.float64] | None:
        """The scaled logits of each learner, (L, H, K); None where scales are not known."""
        if self.unseen is None or any(factor is None for factor in self.factors):
            return None
        pairs = zip(self.factors, self.unseen.of_learners, strict=True)
        return np.stack([factor * logits for factor, logits in pairs])


def scaled_pool(fitted: Sequence[Fitted], data: FitData, context: FitContext) -> Scaled:
    """Fit a factor for each learner on documents that its parts have not learnt from.

    What the parts of one learner count among each other it has fitted itself, on many documents.
    The network's comes first.
    """
    learnt = [each for each in fitted if each.pool.parts]
    before = None if context.before is None else context.before.pool
    # The network of before may have learnt from any document that this fit could hold out.
    keeps = before is not None and data.given_validation is None
    unseen = None if keeps else _unseen(learnt, data)
    pools = [each.pool for each in learnt]
    if keeps and before is not None and not any(each.is_of_new_kind for each in learnt):
        pool = reduce(Pool.beside, pools)
        if pool.parts.keys() == before.parts.keys():
            factors = [_common_factor(each, before) for each in pools]
            return Scaled(replace(pool, scales=before.scales), learnt, factors, unseen)
    beside = learnt[0].beside or ScalePrior(_ALONE, 1.0)
    priors = [each.prior or beside for each in learnt]
    usual = np.array(
        [
            _ALONE if len(learnt) == 1 or each.holds_factor else prior.median
            for each, prior in zip(learnt, priors, strict=True)
        ]
    )
    if unseen is None or data.n_classes == 1:
        scales = usual
    elif len(learnt) == 1:
        scales = fit_scales(data.target, unseen.of_learners, unseen.targets, unseen.weights, usual)
    else:
        spreads = np.array([prior.spread for prior in priors])
        scales = fit_scales_near(
            data.target, unseen.of_learners, unseen.targets, unseen.weights, usual, spreads
        )
    fitted_factors: list[Scale] = scales.tolist()
    if unseen is not None:
        reliance = data.target.reliance(data.training_data.targets)
        fitted_factors = _by_label(fitted_factors, learnt, reliance)
    scaled = [pool.scaled(factor) for pool, factor in zip(pools, fitted_factors, strict=True)]
    return Scaled(reduce(Pool.beside, scaled), learnt, fitted_factors, unseen)


def decided(scaled: Scaled, data: FitData, threshold: Any) -> Scaled:
    """Return the pool with the decisions that `threshold` asks for; see `Target.with_decisions`."""
    known, logits = None, scaled.unseen_logits
    if scaled.unseen is not None and logits is not None:
        known = logits.sum(axis=0), scaled.unseen.targets, scaled.unseen.weights
    learnt_from = data.labelled.targets, data.labelled.weights
    target = scaled.pool.target.with_decisions(threshold, learnt_from, known)
    return scaled._replace(pool=replace(scaled.pool, target=target))


def _unseen(learnt: Sequence[Fitted], data: FitData) -> UnseenLogits | None:
    """Return the logits of the documents that are new to all parts."""
    found = [each.unseen for each in learnt if each.unseen is not None]
    if data.validation is None or len(found) < len(learnt):
        return None
    logits = np.stack(found)  # (L, H, K)
    known = ~np.isnan(logits[:, :, 0]).any(axis=0)
    if not known.any():
        return None
    validation = data.validation[known]
    given = validation.targets, validation.weights, validation.groups
    return UnseenLogits(logits[:, known], *given)


def _by_label(
    factors: list[Scale], learnt: Sequence[Fitted], reliance: NDArray[np.float64] | None
) -> list[Scale]:
    """Move what networks are not relied on for (K,) from their factors to those of linear models.

    Of a rare label a network tells less than a linear model, which one factor for all does not see.
    """
    whole = sum(each for each, of in zip(factors, learnt, strict=True) if not of.is_network)
    if reliance is None or not whole:
        return factors
    moved = sum(factors) - whole
    return [
        each * reliance if of.is_network else each * (1 + moved * (1 - reliance) / whole)
        for each, of in zip(factors, learnt, strict=True)
    ]


def _common_factor(pool: Pool, before: Pool) -> Scale | None:
    """Return by what all scales of a pool are multiplied to be those of before."""
    if not all(np.all(scale) for scale in pool.scales.values()):
        return None
    first, *rest = (before.scales[name] / scale for name, scale in pool.scales.items())
    return first if all(np.array_equal(first, other) for other in rest) else None
