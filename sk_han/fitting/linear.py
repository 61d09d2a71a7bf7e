"""The learner of the linear models: of words, of characters, and the latent one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.learner import Fitted, Learner
from sk_han.fitting.settings import AUTO
from sk_han.parts import Pool
from sk_han.parts.ngrams.character_model import WordTable, knows_words, n_characters, words_by_id
from sk_han.parts.ngrams.character_trial import characters_pay
from sk_han.parts.ngrams.latent import fit_latent_space, sampled_text
from sk_han.parts.ngrams.memory_estimate import check_memory_of_linear_model, memory_limit
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.stacking import (
    LATENT_NAMES,
    LinearKinds,
    fit_linear_parts,
    partial_fit_linear_parts,
    with_earlier_latent_models,
)
from sk_han.parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NGRAMS
from sk_han.training.pretraining import halves

# With 3,000 tweets without labels a pre-trained network was no better, with 8,000 messages of
# newsgroups 2.6 points (docs/what_was_tried.md).
_ENOUGH_TO_PRETRAIN = 5_000

_MOST_CHARACTER_WORDS = 1 << 22  # of text whose characters show the latent model directions

_FEWEST_DOCUMENTS = 100  # with fewer it is not tried whether characters pay
_MOST_CHARACTERS = 3 << 25  # with more neither: 200,000 reviews took 18 GB with a model of these

_TITLES = {
    NGRAMS: "n-gram",
    CHARACTERS: "character",
    LATENT: "latent",
    LATENT_CHARACTERS: "latent character",
}


class LinearLearner(Learner):
    """Linear models on n-grams of words and characters, and on directions of unlabelled text."""

    def __init__(self, kinds: LinearKinds) -> None:
        self.kinds = kinds  # of nothing where models only go on from an earlier portion

    @classmethod
    def of(cls, data: FitData, context: FitContext) -> LinearLearner | None:
        """Return the learner, if there are linear models; check their memory."""
        before = _before(context)
        known: Any = before.parts.get(NGRAMS) if before is not None and context.is_portion else None
        kinds = _kinds(data, context, before)
        if kinds.ngram_range is None and kinds.char_range is None:
            return cls(kinds) if context.learns_on else None
        if kinds.ngram_range is not None:
            check_memory_of_linear_model(
                data.labelled.documents,
                data.n_classes,
                kinds.ngram_range,
                before=known,
                in_portions=context.is_portion,
            )
        if kinds.table is not None and kinds.char_range is not None and memory_limit() is not None:
            before_it: Any = None if before is None else before.parts.get(CHARACTERS)
            is_dense = before_it is not None and isinstance(before_it.ngrams, NgramModel)
            check_memory_of_linear_model(
                kinds.table.read(data.labelled.documents),
                data.n_classes,
                kinds.char_range,
                before=before_it.ngrams if is_dense and context.is_portion else None,
                in_portions=context.is_portion,
                repair="linear_chars=None leaves the model of characters out",
            )
        return cls(kinds)

    def prepare(self, data: FitData, context: FitContext) -> None:
        """Learn the directions of the latent models, if there is text without labels."""
        kinds, (text, _) = self.kinds, data.text
        if data.unlabelled is None or data.n_classes == 1:
            return
        how = context.rng, data.target.n_problems
        with context.stages("text without labels"):
            if kinds.ngram_range is not None:
                space = fit_latent_space(text, kinds.ngram_range, *how)
                kinds = kinds._replace(space=space)
            if kinds.char_range is not None and kinds.table is not None:
                read = kinds.table.read(sampled_text(text, _MOST_CHARACTER_WORDS, context.rng))
                space = fit_latent_space(read, kinds.char_range, *how)
                kinds = kinds._replace(char_space=space)
        self.kinds = kinds

    def teach(self, data: FitData, context: FitContext) -> Pool | None:
        """Fit the linear models that say of one half of a document what the other half tells."""
        if data.unlabelled is None or self.kinds.ngram_range is None or data.n_classes == 1:
            return None
        if context.before is not None or context.is_portion or context.settings.own_loss:
            return None
        if data.sentences is not None and not data.reads_words_beside_vectors:
            return None
        if np.count_nonzero(data.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
            return None
        with context.stages("teacher of pre-training"):
            teacher, _ = fit_linear_parts(data.training_data, data.target, self.kinds, None, halves)
        return teacher if teacher.parts else None

    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Fit the models, and score the held-out documents by models that do not know them."""
        before = _before(context)
        with context.stages("linear models"):
            if context.is_portion:
                pool = partial_fit_linear_parts(before, data.labelled, data.target, self.kinds)
                return self._fitted(pool, None)
            pool, scored = fit_linear_parts(data.labelled, data.target, self.kinds, data.held_out)
        has_latent = before is not None and any(name in before.parts for name in LATENT_NAMES)
        if before is not None and has_latent and not self.kinds.has_latent:
            # There is no text to learn another latent model from: that of the earlier fit stays.
            pool, scored = with_earlier_latent_models(pool, before), None
            return self._fitted(pool, _of_given(pool, data), holds_factor=True)
        return self._fitted(pool, _of_given(pool, data) if scored is None else scored)

    def _fitted(
        self, pool: Pool, unseen: NDArray[np.float64] | None, *, holds_factor: bool = False
    ) -> Fitted:
        *some, last = [_TITLES[name] for name in pool.parts] or ["n-gram"]
        title = f"{', '.join(some)} and {last} model" if some else f"{last} model"
        is_new = self.kinds.has_latent
        return Fitted(pool, title, unseen, holds_factor=holds_factor, is_of_new_kind=is_new)


