"""What the n-gram models read: words, characters if a trial shows that they pay, latent spaces."""

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

# The lengths of character n-grams; 2 to 5 is a point worse with few Korean comments.
_CHARACTERS = (1, 5)

# The trial of characters needs this many documents. Above so many characters there is no trial
# either: with a model of characters, 200,000 reviews took 18 GB.
_FEWEST_DOCUMENTS = 100
_MOST_CHARACTERS = 3 << 25

# The documents of the trial, and the share of the explained loss that characters must add. They
# added 0.5 and more on Korean comments, 0.1 to 0.3 on messages of 28 labels, 0.05 to 0.2 on tweets
# and news, up to 0.05 on 2,000 reviews, and 0.09 on 1,000 (docs/what_was_tried.md).
_TRIED, _LEAST_GAIN = 2_000, 0.06
# The trial and a model of characters take five times as long as reading, so they are left out if
# more of a time limit has passed.
_MOST_BEFORE_TRIAL = 1 / 16
# With more labels, the trial keeps the most frequent ones. It keeps the fewest for which TF-IDF is
# used, so that it fits the kind of model of the fit: with naive Bayes, characters seem to add less.
_LABELS = MOST_DENSE + 1

# The files from which a process reads the memory limit of its container (cgroup versions 2 and 1).
_LIMITS_OF_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


class TextSource(NamedTuple):
    """The input of one linear model.

    It reads n-grams of words or, with a table, of the characters in words; with a space, it is a
    latent model, which reads their projections.
    """

    ngram_range: tuple[int, int]
    table: WordTable | None = None
    space: LatentSpace | None = None  # the directions, from text without labels

    @property
    def name(self) -> str:
        """The name of the model in the pool, by which scales and summaries refer to it."""
        if self.space is None:
            return NGRAMS if self.table is None else CHARACTERS
        return LATENT if self.table is None else LATENT_CHARACTERS

    def learner(self, data: LabelledDocuments, target: Target) -> NgramLearner | LatentLearner:
        """Create the learner that fits the model to any subset of the documents."""
        if self.space is None:
            return NgramLearner(data, target, self.ngram_range, self.table)
        return LatentLearner(self.space, data, target, self.table)


def ngram_sources(fit: FitState) -> list[TextSource]:
    """Return the sources of the n-gram models: words, and characters if they are known and pay.

    A MemoryError is raised for a model that would not fit into memory.
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
            f"linear_chars={params.linear_chars!r} reads words, and {'X_val' if is_known else 'X'} "
            "holds word ids without their words. Give raw texts, or set linear_chars='auto'."
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
        if fit.stages.total > _MOST_BEFORE_TRIAL * fit.stages.limit:
            fit.stages.cuts.append("the model of characters")
            return words
        with fit.stages("trial of characters"):
            pays = characters_pay(fit.labelled, fit.target, words[0], characters)
        if not pays:
            return words
    return [*words, characters]


def _integers(sizes: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Convert lengths of n-grams, which a search may pass as NumPy integers, to Python's int."""
    return None if sizes is None else (int(sizes[0]), int(sizes[1]))


def characters_pay(
    data: LabelledDocuments, target: Target, words: TextSource, characters: TextSource
) -> bool:
    """Return whether characters improve out-of-fold predictions of words on up to 2,000 documents.

    With many labels, only the most frequent ones are tried. Folds are scored, five at most, until
    the gain differs from `_LEAST_GAIN` by a standard error.
    """
    target, frequent, targets = target.restrict_to_top(data.targets, _LABELS)
    drawn = np.sort(np.random.RandomState(0).permutation(len(frequent))[:_TRIED])
    sample = replace(data[frequent[drawn]], targets=targets[drawn])
    learners = [source.learner(sample, target) for source in (words, characters)]
    scored, logits, gain = np.empty(0, dtype=np.int64), [], 0.0
    for fold in folds_of(target.strata(sample.targets), sample.groups):
        # If each class has a single document, no document can be held out.
        if not len(fold):
            break
        rest = np.setdiff1d(np.arange(len(sample)), fold)
        models = [learner.fit(rest) for learner in learners]
        nothing, documents = np.zeros((len(fold), target.n_scores)), sample.documents[fold]
        logits.append([nothing if model is None else model.logits(documents) for model in models])
        scored = np.append(scored, fold)
        gain, error = _relative_gain(sample[scored], np.concatenate(logits, axis=1), target)
        if abs(gain - _LEAST_GAIN) >= error:
            break
    return gain > _LEAST_GAIN


def _relative_gain(data: LabelledDocuments, logits: Floats, target: Target) -> tuple[float, float]:
    """Return the share of the explained loss that the other models add to the first model.

    The explained loss is the loss of the class priors minus that of all models, whose logits are
    (P, D, K). Also return the standard error of the share under the hypothesis that it is
    `_LEAST_GAIN`.
    """
    weights = data.weights / data.weights.sum()

    def losses(z: Floats) -> Floats:
        scales = fit_scales(target, z, data.targets, data.weights, np.ones(len(z)))
        return target.loss(np.tensordot(scales, z, 1), data.targets, weights)[0]

    nothing = target.prior_loss(data.targets, data.weights) * weights
    first, whole = losses(logits[:1]), losses(logits)
    if first.sum() > nothing.sum():
        first = nothing
    explained = float((nothing - whole).sum())
    if explained <= 0:
        return 0.0, np.inf
    added = first - whole  # (D,)
    # The sum of these is 0 if the share is _LEAST_GAIN.
    beyond = added - _LEAST_GAIN * (nothing - whole)
    error = float(np.sqrt(len(beyond)) * beyond.std())
    return float(added.sum()) / explained, error / explained


def check_memory(
    source: TextSource, documents: DocumentArray, n_classes: int, *, n_known: int | None = None
) -> None:
    """Raise a MemoryError unless there is memory for a model of many classes, or of a portion.

    The peak of a TF-IDF model is three copies of the feature matrix (of all documents, of those of
    a problem, and in scikit-learn), and indicators, weights and logits for each class and document.
    A model of `partial_fit` has numbers for each class and n-gram: `n_known` n-grams so far, and at
    most all n-grams of the portion, as if they were distinct. The factors were measured with 100 to
    600 classes.
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
    """Return the bytes of memory of the machine or its container; infinity if unknown."""
    limits = []
    # Windows has no sysconf.
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    # The files exist in containers alone, and hold "max" where there is no limit.
    for file in _LIMITS_OF_GROUPS:
        with suppress(OSError, ValueError):
            limits.append(int(file.read_text("ascii")))
    return min((limit for limit in limits if limit > 0), default=np.inf)
