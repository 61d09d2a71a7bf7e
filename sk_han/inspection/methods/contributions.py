"""The methods that need no more of a network than its attention and one gradient of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, SentenceArray
from sk_han.inspection.methods.how import How
from sk_han.inspection.methods.log_odds import LogOdds
from sk_han.inspection.methods.perturbation import (
    each_sentence_alone,
    without_each_sentence,
    without_each_word,
)
from sk_han.inspection.results.document import combine_attention
from sk_han.parts import Pool
from sk_han.parts.network import Attribution

__all__ = [
    "OF_ATTENTION",
    "SPREADING",
    "Batch",
    "Contributions",
    "attention_only",
    "by_sentence",
    "with_other_parts",
]


class Contributions(NamedTuple):
    """The numbers that explain a batch of documents."""

    logits: NDArray[np.float64]  # (D, K), of the pool
    word_attention: NDArray[np.float64]  # (T,)
    sentence_attention: NDArray[np.float64]  # (N,)
    words: NDArray[np.float64]  # (T,)
    sentences: NDArray[np.float64]  # (N,)
    ngrams: NDArray[np.float64]  # (T,), what the parts beside the network bring to words
    completeness_error: NDArray[np.float64] | None = None  # (D,)


class Batch(NamedTuple):
    """Documents to explain, the score of each, and how; `random` is for random numbers."""

    documents: DocumentArray
    score: LogOdds
    how: How
    random: Any

    @property
    def pool(self) -> Pool:
        """The model."""
        return self.score.pool

    @property
    def network(self) -> Any:
        """Its part with attention; a method may need more of it than `NetworkPart` has."""
        return self.score.pool.network


def _by_sentence_alone(batch: Batch) -> Contributions:
    """Explain each sentence as a document of its own.

    What its words leave of the change of the log-odds, from a document without words to the
    sentence, is divided evenly among them.
    """
    pool, documents = batch.pool, batch.documents
    read = batch.network.attend(documents)
    logits = batch.score.logits(read.logits)
    targets = batch.score.targets_of(logits)
    alone = each_sentence_alone(documents)
    target_of_sentence = np.repeat(targets, documents.sentences_per_document)
    score = LogOdds.of(pool, alone, target_of_sentence)
    found = with_other_parts(
        batch._replace(documents=alone, score=score),
        batch.network.gradient_attention(alone, score),
        batch.how.spread,
    )
    first = documents[:1]
    nothing = pool.logits(first.keep_words(np.zeros(first.n_words, dtype=bool)))
    of_nothing = score.of_logits(nothing.repeat(len(alone), axis=0))
    sentences = score.of_logits(found.logits) - of_nothing
    lengths = documents.words_per_sentence
    rest = np.repeat((sentences - found.sentences) / lengths, lengths)
    return Contributions(
        logits,
        read.word_attention,
        read.sentence_attention,
        found.words + rest,
        sentences,
        found.ngrams,
    )


def _by_gradient_attention(batch: Batch) -> Contributions:
    found = batch.network.gradient_attention(batch.documents, batch.score)
    return with_other_parts(batch, found, batch.how.spread)


def _by_occlusion(batch: Batch) -> Contributions:
    """Predict each document again without each word, and without each sentence.

    Words of a sentence vector share the contribution of their sentence equally.
    """
    documents, base = batch.documents, attention_only(batch)
    logits, n_words = base.logits, documents.words_per_document
    n_sentences = documents.sentences_per_document
    sentences = _drops(batch, logits, without_each_sentence(documents), n_sentences)
    if isinstance(documents, SentenceArray):
        lengths = documents.words_per_sentence
        return base._replace(words=np.repeat(sentences / lengths, lengths), sentences=sentences)
    words = _drops(batch, logits, without_each_word(documents), n_words)
    return base._replace(words=words, sentences=sentences)


def _by_attention(batch: Batch) -> Contributions:
    base = attention_only(batch)
    sentence_attention = np.repeat(base.sentence_attention, batch.documents.words_per_sentence)
    words = combine_attention(base.word_attention, sentence_attention, batch.how.combine)
    return base._replace(words=words, sentences=base.sentence_attention)


def _by_chance(batch: Batch) -> Contributions:
    words = batch.random.uniform(-1, 1, batch.documents.n_words)
    return attention_only(batch)._replace(
        words=words, sentences=by_sentence(words, batch.documents)
    )


OF_ATTENTION: dict[str, Callable[[Batch], Contributions]] = {
    "sentence_alone": _by_sentence_alone,
    "gradient_attention": _by_gradient_attention,
    "occlusion": _by_occlusion,
    "attention": _by_attention,
    "random": _by_chance,
}

# The methods that `spread` is for.
SPREADING = ("sentence_alone", "gradient_attention")


def with_other_parts(batch: Batch, found: Attribution, spread: float = 0.0) -> Contributions:
    """Add the contributions of the network, spread, and of the other parts."""
    logits = batch.score.logits(found.logits)
    ngrams = batch.pool.others.attributions(batch.documents, batch.score.factors(logits))
    words = _spread(found.words, batch.documents, spread) + ngrams
    sentences = by_sentence(words, batch.documents)
    return Contributions(
        logits, found.word_attention, found.sentence_attention, words, sentences, ngrams
    )


def attention_only(batch: Batch) -> Contributions:
    """Compute logits, attention and n-gram contributions; other contributions are 0."""
    found = batch.network.attend(batch.documents)
    logits = batch.score.logits(found.logits)
    return Contributions(
        logits,
        found.word_attention,
        found.sentence_attention,
        np.zeros(batch.documents.n_words),
        np.zeros(batch.documents.n_sentences),
        batch.pool.others.attributions(batch.documents, batch.score.factors(logits)),
    )


def by_sentence(words: NDArray[np.float64], documents: DocumentArray) -> NDArray[np.float64]:
    """Sum over the words of each sentence.

    The attention of sentences has a gradient of its own, but each state of the sentence encoder
    mixes in its neighbours. On 300 reviews of `make_reviews`, with a network trained on 2,000
    others, the average precision for sentences that say the label is 0.976 with the sum and 0.953
    with that gradient.
    """
    if not len(words):
        return np.zeros(0)
    return np.add.reduceat(words, documents.sentence_starts[:-1])


def _drops(
    batch: Batch,
    logits: NDArray[np.float64],
    copies: Iterator[DocumentArray],
    copies_per_document: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Compute by how much the log-odds of each copy are below those of its document."""
    score = batch.score.toward(batch.score.targets_of(logits))
    document = np.repeat(np.arange(len(logits)), copies_per_document)
    whole, drops, first = score.of_logits(logits), np.empty(len(document)), 0
    for batch_of_copies in copies:
        rows = slice(first, first + len(batch_of_copies))
        of_copies = score[document[rows]].of_logits(batch.pool.logits(batch_of_copies))
        drops[rows] = whole[document[rows]] - of_copies
        first = rows.stop
    return drops


def _spread(
    words: NDArray[np.float64], documents: DocumentArray, share: float
) -> NDArray[np.float64]:
    """Divide a share of each sentence's contribution evenly among its words."""
    lengths = documents.words_per_sentence
    even = np.repeat(by_sentence(words, documents) / lengths, lengths)
    return (1 - share) * words + share * even
