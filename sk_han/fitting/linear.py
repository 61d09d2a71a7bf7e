"""Fit the linear models: of words, of characters, and the latent ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sk_han.fitting.cross_fitting import (
    LATENT_NAMES,
    NgramSource,
    characters_pay,
    fit_linear_parts,
    partial_fit_linear_parts,
    with_earlier_latent_models,
)
from sk_han.fitting.data import FitState
from sk_han.fitting.memory_estimate import check_memory_of_linear_model, memory_limit
from sk_han.fitting.scales import FittedParts, ScalePrior
from sk_han.fitting.sharing import shared
from sk_han.parts import Pool
from sk_han.parts.latent import fit_latent_space, sampled_text
from sk_han.parts.ngrams import WordTable, knows_words, n_characters, words_by_id
from sk_han.parts.pool import CHARACTERS, COLUMNS, LATENT, LATENT_CHARACTERS, NGRAMS
from sk_han.training.pretraining import halves

# With 3,000 tweets without labels a pre-trained network was no better, with 8,000 messages of
# newsgroups 2.6 points (docs/what_was_tried.md).
_ENOUGH_TO_PRETRAIN = 5_000

_CHARACTERS = (1, 5)  # of an n-gram; 2 to 5 is a point worse with few Korean comments
_MOST_CHARACTER_WORDS = 1 << 22  # of text whose characters show the latent model directions

_FEWEST_DOCUMENTS = 100  # with fewer it is not tried whether characters pay
_MOST_CHARACTERS = 3 << 25  # with more neither: 200,000 reviews took 18 GB with a model of these

# Columns tell of a class what the text does not know, so their logits are added as they are.
_OF_COLUMNS = ScalePrior(1.0, 0.3)

_TITLES = {
    NGRAMS: "n-gram",
    CHARACTERS: "character",
    LATENT: "latent",
    LATENT_CHARACTERS: "latent character",
}


def linear_sources(fit: FitState) -> list[NgramSource]:
    """Return what linear models read; nothing where `partial_fit` updates earlier ones.

    Characters are read if they are known and pay. Raise a MemoryError for a model that would not
    fit into memory.
    """
    earlier = _earlier_models(fit)
    sources = _sources(fit, earlier)
    for source in sources if memory_limit() is not None else ():
        model: Any = None if earlier is None else earlier.parts.get(source.name)
        documents, options = fit.labelled.documents, {}
        if source.table is not None:
            documents = source.table.read(documents)
            options = {"repair": "linear_chars=None leaves the model of characters out"}
        check_memory_of_linear_model(
            documents,
            fit.n_classes,
            source.ngram_range,
            earlier=model if fit.is_partial else None,
            is_partial=fit.is_partial,
            **options,
        )
    return sources


def fit_latent_spaces(fit: FitState, sources: Sequence[NgramSource]) -> list[NgramSource]:
    """Find the directions of the latent models in all text, if there is text without labels."""
    if fit.unlabelled is None or fit.n_classes == 1 or not sources:
        return [*sources]
    found = []
    with fit.stages("text without labels"):
        for source in sources:
            text, _ = fit.text
            if source.table is not None:
                text = source.table.read(sampled_text(text, _MOST_CHARACTER_WORDS, fit.rng))
            of_text = text, source.ngram_range, fit.rng, fit.target.n_problems
            space = shared(fit_latent_space)(*of_text)
            found.append(source._replace(space=space))
    return found


def fit_teacher(fit: FitState, sources: Sequence[NgramSource]) -> Pool | None:
    """Fit linear models of half documents, which label text for the pre-training of a network."""
    if fit.unlabelled is None or fit.n_classes == 1:
        return None
    if NGRAMS not in [source.name for source in sources]:
        return None
    if fit.warm_start_from is not None or fit.is_partial or fit.has_own_loss:
        return None
    if fit.sentences is not None and not fit.has_vectors_and_words:
        return None
    if np.count_nonzero(fit.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
        return None
    with fit.stages("teacher of pre-training"):
        teacher, _ = fit_linear_parts(fit.training_data, fit.target, sources, None, halves)
    return teacher if teacher.parts else None


def fit_linear_models(fit: FitState, sources: Sequence[NgramSource]) -> list[FittedParts]:
    """Fit the models, and score the held-out documents by models that do not know them."""
    earlier = _earlier_models(fit)
    if not sources and fit.column_encoder is None and (earlier is None or not fit.is_partial):
        return []
    scored, keeps_factor = dict[str, Any](), False
    has_latent = any(source.space is not None for source in sources)
    with fit.stages("linear models"):
        if fit.is_partial:
            pool = partial_fit_linear_parts(earlier, fit.labelled, fit.target, sources)
        else:
            of_fit = fit.labelled, fit.target, sources, fit.held_out
            pool, scored = fit_linear_parts(*of_fit, columns=fit.column_encoder)
            if earlier is not None and earlier.only(LATENT_NAMES).parts and not has_latent:
                # Without text for another latent model, that of the earlier fit stays.
                pool, scored = with_earlier_latent_models(pool, earlier), {}
                keeps_factor = True
    found = []
    for group, of in ((NGRAMS, pool.without({COLUMNS})), (COLUMNS, pool.only({COLUMNS}))):
        if not of.parts:
            continue
        logits = scored.get(group)
        if logits is None and fit.user_validation is not None:
            logits = of.logits(fit.user_validation.documents)  # which no model has learnt from
        if group == COLUMNS:
            found.append(FittedParts(of, COLUMNS, logits, _OF_COLUMNS, is_of_columns=True))
            continue
        *some, last = [_TITLES[name] for name in of.parts]
        title = f"{', '.join(some)} and {last} model" if some else f"{last} model"
        found.append(FittedParts(of, title, logits, keeps_factor=keeps_factor, is_new=has_latent))
    return found


def _earlier_models(fit: FitState) -> Pool | None:
    """Return the linear models to continue from, if any."""
    return None if fit.warm_start_from is None else fit.warm_start_from.pool.only(_TITLES)


def _sources(fit: FitState, earlier: Pool | None) -> list[NgramSource]:
    params, documents, validation = fit.params, fit.labelled.documents, fit.user_validation
    ngram_range, is_auto = _integers(params.linear_ngrams), isinstance(params.linear_chars, str)
    words = [] if ngram_range is None else [NgramSource(ngram_range)]
    sizes = _CHARACTERS if is_auto else _integers(params.linear_chars)
    if earlier is not None and CHARACTERS in earlier.parts:
        model: Any = earlier.parts[CHARACTERS]
        sizes = model.ngram_range if fit.is_partial else sizes
        if sizes is None:
            return words
        for each in (documents, *(() if validation is None else (validation.documents,))):
            model.check(each)
        return [*words, NgramSource(sizes, model.table)]
    if sizes is None or (earlier is not None and (is_auto or fit.is_partial)):
        return words
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
        if not may_pay or fit.n_classes == 1 or not words:
            return words
    if fit.tokenizer is not None:
        vocabulary: Mapping[str, int] = fit.tokenizer.vocabulary_
    else:
        vocabulary = words_by_id(documents)
        if fit.unlabelled is not None:
            vocabulary = {**words_by_id(fit.unlabelled), **vocabulary}
    characters = NgramSource(sizes, WordTable.of(vocabulary, fit.vocabulary_size))
    if is_auto:
        with fit.stages("trial of characters"):
            pays = characters_pay(fit.labelled, fit.target, [*words, characters])
        if not pays:
            return words
    return [*words, characters]


def _integers(sizes: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return sizes of n-grams, which may be NumPy integers in a search, as integers of Python."""
    return None if sizes is None else (int(sizes[0]), int(sizes[1]))
