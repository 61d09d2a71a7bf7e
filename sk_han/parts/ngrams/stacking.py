"""The linear models of a fit, and what each of them counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.parts.calibration import fit_scales
from sk_han.parts.ngrams.character_model import CharacterModel, WordTable
from sk_han.parts.ngrams.latent import LatentLearner, LatentSpace, partial_fit_latent_model
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_fitting import (
    MIN_DOCUMENTS,
    SMOOTHING,
    SMOOTHING_OF_CHARACTERS,
    fit_to_presences,
    partial_fit_ngram_model,
)
from sk_han.parts.ngrams.ngram_part import NgramPart
from sk_han.parts.ngrams.presence import frequent_ngrams
from sk_han.parts.ngrams.sparse_fitting import SparseLearner
from sk_han.parts.ngrams.sparse_model import MOST_DENSE, SparseNgramModel
from sk_han.parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NGRAMS, Part, Pool
from sk_han.targets import Target
from sk_han.utils.containers import Flags, Floats, Integers
from sk_han.utils.messages import warn_user

# Scales of linear models beside each other, if no document can be scored by models that have not
# learnt from it; one alone has 1. Typical of benchmarks/unlabelled.py and characters.py.
_USUAL_SCALES = {NGRAMS: 0.4, LATENT: 1.0, CHARACTERS: 0.7, LATENT_CHARACTERS: 0.7}

LATENT_NAMES = (LATENT, LATENT_CHARACTERS)

# Up to so many documents, models are cross-fitted: a tenth held out would be too few to tell what
# each model is worth. Beyond, five more fits would take longer than they are worth.
MOST_CROSS_FITTED = 10_000

Views = Callable[[DocumentArray], Sequence[DocumentArray]]


class Source(NamedTuple):
    """What a model of n-grams reads, and how."""

    data: LabelledDocuments
    ngram_range: tuple[int, int]
    of_words: bool = True  # else of characters

    @property
    def smoothing(self) -> float:
        """As of `fit_to_presences`."""
        return SMOOTHING if self.of_words else SMOOTHING_OF_CHARACTERS

    def learnt_on(self, model: NgramModel | None, target: Target) -> Any:
        """Update the model by a portion."""
        return partial_fit_ngram_model(model, self.data, target, self.ngram_range, self.smoothing)


class LinearKinds(NamedTuple):
    """Which linear models there are, and what they read."""

    ngram_range: tuple[int, int] | None  # of words
    space: LatentSpace | None = None
    char_range: tuple[int, int] | None = None
    table: WordTable | None = None  # with `char_range`
    char_space: LatentSpace | None = None

    @property
    def has_latent(self) -> bool:
        """Whether text without labels has shown directions."""
        return self.space is not None or self.char_space is not None

    def sources(self, data: LabelledDocuments) -> dict[str, Source]:
        """Return what each model of n-grams reads of the documents."""
        found = {}
        if self.ngram_range is not None:
            found[NGRAMS] = Source(data, self.ngram_range)
        if self.char_range is not None and self.table is not None:
            read = self.table.read_labelled(data)
            found[CHARACTERS] = Source(read, self.char_range, of_words=False)
        return found

    def latent(self, sources: Mapping[str, Source], target: Target) -> dict[str, LatentLearner]:
        """Return what learns on directions of text without labels, in what the sources read."""
        spaces = {LATENT: (self.space, NGRAMS), LATENT_CHARACTERS: (self.char_space, CHARACTERS)}
        return {
            name: LatentLearner(space, sources[source].data, target)
            for name, (space, source) in spaces.items()
            if space is not None
        }

    def models(self, found: Mapping[str, NgramPart | None]) -> dict[str, Any]:
        """Return those that have learnt something, as parts of words."""
        models: dict[str, Any] = {name: each for name, each in found.items() if each is not None}
        for name in models.keys() & {CHARACTERS, LATENT_CHARACTERS}:
            assert self.table is not None
            models[name] = CharacterModel(models[name], self.table)
        return models


def as_they_are(documents: DocumentArray) -> Sequence[DocumentArray]:
    """Return the documents as their only view."""
    return (documents,)


def with_earlier_latent_models(new: Pool, before: Pool) -> Pool:
    """Return new models of n-grams, if there are any, beside earlier latent models."""
    earlier = before.only(LATENT_NAMES)
    # Of the same kinds of models scales stay.
    if new.parts.keys() == before.parts.keys() - earlier.parts.keys():
        new = Pool(new.target, new.parts, {name: before.scales[name] for name in new.parts})
    return new.beside(earlier)


def fit_linear_parts(
    data: LabelledDocuments,
    target: Target,
    kinds: LinearKinds,
    held_out: Integers | None,
    views: Views = as_they_are,
) -> tuple[Pool, Floats | None]:
    """Fit the linear models to all documents, and their scales to scores of the same documents.

    Each of these scores comes from models of four fifths of the documents that do not include the
    scored one (stacking, Wolpert, 1992). With more than 10,000 documents only those of `held_out`
    are scored, or a fifth; so they are where an n-gram model has more than 30 problems: see
    `NgramLearner`.

    Return the pool and, for the rows of `held_out`, scaled logits (H, K) by models that have not
    learnt from them; NaN where there are none. Scales are fitted for the `views`.
    """
    everything, folds = np.arange(len(data)), target.folds(data.targets, data.groups)
    sources = kinds.sources(data)
    split = None
    if target.n_problems > MOST_DENSE or len(data) > MOST_CROSS_FITTED:
        fold = _fold_of_known(data, target, folds) if held_out is None else held_out
        folds = iter([fold])
        split = np.setdiff1d(everything, fold, assume_unique=True), fold
    learners: dict[str, Any] = {
        name: NgramLearner(each, target, split) for name, each in sources.items()
    }
    latent = kinds.latent(sources, target)

    def fit(rows: Integers) -> dict[str, Part]:
        return kinds.models({name: each.fit(rows) for name, each in (learners | latent).items()})

    models = fit(everything)
    scored = None if held_out is None else np.full((len(held_out), target.n_scores), np.nan)
    if not models:
        return Pool(target, {}, {}), scored

    rows, logits = cross_fitted_logits(data, target, fit, models, folds, views)
    scales = np.array([*_usual_scales(models).values()])
    if len(rows):
        scales = fit_scales(target, logits, data.targets[rows], data.weights[rows], scales)
        if held_out is not None and scored is not None:
            place = np.full(len(data), -1)
            place[held_out] = np.arange(len(held_out))
            asked = place[rows] >= 0
            scored[place[rows[asked]]] = np.tensordot(scales, np.stack(logits), 1)[asked]
    return Pool(target, models, dict(zip(models, scales.tolist(), strict=True))), scored


def _fold_of_known(data: LabelledDocuments, target: Target, folds: Iterator[Integers]) -> Integers:
    """Return the fold of which the other documents know the largest share; the first of equals."""
    filled = [fold for fold in folds if len(fold)]
    if not filled:
        return np.empty(0, dtype=np.int64)
    shares = [_are_known(target, data.targets, fold).mean() for fold in filled]
    return filled[int(np.argmax(shares))]


def _are_known(target: Target, t: NDArray[Any], fold: Integers) -> Flags:
    """Return whether the other documents show each side on which one of the fold is, (fold,).

    A label that is a single group is in one fold alone, whose models have never seen it.
    """
    positive = target.problems(t[fold]) > 0  # (fold, B)
    others = target.problems(np.delete(t, fold, axis=0))
    side_is_known = np.where(positive, (others > 0).any(axis=0), (others <= 0).any(axis=0))
    known: Flags = np.all(side_is_known, axis=1)
    return known


def cross_fitted_logits(
    data: LabelledDocuments,
    target: Target,
    fit: Callable[[Integers], Mapping[str, Part]],
    names: Collection[str],
    folds: Iterator[Integers],
    views: Views = as_they_are,
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
            for view in views(data.documents[fold]):
                rows.append(fold)
                parts.append([models[name].logits(view) for name in names])
    return np.concatenate(rows), [np.concatenate(part) for part in zip(*parts, strict=True)]


def partial_fit_linear_parts(
    before: Pool | None, data: LabelledDocuments, target: Target, kinds: LinearKinds
) -> Pool:
    """Update the linear models by one more portion of documents, or begin them with the first.

    None begins later: beside a trained network it would change what scales were fitted to.
    """
    if before is None:
        sources = kinds.sources(data)
        found = {name: source.learnt_on(None, target) for name, source in sources.items()}
        for name, learner in kinds.latent(sources, target).items():
            found[name] = learner.fit(np.arange(len(data)))
        models = kinds.models(found)
        return Pool(target, models, _usual_scales(models))
    parts: dict[str, Any] = dict(before.parts)
    if any(isinstance(getattr(each, "ngrams", each), SparseNgramModel) for each in parts.values()):
        warn_user(
            f"The n-gram model of {target.n_scores} classes or labels stays as it is, since with "
            f"more than {MOST_DENSE} it cannot learn on: of this portion the network alone learns. "
            "Fit again to all documents where you can."
        )
    if isinstance(parts.get(NGRAMS), NgramModel):
        parts[NGRAMS] = Source(data, parts[NGRAMS].ngram_range).learnt_on(parts[NGRAMS], target)
    if CHARACTERS in parts and isinstance(parts[CHARACTERS].ngrams, NgramModel):
        model, table = parts[CHARACTERS].ngrams, parts[CHARACTERS].table
        source = Source(table.read_labelled(data), model.ngram_range, of_words=False)
        parts[CHARACTERS] = CharacterModel(source.learnt_on(model, target), table)
    of_ngrams = parts.get(NGRAMS), getattr(parts.get(CHARACTERS), "ngrams", None)
    counts = [model.counts for model in of_ngrams if isinstance(model, NgramModel) and model.counts]
    if counts:
        n_documents = float(counts[0].n_documents[0])
        for name in parts.keys() & set(LATENT_NAMES):
            parts[name] = _latent_learnt_on(parts[name], data, n_documents)
    return Pool(target, parts, before.scales)


def _latent_learnt_on(model: Any, data: LabelledDocuments, n_documents: float) -> Any:
    """Update a latent model of words or characters by a portion."""
    if isinstance(model, CharacterModel):
        read = model.table.read_labelled(data)
        return CharacterModel(_latent_learnt_on(model.ngrams, read, n_documents), model.table)
    return partial_fit_latent_model(model, data, n_documents)


class NgramLearner:
    """Fits n-gram models to all documents, and to some of them, whose n-grams are counted once.

    More than 30 problems are learnt by `SparseLearner`.
    """

    def __init__(
        self,
        source: Source,
        target: Target,
        split: tuple[Integers, Integers] | None,
    ) -> None:
        self.source, self.target = source, target
        data, ngram_range, of_words = source
        self.sparse = self.frequent = None
        if target.n_problems > MOST_DENSE:
            self.sparse = SparseLearner(data, target, ngram_range, of_words=of_words)
            if split is not None and len(split[0]):
                self.sparse.choose_strength(*split)
        else:
            self.frequent = frequent_ngrams(data.documents, ngram_range, MIN_DOCUMENTS)

    def fit(self, rows: Integers) -> NgramPart | None:
        """Fit a model to the documents of these rows; None if nothing can be learnt."""
        data, ngram_range, _ = self.source
        if self.sparse is not None:
            return self.sparse.fit(rows)
        assert self.frequent is not None
        buckets, present = self.frequent
        if len(rows) < len(data):
            present = present[rows]
            kept = present.getnnz(axis=0) >= MIN_DOCUMENTS
            buckets, present = buckets[kept], present[:, kept]
        smoothing = self.source.smoothing
        return fit_to_presences(buckets, present, data[rows], self.target, ngram_range, smoothing)


def _usual_scales(names: Collection[str]) -> dict[str, float]:
    return {name: _USUAL_SCALES[name] if len(names) > 1 else 1.0 for name in names}
