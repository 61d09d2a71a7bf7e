"""The methods: contributions of words and sentences to the log-odds of a class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sk_han.classifier import HANClassifier
from sk_han.documents import DocumentArray
from sk_han.explainers.log_odds import LogOdds, log_odds
from sk_han.explainers.perturbation import without_each_sentence, without_each_word
from sk_han.explanation.document import combine_attention
from sk_han.fitting import linear_parts_of
from sk_han.linear.pool import pooled_logits
from sk_han.nn.attribution import Attribution, gradient_attention, gradient_input

__all__ = ["METHODS", "Contributions", "contributions_to"]


class Contributions(NamedTuple):
    """The numbers that explain a batch of documents.

    Attributes
    ----------
    logits : ndarray of shape (D, C)
        Of the classifier.
    word_attention, sentence_attention : ndarray of shape (n_words,) and (n_sentences,)
    words, sentences : ndarray of shape (n_words,) and (n_sentences,)
        The contributions.
    ngrams : ndarray of shape (n_words,)
        The contributions of the linear models.
    completeness_error : ndarray of shape (D,), or None
    """

    logits: NDArray[np.float64]
    word_attention: NDArray[np.float64]
    sentence_attention: NDArray[np.float64]
    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    ngrams: NDArray[np.float64]
    completeness_error: NDArray[np.float64] | None = None


class _Batch(NamedTuple):
    classifier: HANClassifier
    documents: DocumentArray
    score: LogOdds
    combine: str
    steps: int
    spread: float
    random: Any


def contributions_to(
    targets: NDArray[np.int64],
    classifier: HANClassifier,
    documents: DocumentArray,
    *,
    method: str,
    combine: str,
    steps: int,
    spread: float,
    random: np.random.Generator | np.random.RandomState,
) -> Contributions:
    """Compute the contributions of a batch's words and sentences to the targets' log-odds.

    Parameters
    ----------
    targets : ndarray of int64, shape (D,)
        Number of the class; -1 for the predicted one.
    classifier : HANClassifier
    documents : DocumentArray of shape (D,)
        Of ids within the vocabulary.
    method, combine, steps, spread
        As of `explain`.
    random : Generator or RandomState
        For ``method="random"``.

    Returns
    -------
    Contributions
    """
    score = LogOdds(classifier.network_scale_, _linear_logits(classifier, documents), targets)
    return METHODS[method](_Batch(classifier, documents, score, combine, steps, spread, random))


def _by_gradient_attention(batch: _Batch) -> Contributions:
    return _by_gradients(batch, gradient_attention, batch.spread)


def _by_gradient_input(batch: _Batch) -> Contributions:
    return _by_gradients(batch, gradient_input)


def _by_integrated_gradients(batch: _Batch) -> Contributions:
    """Integrate gradients from a document of zero vectors without n-grams to the document."""
    base, documents, net = _attention_only(batch), batch.documents, batch.classifier.net_
    targets = batch.score.targets_of(base.logits)
    without_words = _linear_logits(batch.classifier, DocumentArray.from_nested([[]]))
    words, factors = np.zeros(documents.n_words), np.zeros_like(base.logits)
    positions, weights = np.polynomial.legendre.leggauss(batch.steps)  # from -1 to 1
    for position, weight in zip((1 + positions) / 2, weights / 2, strict=True):
        score = batch.score.toward(targets).at(position, without_words)
        found = net.attribute(partial(gradient_input, by=position), documents, score)
        words += weight * _array(found.words)
        factors += weight * score.factors(score.logits(found.logits))
    ngrams = _ngram_contributions(batch, factors)
    start = batch.score.toward(targets).at(0.0, without_words)
    logits = start.logits(net.attribute(partial(gradient_input, by=0.0), documents, start).logits)
    change = log_odds(base.logits, targets) - log_odds(logits, targets)
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    sums = np.bincount(document, words + ngrams, len(documents))
    return base._replace(
        words=words + ngrams,
        sentences=_by_sentence(words + ngrams, documents),
        ngrams=ngrams,
        completeness_error=np.abs(change - sums),
    )


def _by_gradients(
    batch: _Batch, attribution: Callable[..., Attribution], spread: float = 0.0
) -> Contributions:
    """Add the contributions of network and linear models; spread those of the network."""
    found = batch.classifier.net_.attribute(attribution, batch.documents, batch.score)
    logits = batch.score.logits(found.logits)
    ngrams = _ngram_contributions(batch, batch.score.factors(logits))
    words = _spread(_array(found.words), batch.documents, spread) + ngrams
    return Contributions(
        logits,
        _array(found.word_attention),
        _array(found.sentence_attention),
        words,
        _by_sentence(words, batch.documents),
        ngrams,
    )


def _by_occlusion(batch: _Batch) -> Contributions:
    """Predict each document again without each word, and without each sentence."""
    documents, base = batch.documents, _attention_only(batch)
    logits, n_words = base.logits, documents.words_per_document
    n_sentences = documents.sentences_per_document
    return base._replace(
        words=_drops(batch, logits, without_each_word(documents), n_words),
        sentences=_drops(batch, logits, without_each_sentence(documents), n_sentences),
    )


def _by_attention(batch: _Batch) -> Contributions:
    base = _attention_only(batch)
    sentence_attention = np.repeat(base.sentence_attention, batch.documents.words_per_sentence)
    words = combine_attention(base.word_attention, sentence_attention, batch.combine)
    return base._replace(words=words, sentences=base.sentence_attention)


def _by_chance(batch: _Batch) -> Contributions:
    words = batch.random.uniform(-1, 1, batch.documents.n_words)
    return _attention_only(batch)._replace(
        words=words, sentences=_by_sentence(words, batch.documents)
    )


METHODS: dict[str, Callable[[_Batch], Contributions]] = {
    "gradient_attention": _by_gradient_attention,
    "gradient_input": _by_gradient_input,
    "integrated_gradients": _by_integrated_gradients,
    "occlusion": _by_occlusion,
    "attention": _by_attention,
    "random": _by_chance,
}


def _linear_logits(classifier: HANClassifier, documents: DocumentArray) -> NDArray[np.float64]:
    """Return the scaled logits of the linear models, shape (D, C); zeros if there are none."""
    models = linear_parts_of(classifier).models
    if not models:
        return np.zeros((len(documents), len(classifier.classes_)))
    return pooled_logits(documents, models)


def _attention_only(batch: _Batch) -> Contributions:
    """Compute logits, attention and n-gram contributions; other contributions are 0."""
    found = batch.classifier.net_.attend(batch.documents)
    logits = batch.score.logits(found.logits)
    return Contributions(
        logits,
        _array(found.word_attention),
        _array(found.sentence_attention),
        np.zeros(batch.documents.n_words),
        np.zeros(batch.documents.n_sentences),
        _ngram_contributions(batch, batch.score.factors(logits)),
    )


def _ngram_contributions(batch: _Batch, factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the linear models' contributions to a score that has these factors of the logits."""
    contributions = np.zeros(batch.documents.n_words)
    for scale, model in linear_parts_of(batch.classifier).models:
        contributions += model.attributions(batch.documents, scale * factors)
    return contributions


