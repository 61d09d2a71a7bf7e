"""Fit the linear models: of words, of characters, and the latent ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sk_han.fitting.data import FitState
from sk_han.fitting.logit_scales import FittedParts
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

_CHARACTERS = (1, 5)  # of an n-gram; 2 to 5 is a point worse with few Korean comments
_MOST_CHARACTER_WORDS = 1 << 22  # of text whose characters show the latent model directions

_FEWEST_DOCUMENTS = 100  # with fewer it is not tried whether characters pay
_MOST_CHARACTERS = 3 << 25  # with more neither: 200,000 reviews took 18 GB with a model of these

_TITLES = {
    NGRAMS: "n-gram",
    CHARACTERS: "character",
    LATENT: "latent",
    LATENT_CHARACTERS: "latent character",
}


def linear_kinds(fit: FitState) -> LinearKinds:
    """Return which linear models to fit; none where `partial_fit` updates earlier ones.

    Of characters there is one if they are known and pay. Raise a MemoryError for a model that would
    not fit into memory.
    """
    earlier = _earlier_models(fit)
    kinds = _kinds(fit, earlier)
    documents, n_classes = fit.labelled.documents, fit.n_classes
    if kinds.ngram_range is not None:
        known: Any = None if earlier is None else earlier.parts.get(NGRAMS)
        check_memory_of_linear_model(
            documents,
            n_classes,
            kinds.ngram_range,
            before=known if fit.is_partial else None,
            in_portions=fit.is_partial,
        )
    if kinds.table is not None and kinds.char_range is not None and memory_limit() is not None:
        characters: Any = None if earlier is None else earlier.parts.get(CHARACTERS)
        is_dense = characters is not None and isinstance(characters.ngrams, NgramModel)
        check_memory_of_linear_model(
            kinds.table.read(documents),
            n_classes,
            kinds.char_range,
            before=characters.ngrams if is_dense and fit.is_partial else None,
            in_portions=fit.is_partial,
            repair="linear_chars=None leaves the model of characters out",
        )
    return kinds


def fit_latent_spaces(fit: FitState, kinds: LinearKinds) -> LinearKinds:
    """Find the directions of the latent models in all text, if there is text without labels."""
    if fit.unlabelled is None or fit.n_classes == 1:
        return kinds
    if kinds.ngram_range is None and kinds.char_range is None:
        return kinds
    text, _ = fit.text
    options = fit.rng, fit.target.n_problems
    with fit.stages("text without labels"):
        if kinds.ngram_range is not None:
            kinds = kinds._replace(space=fit_latent_space(text, kinds.ngram_range, *options))
        if kinds.char_range is not None and kinds.table is not None:
            read = kinds.table.read(sampled_text(text, _MOST_CHARACTER_WORDS, fit.rng))
            kinds = kinds._replace(char_space=fit_latent_space(read, kinds.char_range, *options))
    return kinds


def fit_teacher(fit: FitState, kinds: LinearKinds) -> Pool | None:
    """Fit linear models of half documents, which label text for the pre-training of a network."""
    if fit.unlabelled is None or kinds.ngram_range is None or fit.n_classes == 1:
        return None
    if fit.warm_start_from is not None or fit.is_partial or fit.has_own_loss:
        return None
    if fit.sentences is not None and not fit.has_vectors_and_words:
        return None
    if np.count_nonzero(fit.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
        return None
    with fit.stages("teacher of pre-training"):
        teacher, _ = fit_linear_parts(fit.training_data, fit.target, kinds, None, halves)
    return teacher if teacher.parts else None


def fit_linear_models(fit: FitState, kinds: LinearKinds) -> list[FittedParts]:
    """Fit the models, and score the held-out documents by models that do not know them."""
    earlier = _earlier_models(fit)
    updates = earlier is not None and fit.is_partial
    if kinds.ngram_range is None and kinds.char_range is None and not updates:
        return []
    logits, keeps_factor = None, False
    with fit.stages("linear models"):
        if fit.is_partial:
            pool = partial_fit_linear_parts(earlier, fit.labelled, fit.target, kinds)
        else:
            pool, logits = fit_linear_parts(fit.labelled, fit.target, kinds, fit.held_out)
            if earlier is not None and earlier.only(LATENT_NAMES).parts and not kinds.has_latent:
                # Without text for another latent model, that of the earlier fit stays.
                pool, logits = with_earlier_latent_models(pool, earlier), None
                keeps_factor = True
    if not pool.parts:
        return []
    if logits is None and fit.user_validation is not None:
        logits = pool.logits(fit.user_validation.documents)  # which no model has learnt from
    *some, last = [_TITLES[name] for name in pool.parts]
    title = f"{', '.join(some)} and {last} model" if some else f"{last} model"
    return [FittedParts(pool, title, logits, keeps_factor=keeps_factor, is_new=kinds.has_latent)]


def _earlier_models(fit: FitState) -> Pool | None:
    """Return the linear models to continue from, if any."""
    return None if fit.warm_start_from is None else fit.warm_start_from.pool.only(_TITLES)


def _kinds(fit: FitState, earlier: Pool | None) -> LinearKinds:
    params, documents, validation = fit.params, fit.labelled.documents, fit.user_validation
    words_alone = LinearKinds(_integers(params.linear_ngrams))
    is_auto = isinstance(params.linear_chars, str)
    sizes = _CHARACTERS if is_auto else _integers(params.linear_chars)
    if earlier is not None and CHARACTERS in earlier.parts:
        model: Any = earlier.parts[CHARACTERS]
        sizes = model.ngrams.ngram_range if fit.is_partial else sizes
        if sizes is None:
            return words_alone
        for each in (documents, *(() if validation is None else (validation.documents,))):
            model.check(each)
        return words_alone._replace(char_range=sizes, table=model.table)
    if sizes is None or (earlier is not None and (is_auto or fit.is_partial)):
        return words_alone
    is_known = documents.spelling is not None
    all_known = is_known and (validation is None or knows_words(validation.documents))
    if not all_known and not is_auto:
        raise ValueError(
            f"linear_chars={params.linear_chars!r} reads the characters of words, and "
            f"{'X_val' if is_known else 'X'} holds word ids without their words. Give raw texts or "
            "what a HierarchicalTokenizer makes of them, or linear_chars='auto', which leaves the "
            "model out here."
        )
    if is_auto:
        may_pay = all_known and len(documents) >= _FEWEST_DOCUMENTS
        may_pay = may_pay and n_characters(documents) <= _MOST_CHARACTERS
        if not may_pay or fit.n_classes == 1 or params.linear_ngrams is None:
            return words_alone
    if fit.tokenizer is not None:
        words: Mapping[str, int] = fit.tokenizer.vocabulary_
    else:
        words = words_by_id(documents)
        if fit.unlabelled is not None:
            words = {**words_by_id(fit.unlabelled), **words}
    table = WordTable.of(words, fit.vocabulary_size)
    kinds = words_alone._replace(char_range=sizes, table=table)
    if is_auto:
        with fit.stages("trial of characters"):
            pays = characters_pay(fit.labelled, fit.target, kinds)
        if not pays:
            return words_alone
    return kinds


def _integers(sizes: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return sizes of n-grams, which may be NumPy integers in a search, as integers of Python."""
    return None if sizes is None else (int(sizes[0]), int(sizes[1]))
