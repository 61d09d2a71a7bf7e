"""Cross-fitting of the linear models: their relative scales, and the trial of characters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.fitting.scales import fit_scales
from sk_han.fitting.sharing import shared
from sk_han.parts import Part, Pool
from sk_han.parts.column_fitting import ColumnLearner, prior_logits
from sk_han.parts.columns import ColumnEncoder
from sk_han.parts.latent import LatentLearner, LatentSpace, partial_fit_latent_model
from sk_han.parts.ngram_fitting import MOST_DENSE, NgramLearner, partial_fit_ngram_model
from sk_han.parts.ngram_model import NgramModel
from sk_han.parts.ngrams import WordTable
from sk_han.parts.pool import CHARACTERS, COLUMNS, LATENT, LATENT_CHARACTERS, NGRAMS
from sk_han.targets import Target
from sk_han.utils.containers import Flags, Floats, Integers
from sk_han.utils.messages import warn_user

# Scales of several linear models if no document can be held out; a single one has 1. Typical of
# benchmarks/unlabelled.py and characters.py.
_USUAL_SCALES = {NGRAMS: 0.4, LATENT: 1.0, CHARACTERS: 0.7, LATENT_CHARACTERS: 0.7}

LATENT_NAMES = (LATENT, LATENT_CHARACTERS)

# Up to so many documents, models are cross-fitted: a held-out tenth would be too few to fit their
# scales to. Beyond, five more fits are not worth their time.
MOST_CROSS_FITTED = 10_000

# Documents of the trial, and the share of the explained loss that characters must add. They added
# 0.5 and more on Korean comments, 0.1 to 0.3 on messages of 28 labels, 0.05 to 0.2 on tweets and
# news, and up to 0.05 on 2,000 reviews, 0.09 on 1,000 (docs/what_was_tried.md).
_TRIED, _LEAST_GAIN = 2_000, 0.06
# The trial keeps at most this many labels, the fewest for which TF-IDF is used, so that it fits the
# kind of model that the fit will use. With naive Bayes, characters seem to add less.
_LABELS = MOST_DENSE + 1

Views = Callable[[DocumentArray], Sequence[DocumentArray]]


class NgramSource(NamedTuple):
    """What linear models read: n-grams of words or, with a table, of characters within them."""

    ngram_range: tuple[int, int]
    table: WordTable | None = None
    space: LatentSpace | None = None  # fitted to text without labels

    @property
    def name(self) -> str:
        """The name of the model in the pool."""
        return NGRAMS if self.table is None else CHARACTERS

    @property
    def latent_name(self) -> str:
        """The name of the latent model in the pool."""
        return LATENT if self.table is None else LATENT_CHARACTERS


def fit_linear_parts(
    data: LabelledDocuments,
    target: Target,
    sources: Sequence[NgramSource],
    held_out: Integers | None,
    views: Views | None = None,
    columns: ColumnEncoder | None = None,
) -> tuple[Pool, dict[str, Floats]]:
    """Fit the linear models to all documents, and their scales to out-of-fold logits.

    These come from models of four fifths of the documents that do not include the scored one
    (stacking, Wolpert, 1992). With more than 10,000 documents or 30 binary problems, only those of
    `held_out` are scored, or a fifth of all.

    Return the pool and, for the rows of `held_out`, scaled logits (H, K) by models that have not
    learnt from them, NaN where there are none: those of `COLUMNS`, and of the others together as
    those of `NGRAMS`. Scales are fitted for the `views` of documents.
    """
    fold = None
    if target.n_problems > MOST_DENSE or len(data) > MOST_CROSS_FITTED:
        folds = target.folds(data.targets, data.groups)
        fold = _fold_of_known(data, target, folds) if held_out is None else held_out
    models, rows, logits = _cross_fit(data, target, sources, fold, views, columns)
    shape = 0 if held_out is None else len(held_out), target.n_scores
    scored = {} if held_out is None else {g: np.full(shape, np.nan) for g in (NGRAMS, COLUMNS)}
    if not models:
        return Pool(target, {}, {}), scored

    scales = np.array([*_usual_scales(models).values()])
    if len(rows):
        known, weights = data.targets[rows], data.weights[rows]
        if [*models] == [COLUMNS]:  # the class frequencies are in no other model
            given = [np.tile(prior_logits(target, known, weights), (len(rows), 1)), *logits]
            scales = fit_scales(target, given, known, weights, np.ones(2))[1:]
        else:
            scales = fit_scales(target, logits, known, weights, scales)
        if held_out is not None:
            place = np.full(len(data), -1)
            place[held_out] = np.arange(len(held_out))
            chosen = place[rows] >= 0
            for group, found in scored.items():
                of = [i for i, name in enumerate(models) if (name == COLUMNS) == (group == COLUMNS)]
                if of:
                    pooled = np.tensordot(scales[of], np.stack([logits[i] for i in of]), 1)
                    found[place[rows[chosen]]] = pooled[chosen]
    return Pool(target, models, dict(zip(models, scales.tolist(), strict=True))), scored


@shared
def _cross_fit(
    data: LabelledDocuments,
    target: Target,
    sources: Sequence[NgramSource],
    fold: Integers | None,
    views: Views | None,
    columns: ColumnEncoder | None,
) -> tuple[dict[str, Part], Integers, list[Floats]]:
    """Fit the linear models to all documents, and score a fold, or all folds, by models of others.

    Return the models, rows and logits as `cross_fitted_logits` does. With a fold, its documents
    choose the strength of models of TF-IDF.
    """
    everything, folds = np.arange(len(data)), target.folds(data.targets, data.groups)
    learners: dict[str, Any] = {**_learners(data, target, sources)}
    if columns is not None:
        learners[COLUMNS] = ColumnLearner(columns, data, target)
    if fold is not None:
        folds = iter([fold])
        rest = np.setdiff1d(everything, fold, assume_unique=True)
        for learner in learners.values():
            if isinstance(learner, NgramLearner) and learner.is_tfidf:
                learner.choose_strength(rest, fold)

    def fit(rows: Integers) -> dict[str, Part]:
        found = {name: learner.fit(rows) for name, learner in learners.items()}
        return {name: model for name, model in found.items() if model is not None}

    models = fit(everything)
    if not models:
        return models, np.empty(0, dtype=np.int64), []
    return models, *cross_fitted_logits(data, target, fit, models, folds, views)


def _learners(
    data: LabelledDocuments, target: Target, sources: Sequence[NgramSource]
) -> dict[str, NgramLearner | LatentLearner]:
    """Return the learners of a fit, the latent ones last."""
    learners: dict[str, NgramLearner | LatentLearner] = {
        each.name: NgramLearner(data, target, each.ngram_range, each.table) for each in sources
    }
    for each in sources:
        if each.space is not None:
            learners[each.latent_name] = LatentLearner(each.space, data, target, each.table)
    return learners


def cross_fitted_logits(
    data: LabelledDocuments,
    target: Target,
    fit: Callable[[Integers], Mapping[str, Part]],
    names: Collection[str],
    folds: Iterator[Integers],
    views: Views | None = None,
) -> tuple[Integers, list[Floats]]:
    """Score the documents of each fold by models of all other documents.

    `fit` takes the rows to learn from; a fold for which it has not all models of these names is
    left out, and so are documents with a label that these models cannot know. Return the rows
    (n_rows,), each as often as it has views, and for each model logits (n_rows, K).
    """
    rows, parts = [np.empty(0, dtype=np.int64)], []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(data)), fold, assume_unique=True)
        fold = fold[_are_known(target, data.targets, fold)]
        if not len(fold):
            continue
        models = fit(rest)
        if models.keys() >= set(names):
            documents = data.documents[fold]
            for view in (documents,) if views is None else views(documents):
                rows.append(fold)
                parts.append([models[name].logits(view) for name in names])
    return np.concatenate(rows), [np.concatenate(part) for part in zip(*parts, strict=True)]


def _fold_of_known(data: LabelledDocuments, target: Target, folds: Iterator[Integers]) -> Integers:
    """Return the fold with the largest share of known labels; the first of equals."""
    filled = [fold for fold in folds if len(fold)]
    if not filled:
        return np.empty(0, dtype=np.int64)
    shares = [_are_known(target, data.targets, fold).mean() for fold in filled]
    return filled[int(np.argmax(shares))]


def _are_known(target: Target, t: NDArray[Any], fold: Integers) -> Flags:
    """Return whether each label of a document of the fold occurs outside the fold, (fold,).

    A label of a single group is in one fold alone, and its models have never seen it.
    """
    positive = target.problems(t[fold]) > 0  # (fold, B)
    others = target.problems(np.delete(t, fold, axis=0))
    side_is_known = np.where(positive, (others > 0).any(axis=0), (others <= 0).any(axis=0))
    known: Flags = np.all(side_is_known, axis=1)
    return known


def _usual_scales(names: Collection[str]) -> dict[str, float]:
    is_alone = len([name for name in names if name != COLUMNS]) == 1
    return {name: 1.0 if name == COLUMNS or is_alone else _USUAL_SCALES[name] for name in names}


def partial_fit_linear_parts(
    earlier: Pool | None, data: LabelledDocuments, target: Target, sources: Sequence[NgramSource]
) -> Pool:
    """Update the linear models by one more portion of documents, or fit them to the first portion.

    No model is added later: the scales were fitted without it.
    """
    if earlier is None:
        found: dict[str, NgramModel | None] = {
            each.name: partial_fit_ngram_model(None, data, target, each.ngram_range, each.table)
            for each in sources
        }
        for each in sources:
            if each.space is not None:
                learner = LatentLearner(each.space, data, target, each.table)
                found[each.latent_name] = learner.fit(np.arange(len(data)))
        models = {name: model for name, model in found.items() if model is not None}
        return Pool(target, models, _usual_scales(models))
    parts: dict[str, Any] = dict(earlier.parts)
    if any(part.is_tfidf for part in parts.values()):
        warn_user(
            f"The n-gram model of {target.n_scores} classes or labels stays as it is, since with "
            f"more than {MOST_DENSE} it cannot learn on: of this portion the network alone learns. "
            "Fit again to all documents where you can."
        )
    n_documents = None  # so far, by their weights
    for name in (NGRAMS, CHARACTERS):
        if name in parts and not parts[name].is_tfidf:
            model = parts[name]
            parts[name] = partial_fit_ngram_model(model, data, target, model.ngram_range)
            n_documents = float(parts[name].counts.n_documents[0])
    if n_documents is not None:
        for name in parts.keys() & set(LATENT_NAMES):
            parts[name] = partial_fit_latent_model(parts[name], data, n_documents)
    return Pool(target, parts, earlier.scales)


def with_earlier_latent_models(new: Pool, earlier: Pool) -> Pool:
    """Add the earlier latent models to new models of n-grams; the same kinds keep their scales."""
    latent = earlier.only(LATENT_NAMES)
    if new.parts.keys() == earlier.parts.keys() - latent.parts.keys():
        new = Pool(new.target, new.parts, {name: earlier.scales[name] for name in new.parts})
    return new.combined_with(latent)


@shared
def characters_pay(data: LabelledDocuments, target: Target, sources: Sequence[NgramSource]) -> bool:
    """Try on up to 2,000 documents whether characters add much to words in predicting others.

    Sources are that of words and that of characters.

    With many labels only the most frequent ones are tried. Folds are scored, five at most, until
    the gain is a standard error away from the least one.
    """
    target, of_frequent, targets = target.restrict_to_top(data.targets, _LABELS)
    drawn = np.sort(np.random.RandomState(0).permutation(len(of_frequent))[:_TRIED])
    some = replace(data[of_frequent[drawn]], targets=targets[drawn])
    learners = _learners(some, target, sources)
    scored, logits, gained = np.empty(0, dtype=np.int64), [], 0.0
    for fold in target.folds(some.targets, some.groups):
        if not len(fold):  # each class has a single document, so none is held out
            break
        rest = np.setdiff1d(np.arange(len(some)), fold)
        of_fold = np.zeros((2, len(fold), target.n_scores))  # of words, and of characters
        for found, learner in zip(of_fold, learners.values(), strict=True):
            model = learner.fit(rest)
            if model is not None:
                found[:] = model.logits(some.documents[fold])
        logits.append(of_fold)
        scored = np.append(scored, fold)
        gained, error = _gained(some[scored], np.concatenate(logits, axis=1), target)
        if abs(gained - _LEAST_GAIN) >= error:
            break
    return gained > _LEAST_GAIN


def _gained(data: LabelledDocuments, known: Floats, target: Target) -> tuple[float, float]:
    """Return the share of the explained loss that the other models add to the first.

    Models explain the difference between their loss and that of the class prior. `known` are their
    logits (P, D, K). Also return the standard error of the share, as if it were `_LEAST_GAIN`.
    """
    weights = data.weights / data.weights.sum()

    def losses(logits: Floats) -> Floats:
        scales = fit_scales(target, logits, data.targets, data.weights, np.ones(len(logits)))
        return target.loss(np.tensordot(scales, logits, 1), data.targets, weights)[0]

    nothing = target.prior_loss(data.targets, data.weights) * weights
    first, whole = losses(known[:1]), losses(known)
    if first.sum() > nothing.sum():
        first = nothing
    explained = float((nothing - whole).sum())
    if explained <= 0:
        return 0.0, np.inf
    added = first - whole  # (D,)
    beyond = added - _LEAST_GAIN * (nothing - whole)  # 0 in sum, if the share is _LEAST_GAIN
    error = float(np.sqrt(len(beyond)) * beyond.std())
    return float(added.sum()) / explained, error / explained
