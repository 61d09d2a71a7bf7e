"""The methods that need no more of a network than its attention and one gradient of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, SentenceArray, each_sentence_alone
from sk_han.inspection.methods.contributions import (
    Batch,
    Contributions,
    attention_only,
    by_sentence,
    with_other_parts,
)
from sk_han.inspection.methods.log_odds import LogOdds
from sk_han.inspection.methods.perturbation import without_each_sentence, without_each_word
from sk_han.inspection.methods.shapley import by_shapley
from sk_han.inspection.results.document import combine_attention


def _by_sentence_alone(batch: Batch) -> Contributions:
    """Explain each sentence as a document of its own.

    What its words leave of the change of the log-odds, from a document without words to the
    sentence, is divided evenly among them.
    """
    pool, documents = batch.pool, batch.documents
    read = batch.network.attend(documents)
    logits = batch.score.logits(read.logits)
    alone = each_sentence_alone(documents)
    document = np.repeat(np.arange(len(documents)), documents.sentences_per_document)
    asked = batch.score.toward(batch.score.targets_of(logits)).asked[document]
    score = LogOdds.of(pool, alone, asked)
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


OF_ATTENTION: dict[str, Callable[[Batch], Contributions]] = {
    "shapley": by_shapley,
    "sentence_alone": _by_sentence_alone,
    "gradient_attention": _by_gradient_attention,
    "occlusion": _by_occlusion,
    "attention": _by_attention,
    "random": _by_chance,
}
