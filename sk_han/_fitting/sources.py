"""What linear models read: n-grams of words, characters that pay, and latent directions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sk_han._documents import DocumentArray, LabelledDocuments
from sk_han._fitting.data import FitState
from sk_han._fitting.scales import fit_scales
from sk_han._parts.latent import LatentLearner, LatentSpace
from sk_han._parts.ngram_fitting import MOST_DENSE, NgramLearner
from sk_han._parts.ngrams import BITS, WordTable, knows_words, n_characters, words_by_id
from sk_han._parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NGRAMS
from sk_han._targets import Target
from sk_han._targets.splits import folds_of
from sk_han._utils.containers import Floats

_CHARACTERS = (1, 5)  # of an n-gram; 2 to 5 is a point worse with few Korean comments

_FEWEST_DOCUMENTS = 100  # with fewer it is not tried whether characters pay
_MOST_CHARACTERS = 3 << 25  # with more neither: 200,000 reviews took 18 GB with a model of these

# Documents of the trial, and the share of the explained loss that characters must add. They added
# 0.5 and more on Korean comments, 0.1 to 0.3 on messages of 28 labels, 0.05 to 0.2 on tweets and
# news, and up to 0.05 on 2,000 reviews, 0.09 on 1,000 (docs/what_was_tried.md).
_TRIED, _LEAST_GAIN = 2_000, 0.06
# The trial keeps at most this many labels, the fewest for which TF-IDF is used, so that it fits the
# kind of model that the fit will use. With naive Bayes, characters seem to add less.
_LABELS = MOST_DENSE + 1

# Memory limits of a container: control groups, versions 2 and 1, as seen from inside.
_LIMITS_OF_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class TextSource(NamedTuple):
    """N-grams of words or, with a table, of characters within them, or latent directions of these.

    A source is read by one linear model.
    """

    ngram_range: tuple[int, int]
    table: WordTable | None = None
    space: LatentSpace | None = None  # the directions, from text without labels

    @property
    def name(self) -> str:
        """The name of the model in the pool."""
        if self.space is None:
            return NGRAMS if self.table is None else CHARACTERS
        return LATENT if self.table is None else LATENT_CHARACTERS

    def learner(self, data: LabelledDocuments, target: Target) -> NgramLearner | LatentLearner:
        """Return what fits the model to all documents, and to some of them."""
        if self.space is None:
            return NgramLearner(data, target, self.ngram_range, self.table)
        return LatentLearner(self.space, data, target, self.table)


def ngram_sources(fit: FitState) -> list[TextSource]:
    """Return the n-grams to read: of words, and of characters if they are known and pay.

    Raise a MemoryError for a model that would not fit into memory.
    """
    earlier: Mapping[str, Any] = {}
    if fit.warm_start_from is not None:
        earlier = fit.warm_start_from.pool.parts
    sources = _sources(fit, earlier)
    for source in sources:
        n_known = None
        if fit.is_partial:
            n_known = len(earlier[source.name].buckets) if source.name in earlier else 0
        check_memory(source, fit.labelled.documents, fit.n_classes, n_known=n_known)
    return sources


def _sources(fit: FitState, earlier: Mapping[str, Any]) -> list[TextSource]:
    params, documents, validation = fit.params, fit.labelled.documents, fit.user_validation
    ngram_range, is_auto = _integers(params.linear_ngrams), isinstance(params.linear_chars, str)
    words = [] if ngram_range is None else [TextSource(ngram_range)]
    sizes = _CHARACTERS if is_auto else _integers(params.linear_chars)
    if CHARACTERS in earlier:
        model = earlier[CHARACTERS]
        sizes = model.ngram_range if fit.is_partial else sizes
        if sizes is None:
            return words
        model.check(documents)
        if validation is not None:
            model.check(validation.documents)
        return [*words, TextSource(sizes, model.table)]
    continues = fit.warm_start_from is not None
    if sizes is None or (continues and (is_auto or fit.is_partial)):
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
    characters = TextSource(sizes, WordTable.from_vocabulary(vocabulary, fit.vocabulary_size))
    if is_auto:
        with fit.stages("trial of characters"):
            pays = characters_pay(fit.labelled, fit.target, words[0], characters)
        if not pays:
            return words
    return [*words, characters]


def _integers(sizes: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return sizes of n-grams, which may be NumPy integers in a search, as integers of Python."""
    return None if sizes is None else (int(sizes[0]), int(sizes[1]))


def characters_pay(
    data: LabelledDocuments, target: Target, words: TextSource, characters: TextSource
) -> bool:
    """Try on up to 2,000 documents whether characters add much to words in predicting others.

    With many labels only the most frequent ones are tried. Folds are scored, five at most, until
    the gain is a standard error away from the least one.
    """
    target, frequent, targets = target.restrict_to_top(data.targets, _LABELS)
    drawn = np.sort(np.random.RandomState(0).permutation(len(frequent))[:_TRIED])
    sample = replace(data[frequent[drawn]], targets=targets[drawn])
    learners = [source.learner(sample, target) for source in (words, characters)]
    scored, logits, gain = np.empty(0, dtype=np.int64), [], 0.0
    for fold in folds_of(target.strata(sample.targets), sample.groups):
        if not len(fold):  # each class has a single document, so none is held out
            break
        rest = np.setdiff1d(np.arange(len(sample)), fold)
        models = [learner.fit(rest) for learner in learners]
        nothing, documents = np.zeros((len(fold), target.n_scores)), sample.documents[fold]
        logits.append([nothing if model is None else model.logits(documents) for model in models])
        scored = np.append(scored, fold)
        gain, error = _gained(sample[scored], np.concatenate(logits, axis=1), target)
        if abs(gain - _LEAST_GAIN) >= error:
            break
    return gain > _LEAST_GAIN


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


def check_memory(
    source: TextSource, documents: DocumentArray, n_classes: int, *, n_known: int | None = None
) -> None:
    """Raise a MemoryError unless there is memory for a model of many classes, or of a portion.

    TF-IDF has features of all documents, of those that a problem learns from, and scikit-learn's
    copy, and for each class and document indicators, weights and logits. A portion, next to
    `n_known` n-grams of the model so far, has numbers of each class and n-gram; that is an upper
    bound, as if all its n-grams were distinct. Measured with 100 to 600 classes.
    """
    if n_classes <= MOST_DENSE and n_known is None:
        return
    repair = "linear_ngrams=None leaves this model out, and (1, 1) has fewer n-grams"
    if source.table is not None:
        documents = source.table.spell(documents)
        repair = "linear_chars=None leaves the model of characters out"
    n_bytes = 100 * documents.n_words + 20 * n_classes * len(documents)
    if n_known is not None:
        smallest, largest = source.ngram_range
        n_ngrams = n_known + min(documents.n_words * (largest - smallest + 1), 1 << BITS)
        n_bytes = n_classes * (46 * n_ngrams + 8 * len(documents))
    limit = memory_limit()
    if n_bytes > limit:
        raise MemoryError(
            f"A linear model of {n_classes:,} classes would take about {n_bytes / 1e9:,.1f} GB of "
            f"memory; there are {limit / 1e9:,.1f} GB. {repair}; or merge rare classes."
        )


def memory_limit() -> float:
    """Return the bytes of memory of the machine or of the container; infinity if unknown."""
    limits = []
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _LIMITS_OF_GROUPS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(file.read_text("ascii")))
    return min((limit for limit in limits if limit > 0), default=np.inf)