def _before(context: FitContext) -> Pool | None:
    """Return the linear models that the fit goes on from, if any."""
    return None if context.before is None else context.before.pool.only(_TITLES)


def _kinds(data: FitData, context: FitContext, before: Pool | None) -> LinearKinds:
    """Return what is to be learnt of words, and of characters if they are known and pay."""
    settings, documents, given = context.settings, data.labelled.documents, data.given_validation
    words_alone = LinearKinds(settings.ngram_range)
    sizes, is_auto = settings.char_range, settings.linear_chars == AUTO
    if before is not None and CHARACTERS in before.parts:
        model: Any = before.parts[CHARACTERS]
        sizes = model.ngrams.ngram_range if context.is_portion else sizes
        if sizes is None:
            return words_alone
        for each in (documents, *(() if given is None else (given.documents,))):
            model.check(each)
        return words_alone._replace(char_range=sizes, table=model.table)
    if sizes is None or (before is not None and (is_auto or context.is_portion)):
        return words_alone
    is_known = documents.spelling is not None
    all_known = is_known and (given is None or knows_words(given.documents))
    if not all_known and not is_auto:
        raise ValueError(
            f"linear_chars={settings.linear_chars!r} reads the characters of words, and "
            f"{'X_val' if is_known else 'X'} holds word ids without their words. Give raw texts or "
            "what a HierarchicalTokenizer makes of them, or linear_chars='auto', which leaves the "
            "model out here."
        )
    if is_auto:
        may_pay = all_known and len(documents) >= _FEWEST_DOCUMENTS
        may_pay = may_pay and n_characters(documents) <= _MOST_CHARACTERS
        if not may_pay or data.n_classes == 1 or settings.ngram_range is None:
            return words_alone
    if data.tokenizer is not None:
        words: Mapping[str, int] = data.tokenizer.vocabulary_
    else:
        words = words_by_id(documents)
        if data.unlabelled is not None:
            words = {**words_by_id(data.unlabelled), **words}
    table = WordTable.of(words, data.vocabulary_size)
    kinds = words_alone._replace(char_range=sizes, table=table)
    if is_auto:
        with context.stages("trial of characters"):
            pays = characters_pay(data.labelled, data.target, kinds)
        if not pays:
            return words_alone
    return kinds


def _of_given(pool: Pool, data: FitData) -> NDArray[np.float64] | None:
    """Score the validation documents that the user gives; no model has learnt from them."""
    given = data.given_validation
    return None if given is None or not pool.parts else pool.logits(given.documents)
