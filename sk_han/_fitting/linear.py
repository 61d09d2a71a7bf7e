"""Fit the linear models: of words, of characters, latent ones, of sentence vectors, of columns.

Their scales relative to each other are fitted to out-of-fold logits: each document is scored by
models that were fitted to the other folds (stacking, Wolpert, 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, LabelledDocuments
from sk_han._fitting.data import FitState
from sk_han._fitting.scales import FittedNgrams, FittedParts, HeldOutLogits, ScalePrior, fit_scales
from sk_han._fitting.sources import TextSource
from sk_han._fitting.vectors import VectorLearner, VectorSource
from sk_han._parts import Part, Pool
from sk_han._parts.column_fitting import ColumnSource, prior_logits
from sk_han._parts.latent import fit_latent_space, partial_fit_latent_model, sampled_text
from sk_han._parts.ngram_fitting import MOST_DENSE, NgramLearner, partial_fit_ngram_model
from sk_han._parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NGRAMS, VECTORS
from sk_han._targets import Target
from sk_han._targets.splits import folds_of
from sk_han._training.pretraining import halves
from sk_han._utils.containers import Flags, Floats, Integers
from sk_han._utils.messages import warn_user

# Pre-training on 3,000 unlabelled tweets did not improve the network; on 8,000 messages of
# newsgroups it added 2.6 points (docs/what_was_tried.md).
_ENOUGH_TO_PRETRAIN = 5_000

# The directions of the latent model of characters are learnt from a sample of so many words, since
# a text has many more characters than words.
_MOST_CHARACTER_WORDS = 1 << 22

# Up to so many documents, models are cross-fitted, since a held-out tenth would be too few to fit
# their scales to. With more documents, five further fits are not worth their time.
MOST_CROSS_FITTED = 10_000

# Priors of the factor of the linear models of text: next to a network, next to a pre-trained
# network, and if a model of sentence vectors is among them. They were estimated together with the
# priors in `network`.
NEXT_TO_WORDS = ScalePrior(0.8, 0.15)
NEXT_TO_PRETRAINED = ScalePrior(0.5, 0.15)
WITH_VECTORS = ScalePrior(0.9, 0.15)
# Columns carry information that the text lacks, so their logits are hardly rescaled.
_COLUMNS = ScalePrior(1.0, 0.3)

# The names of linear models in summaries, and their default scales relative to each other, which
# are used if no document can be held out; a single model has the scale 1. The values are typical
# results of benchmarks/unlabelled.py and characters.py.
_TITLES = {
    NGRAMS: "n-gram",
    CHARACTERS: "character",
    LATENT: "latent",
    LATENT_CHARACTERS: "latent character",
    VECTORS: "sentence vector",
}
_USUAL_SCALES = {NGRAMS: 0.4, CHARACTERS: 0.7, LATENT: 1.0, LATENT_CHARACTERS: 0.7, VECTORS: 1.0}
_LATENT_NAMES = (LATENT, LATENT_CHARACTERS)

_Views = Callable[[DocumentArray], Sequence[DocumentArray]]


@dataclass(frozen=True)
class LinearModels:
    """Linear models with scales relative to each other, and their out-of-fold logits."""

    pool: Pool
    # Rows of the documents with out-of-fold logits, (n,), and their logits by each model, (n, K).
    rows: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    logits: Mapping[str, Floats] = field(default_factory=dict)

    def held_out_logits(self, names: Collection[str], fit: FitState) -> HeldOutLogits:
        """Return scaled logits of the validation documents, by models that have not seen them."""
        pool = self.pool.only(names)
        # No model has learnt from X_val, so the models themselves may score it.
        if fit.user_validation is not None:
            return HeldOutLogits.from_pool(pool, fit.user_validation)
        if fit.held_out is None or not len(self.rows):
            return HeldOutLogits.from_pool(pool, None)
        _, scored, places = np.intersect1d(self.rows, fit.held_out, return_indices=True)
        order = np.argsort(places)
        scales = np.array([*pool.scales.values()])
        logits = np.tensordot(scales, np.stack([self.logits[name] for name in pool.parts]), 1)
        return HeldOutLogits(places[order], logits[scored[order]])


def fit_latent_spaces(fit: FitState, sources: Sequence[TextSource]) -> list[TextSource]:
    """Learn the directions of the latent models from all text, if there is text without labels."""
    if fit.unlabelled is None or fit.n_classes == 1 or not sources:
        return [*sources]
    latent = []
    with fit.stages("text without labels"):
        for source in sources:
            text, _ = fit.text
            if source.table is not None:
                text = source.table.spell(sampled_text(text, _MOST_CHARACTER_WORDS, fit.rng))
            n_problems = fit.target.n_problems
            space = fit_latent_space(text, source.ngram_range, fit.rng, n_problems)
            if space is not None:
                latent.append(source._replace(space=space))
    return [*sources, *latent]


def fit_teacher(fit: FitState, sources: Sequence[TextSource]) -> Pool | None:
    """Fit the linear models that label text for pre-training; their scales suit half documents."""
    if fit.unlabelled is None or fit.n_classes == 1:
        return None
    if NGRAMS not in [source.name for source in sources]:
        return None
    if fit.warm_start_from is not None or fit.is_partial or fit.has_own_loss:
        return None
    if np.count_nonzero(fit.unlabelled.words_per_document > 1) < _ENOUGH_TO_PRETRAIN:
        return None
    with fit.stages("teacher of pre-training"):
        teacher = cross_fit(fit.training_data, fit.target, sources, views=halves).pool
    return teacher if teacher.parts else None


def fit_linear_models(
    fit: FitState, sources: Sequence[TextSource], teacher: Pool | None
) -> list[FittedParts]:
    """Fit the linear models, and score held-out documents by models that have not seen them."""
    earlier, columns = Pool(fit.target, {}, {}), fit.column_encoder
    if fit.warm_start_from is not None:
        earlier = fit.warm_start_from.pool.only(_TITLES)
    others: list[VectorSource | ColumnSource] = []
    if fit.sentences is not None:
        others.append(VectorSource())
    if columns is not None:
        others.append(ColumnSource(columns))
    if not sources and not others and not (fit.is_partial and earlier.parts):
        return []
    prior = NEXT_TO_WORDS if fit.sentences is None else WITH_VECTORS
    if teacher is not None:
        prior = NEXT_TO_PRETRAINED
    has_new_directions = any(source.space is not None for source in sources)
    with fit.stages("linear models"):
        if fit.is_partial:
            models = LinearModels(_fit_portion(fit, sources, earlier))
        else:
            models = cross_fit(fit.labelled, fit.target, [*sources, *others], fit.held_out)
            if earlier.only(_LATENT_NAMES).parts and not has_new_directions:
                # Without unlabelled text, a warm start keeps the earlier latent models. Their
                # scales include the factor of the earlier fit, so the prior of a new one is at 1.
                models = LinearModels(with_earlier_latent_models(models.pool, earlier))
                prior = prior._replace(median=1.0)
    fitted: list[FittedParts] = []
    ngrams, rest = models.pool.only(_TITLES), models.pool.without(_TITLES)
    if ngrams.parts:
        *titles, last = [_TITLES[name] for name in ngrams.parts]
        title = f"{', '.join(titles)} and {last} model" if titles else f"{last} model"
        scored = models.held_out_logits(ngrams.parts, fit)
        fitted.append(FittedNgrams(ngrams, title, scored, prior, has_new_directions))
    # The only other model is that of columns, if there is one.
    for name in rest.parts:
        scored = models.held_out_logits([name], fit)
        fitted.append(FittedParts(rest, name, scored, _COLUMNS))
    return fitted


def cross_fit(
    data: LabelledDocuments,
    target: Target,
    sources: Sequence[TextSource | VectorSource | ColumnSource],
    held_out: Integers | None = None,
    views: _Views | None = None,
) -> LinearModels:
    """Fit a model of each source to all documents, and their scales to out-of-fold logits.

    All documents are scored, in five folds. With more than 10,000 documents or 30 binary problems,
    only those of `held_out` or, without it, one fold is scored. Scales are fitted to the `views` of
    the documents, such as their halves, by default to the documents themselves.
    """
    fold = None
    if target.n_problems > MOST_DENSE or len(data) > MOST_CROSS_FITTED:
        folds = folds_of(target.strata(data.targets), data.groups)
        fold = _fold_of_known(data, target, folds) if held_out is None else held_out
    models, rows, logits = _cross_fit(data, target, sources, fold, views)
    scales = _usual_scales(models)
    if len(rows):
        z, targets, weights = [*logits.values()], data.targets[rows], data.weights[rows]
        if models.keys() & _USUAL_SCALES:
            scales = fit_scales(target, z, targets, weights, scales)
        else:
            # The logits of columns are added to those of other parts, for which the class
            # frequencies stand in here.
            z.insert(0, np.tile(prior_logits(target, targets, weights), (len(rows), 1)))
            scales = fit_scales(target, z, targets, weights, np.append(1.0, scales))[1:]
    pool = Pool(target, models, dict(zip(models, scales.tolist(), strict=True)))
    return LinearModels(pool, rows, logits)


def _cross_fit(
    data: LabelledDocuments,
    target: Target,
    sources: Sequence[TextSource | VectorSource | ColumnSource],
    fold: Integers | None,
    views: _Views | None,
) -> tuple[dict[str, Part], Integers, dict[str, Floats]]:
    """Fit models to all documents, and score one fold, or all folds, by models of the others.

    Return the models, the scored rows (n,), repeated for each view, and the logits (n, K) by each
    model. A fold is left out if a model cannot learn from the other folds, and a document if the
    other folds lack its label. The single `fold`, if given, also chooses the penalty of TF-IDF
    models.
    """
    everything = np.arange(len(data))
    folds = [*folds_of(target.strata(data.targets), data.groups)] if fold is None else [fold]
    learners: dict[str, Any] = {source.name: source.learner(data, target) for source in sources}
    if fold is not None:
        rest = np.setdiff1d(everything, fold, assume_unique=True)
        for learner in learners.values():
            if isinstance(learner, NgramLearner) and learner.is_tfidf:
                learner.choose_strength(rest, fold)
    for learner in learners.values():
        if isinstance(learner, VectorLearner):
            learner.choose_strength(folds)

    def fit(rows: Integers) -> dict[str, Part]:
        models = {name: learner.fit(rows) for name, learner in learners.items()}
        return {name: model for name, model in models.items() if model is not None}

    models, rows = fit(everything), [np.empty(0, dtype=np.int64)]
    logits = {name: [np.empty((0, target.n_scores))] for name in models}
    for fold in folds if models else ():
        rest = np.setdiff1d(everything, fold, assume_unique=True)
        fold = fold[_are_known(target, data.targets, fold)]
        others = fit(rest) if len(fold) and data.weights[rest].any() else {}
        if others.keys() >= models.keys():
            documents = data.documents[fold]
            for view in (documents,) if views is None else views(documents):
                rows.append(fold)
                for name in models:
                    logits[name].append(others[name].logits(view))
    return models, np.concatenate(rows), {name: np.concatenate(z) for name, z in logits.items()}


def _usual_scales(names: Collection[str]) -> Floats:
    several = len(_USUAL_SCALES.keys() & set(names)) > 1
    return np.array([_USUAL_SCALES.get(name, 1.0) if several else 1.0 for name in names])


def _fold_of_known(data: LabelledDocuments, target: Target, folds: Iterator[Integers]) -> Integers:
    """Return the first fold with the largest share of labels that also occur in other folds."""
    filled = [fold for fold in folds if len(fold)]
    if not filled:
        return np.empty(0, dtype=np.int64)
    shares = [_are_known(target, data.targets, fold).mean() for fold in filled]
    return filled[int(np.argmax(shares))]


def _are_known(target: Target, t: NDArray[Any], fold: Integers) -> Flags:
    """Return whether the labels of each document of a fold occur outside the fold, (fold,).

    A group is never split, so a label of a single group occurs in one fold only, and the models
    that score this fold have never seen it.
    """
    positive = target.problems(t[fold]) > 0  # (fold, B)
    others = target.problems(np.delete(t, fold, axis=0))
    side_is_known = np.where(positive, (others > 0).any(axis=0), (others <= 0).any(axis=0))
    are_known: Flags = np.all(side_is_known, axis=1)
    return are_known


def _fit_portion(fit: FitState, sources: Sequence[TextSource], earlier: Pool) -> Pool:
    """Fit the models to the first portion of `partial_fit`, or update them with a later one.

    Later portions add no model, since the scales were set without it.
    """
    data, target = fit.labelled, fit.target
    parts: dict[str, Any] = dict(earlier.parts)
    if fit.warm_start_from is None:
        for source in sources:
            if source.space is None:
                reads = source.ngram_range, source.table
                model = partial_fit_ngram_model(None, data, target, *reads)
            else:
                model = source.learner(data, target).fit(np.arange(len(data)))
            if model is not None:
                parts[source.name] = model
        return Pool(target, parts, dict(zip(parts, _usual_scales(parts).tolist(), strict=True)))
    if any(part.is_tfidf for part in parts.values()):
        warn_user(
            f"The n-gram model of {target.n_scores} classes or labels stays as it is, since only "
            f"up to {MOST_DENSE} can be updated. Fit again to all documents where you can."
        )
    # The total weight of the documents of all portions, by which latent models are updated.
    n_documents = None
    for name in (NGRAMS, CHARACTERS):
        if name in parts and not parts[name].is_tfidf:
            model = parts[name]
            parts[name] = partial_fit_ngram_model(model, data, target, model.ngram_range)
            n_documents = float(parts[name].counts.n_documents[0])
    if n_documents is not None:
        for name in parts.keys() & set(_LATENT_NAMES):
            parts[name] = partial_fit_latent_model(parts[name], data, n_documents)
    return Pool(target, parts, earlier.scales)


def with_earlier_latent_models(new: Pool, earlier: Pool) -> Pool:
    """Add earlier latent models to new n-gram models, which keep earlier scales if none is new."""
    latent = earlier.only(_LATENT_NAMES)
    if new.parts.keys() == earlier.parts.keys() - latent.parts.keys():
        new = Pool(new.target, new.parts, {name: earlier.scales[name] for name in new.parts})
    return new.combined_with(latent)
