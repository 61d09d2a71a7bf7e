"""The scales of a pool: what each learner's parts count beside the others'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.learner import Fitted, ScalePrior
from sk_han.parts import Pool
from sk_han.parts.calibration import fit_scales, fit_scales_near
from sk_han.parts.pool import Scale

__all__ = ["Scaled", "UnseenLogits", "decided", "scaled_pool"]

_ALONE = 1.0  # the usual scale of a part without others


class UnseenLogits(NamedTuple):
    """Logits of H documents by models that have not learnt from them."""

    of_learners: NDArray[np.float64]  # (L, H, K), of each learner's parts before its factor
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]  # (H,)


class Scaled(NamedTuple):
    """A pool, and how its scales came about."""

    pool: Pool
    titles: tuple[str, ...]  # of the learners that have learnt something, the network's first
    factors: tuple[Scale | None, ...]  # of each learner's scales; None without a common one
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

    Learners learn apart: a linear model separates its training documents, so a network trained
    together with it has little left to learn. Training on the residual of cross-fitted logits of
    the linear model was not better (docs/what_was_tried.md). What the parts of one learner count
    among each other it has fitted itself, on many documents. The network's comes first.

    A fit that goes on without documents given for validation keeps the scales of before: its
    network may have learnt from any document that it could hold out now.

    A target may say how far the network can be relied on for each label. Of a label with few
    documents it tells less than a linear model, which one factor for all labels does not see: what
    is missing to its scale goes to the other learners, in proportion to theirs.
    """
    network, *others = [each for each in fitted if each.pool.parts]
    learnt = [network, *others]
    unseen = _unseen(learnt, data)
    before = None if context.before is None else context.before.pool
    keeps = before is not None and data.given_validation is None
    pools = [each.pool for each in learnt]
    if keeps and before is not None and not any(each.is_of_new_kind for each in learnt):
        names = {name for pool in pools for name in pool.parts}
        if names == before.parts.keys():
            kept = [
                Pool(pool.target, pool.parts, {name: before.scales[name] for name in pool.parts})
                for pool in pools
            ]
            return Scaled(
                _together(kept), _titles(learnt), tuple(map(_common_factor, pools, kept)), unseen
            )
    priors = [each.prior or network.beside or ScalePrior(_ALONE, 1.0) for each in learnt]
    usual = np.array(
        [
            _ALONE if len(learnt) == 1 or each.holds_factor else prior.median
            for each, prior in zip(learnt, priors, strict=True)
        ]
    )
    if unseen is None or keeps or data.n_classes == 1:
        scales = usual
    elif len(learnt) == 1:
        scales = fit_scales(data.target, unseen.of_learners, unseen.targets, unseen.weights, usual)
    else:
        spreads = np.array([prior.spread for prior in priors])
        scales = fit_scales_near(
            data.target, unseen.of_learners, unseen.targets, unseen.weights, usual, spreads
        )
    factors: list[Scale] = scales.tolist()
    if unseen is not None and not keeps:
        factors = _by_label(factors, data.target.reliance(data.training_data.targets))
    scaled = [pool.scaled(factor) for pool, factor in zip(pools, factors, strict=True)]
    return Scaled(_together(scaled), _titles(learnt), tuple(factors), unseen)


def decided(scaled: Scaled, threshold: Any) -> Scaled:
    """Return the pool with the decisions that `threshold` asks for; see `Target.with_decisions`."""
    logits, target = scaled.unseen_logits, scaled.pool.target
    if scaled.unseen is None or logits is None:
        target = target.with_decisions(threshold, None, None)
    else:
        target = target.with_decisions(threshold, logits.sum(axis=0), scaled.unseen.targets)
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
    return UnseenLogits(logits[:, known], validation.targets, validation.weights)


def _by_label(factors: list[Scale], reliance: NDArray[np.float64] | None) -> list[Scale]:
    """Move what the network is not relied on for (K,) from its factor to those of the others."""
    network, *others = factors
    whole = sum(others)
    if reliance is None or not whole:
        return factors
    return [network * reliance, *(each * (1 + network * (1 - reliance) / whole) for each in others)]


def _common_factor(pool: Pool, kept: Pool) -> Scale | None:
    """Return by what all scales of a pool are multiplied to be those that are kept."""
    if not all(np.all(scale) for scale in pool.scales.values()):
        return None
    first, *rest = (kept.scales[name] / scale for name, scale in pool.scales.items())
    return first if all(np.array_equal(first, other) for other in rest) else None


def _together(pools: Sequence[Pool]) -> Pool:
    first, *rest = pools
    for pool in rest:
        first = first.beside(pool)
    return first


def _titles(learnt: Sequence[Fitted]) -> tuple[str, ...]:
    return tuple(each.title for each in learnt)
