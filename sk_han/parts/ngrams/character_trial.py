"""The trial of characters: whether a model of them says more than that of words alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sk_han.documents import LabelledDocuments
from sk_han.parts.calibration import fit_scales
from sk_han.parts.ngrams.sparse_model import MOST_DENSE
from sk_han.parts.ngrams.stacking import LinearKinds, NgramLearner
from sk_han.targets import Target
from sk_han.utils.containers import Floats

# Documents of the trial, and what characters must add to what is told of labels. They added 0.5 and
# more on Korean comments, 0.1 to 0.3 on messages of 28 labels, 0.05 to 0.2 on tweets and news, and
# up to 0.05 on 2,000 reviews, 0.09 on 1,000 (docs/what_was_tried.md).
_TRIED, _MUCH = 2_000, 0.06
# So many labels are learnt as more of them are; fewer are learnt otherwise, and then characters add
# less.
_LABELS = MOST_DENSE + 1


def characters_pay(data: LabelledDocuments, target: Target, kinds: LinearKinds) -> bool:
    """Try on up to 2,000 documents whether characters beside words say much more of others.

    Of many labels they say it of the most frequent ones. Folds are scored, five at most, until the
    gain is a standard error away from what it must be.
    """
    target, of_frequent, targets = target.restrict_to_top(data.targets, _LABELS)
    drawn = np.sort(np.random.RandomState(0).permutation(len(of_frequent))[:_TRIED])
    some = replace(data[of_frequent[drawn]], targets=targets[drawn])
    sources = kinds.sources(some).values()
    learners = [NgramLearner(source, target, None) for source in sources]
    scored, logits, gained = np.empty(0, dtype=np.int64), [], 0.0
    for fold in target.folds(some.targets, some.groups):
        if not len(fold):  # of classes of one document each nothing is held out
            break
        rest = np.setdiff1d(np.arange(len(some)), fold)
        of_fold = np.zeros((2, len(fold), target.n_scores))  # of words, and of characters
        for found, learner in zip(of_fold, learners, strict=True):
            model = learner.fit(rest)
            if model is not None:
                found[:] = model.logits(learner.source.data.documents[fold])
        logits.append(of_fold)
        scored = np.append(scored, fold)
        gained, error = _gained(some[scored], np.concatenate(logits, axis=1), target)
        if abs(gained - _MUCH) >= error:
            break
    return gained > _MUCH


def _gained(data: LabelledDocuments, known: Floats, target: Target) -> tuple[float, float]:
    """Return what the other models add to the first, as a share of what all together tell.

    Models tell of labels by how far their loss is below that of the frequencies of classes. `known`
    are their logits (P, D, K). Also return the standard error of the share, as if it were `_MUCH`.
    """
    weights = data.weights / data.weights.sum()

    def losses(logits: Floats) -> Floats:
        scales = fit_scales(target, logits, data.targets, data.weights, np.ones(len(logits)))
        return target.loss(np.tensordot(scales, logits, 1), data.targets, weights)[0]

    nothing = target.prior_loss(data.targets, data.weights) * weights
    first, whole = losses(known[:1]), losses(known)
    if first.sum() > nothing.sum():
        first = nothing
    told = float((nothing - whole).sum())
    if told <= 0:
        return 0.0, np.inf
    added = first - whole  # (D,)
    beyond = added - _MUCH * (nothing - whole)  # 0 in sum, if the share is _MUCH
    return float(added.sum()) / told, float(np.sqrt(len(beyond)) * beyond.std()) / told
