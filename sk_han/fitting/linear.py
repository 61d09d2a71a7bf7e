"""The learner of the n-gram model and the latent model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.learner import Fitted, Learner
from sk_han.parts import Pool
from sk_han.parts.ngrams.latent import LatentSpace, fit_latent_space
from sk_han.parts.ngrams.memory import check_memory_of_linear_model
from sk_han.parts.ngrams.stacking import (
    fit_linear_parts,
    partial_fit_linear_parts,
    with_earlier_latent_model,
)
from sk_han.parts.pool import LATENT, NGRAMS
from sk_han.training.pretraining import halves

# With 3,000 tweets without labels a pre-trained network was no better, with 8,000 messages of
# newsgroups 2.6 points (docs/what_was_tried.md).
_ENOUGH_TO_PRETRAIN = 5_000


class LinearLearner(Learner):
    """Linear models on n-grams, and on directions that text without labels has shown."""

    def __init__(self, ngram_range: tuple[int, int] | None) -> None:
        self.ngram_range = ngram_range  # None where models only go on from an earlier portion
        self.space: LatentSpace | None = None

    @classmethod
    def of(cls, data: FitData, context: FitContext) -> LinearLearner | None:
        """Return the learner, if there are linear models; check their memory."""
        ngram_range = context.settings.ngram_range
        if ngram_range is None:
            return cls(None) if context.learns_on else None
        earlier = _before(context) if context.learns_on else None
        known: Any = None if earlier is None else earlier.parts.get(NGRAMS)
        check_memory_of_linear_model(
            data.labelled.documents,
            data.n_classes,
            ngram_range,
            before=known,
            in_portions=context.is_portion,
        )
        return cls(ngram_range)

    def prepare(self, data: FitData, context: FitContext) -> None:
        """Learn the directions of the latent model, if there is text without labels."""
        if data.unlabelled is None or self.ngram_range is None or data.n_classes == 1:
            return
        text, _ = data.text
        with context.stages("text without labels"):
            self.space = fit_latent_space(text, self.ngram_range, context.rng)

    def teach(self, data: FitData, context: FitContext) -> Pool | None:
        """Fit the linear models that say of one half of a document what the other half tells."""
        if data.unlabelled is None or self.ngram_range is None or data.n_classes == 1:
            return None
        if context.before is not None or context.is_portion or context.settings.own_loss:
            return None
        if data.sentences is not None:
            return None
        if np.count_nonzero(data.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
            return None
        with context.stages("teacher of pre-training"):
            teacher, _ = fit_linear_parts(
                data.training_data, data.target, self.ngram_range, self.space, None, halves
            )
        return teacher if teacher.parts else None

    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Fit the models, and score the held-out documents by models that do not know them."""
        before = _before(context)
        with context.stages("linear models"):
            if context.is_portion:
                pool = partial_fit_linear_parts(
                    before, data.labelled, data.target, self.ngram_range, self.space
                )
                return self._fitted(pool, None)
            assert self.ngram_range is not None
            pool, scored = fit_linear_parts(
                data.labelled, data.target, self.ngram_range, self.space, data.held_out
            )
        if self.space is None and before is not None and LATENT in before.parts:
            # There is no text to learn another latent model from: that of the earlier fit stays.
            pool, scored = with_earlier_latent_model(pool, before), None
            return self._fitted(pool, _of_given(pool, data), holds_factor=True)
        return self._fitted(pool, _of_given(pool, data) if scored is None else scored)

    def _fitted(
        self, pool: Pool, unseen: NDArray[np.float64] | None, *, holds_factor: bool = False
    ) -> Fitted:
        title = {
            (NGRAMS, LATENT): "n-gram and latent model",
            (LATENT,): "latent model",
        }.get(tuple(pool.parts), "n-gram model")
        is_new = self.space is not None
        return Fitted(pool, title, unseen, holds_factor=holds_factor, is_of_new_kind=is_new)


def _before(context: FitContext) -> Pool | None:
    """Return the linear models that the fit goes on from, if any."""
    if context.before is None:
        return None
    pool = context.before.pool
    return pool.only(name for name in (NGRAMS, LATENT) if name in pool.parts)


def _of_given(pool: Pool, data: FitData) -> NDArray[np.float64] | None:
    """Score the validation documents that the user gives; no model has learnt from them."""
    given = data.given_validation
    return None if given is None or not pool.parts else pool.logits(given.documents)