def _drops(
    batch: _Batch,
    logits: NDArray[np.float64],
    copies: Iterator[DocumentArray],
    copies_per_document: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Compute by how much the log-odds of each copy are below those of its document."""
    classifier, targets = batch.classifier, batch.score.targets_of(logits)
    document = np.repeat(np.arange(len(logits)), copies_per_document)
    whole, drops, first = log_odds(logits, targets), np.empty(len(document)), 0
    for batch_of_copies in copies:
        rows = slice(first, first + len(batch_of_copies))
        logits = pooled_logits(batch_of_copies, classifier._models())
        drops[rows] = whole[document[rows]] - log_odds(logits, targets[document[rows]])
        first = rows.stop
    return drops


def _by_sentence(words: NDArray[np.float64], documents: DocumentArray) -> NDArray[np.float64]:
    """Sum over the words of each sentence.

    The attention of sentences has a gradient of its own, but each state of the sentence encoder
    mixes in its neighbours. On 300 reviews of `make_reviews`, with a network trained on 2,000
    others, the average precision for sentences that say the label is 0.976 with the sum and 0.953
    with that gradient.
    """
    if not len(words):
        return np.zeros(0)
    return np.add.reduceat(words, documents.sentence_starts[:-1])


def _spread(
    words: NDArray[np.float64], documents: DocumentArray, share: float
) -> NDArray[np.float64]:
    """Divide a share of each sentence's contribution evenly among its words."""
    lengths = documents.words_per_sentence
    even = np.repeat(_by_sentence(words, documents) / lengths, lengths)
    return (1 - share) * words + share * even


def _array(values: Tensor) -> NDArray[np.float64]:
    return values.numpy(force=True).astype(np.float64)
