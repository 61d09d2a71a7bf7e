"""The methods of explain, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import (
    DocumentArray,
    SentenceArray,
    concatenated_ranges,
    each_sentence_alone,
    packed,
    starts_of,
)
from sk_han.inspection.methods.contributions import (
    Batch,
    Contributions,
    attention_only,
    by_sentence,
    with_other_parts,
)
from sk_han.inspection.methods.log_odds import LogOdds
from sk_han.inspection.methods.shapley import by_shapley
from sk_han.inspection.results.document import combine_attention
from sk_han.parts.network_part import ConstantScore
from sk_han.parts.pool import WORDS


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
    return found._replace(
        logits=logits,
        word_attention=read.word_attention,
        sentence_attention=read.sentence_attention,
        words=found.words + rest,
        sentences=sentences,
    )


def _by_gradient_attention(batch: Batch) -> Contributions:
    found = batch.network.gradient_attention(batch.documents, batch.score)
    return with_other_parts(batch, found, batch.how.spread)


def _by_occlusion(batch: Batch) -> Contributions:
    """Predict each document again without each word, and without each sentence.

    Words of a sentence vector share the contribution of their sentence equally.
    """
    documents, base = batch.documents, attention_only(batch)
    sentences = _drops(batch, base.logits, documents.sentence_starts)
    if isinstance(documents, SentenceArray):
        lengths = documents.words_per_sentence
        words = np.repeat(sentences / lengths, lengths)
    else:
        words = _drops(batch, base.logits, np.arange(documents.n_words + 1))
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


def _by_gradient_input(batch: Batch) -> Contributions:
    return with_other_parts(batch, batch.network.gradient_input(batch.documents, batch.score))


def _by_integrated_gradients(batch: Batch) -> Contributions:
    """Integrate gradients from a document of zero vectors without n-grams to the document."""
    base, documents, linear = attention_only(batch), batch.documents, batch.pool.linear
    to_target = batch.score.toward(batch.score.targets_of(base.logits))
    whole, nothing = linear.logits(documents), linear.logits(DocumentArray.from_nested([[]]))
    beside: Any = batch.pool.parts.get(WORDS)
    scale = batch.pool.scales.get(WORDS, 0.0)

    def score_at(position: float) -> LogOdds:
        added = nothing + position * (whole - nothing)
        if beside is not None:
            unasked = ConstantScore(np.zeros_like(base.logits))
            added = added + scale * beside.gradient_input(documents, unasked, position).logits
        return replace(to_target, added=added)

    words, factors = np.zeros(documents.n_words), np.zeros_like(base.logits)
    positions, weights = np.polynomial.legendre.leggauss(batch.how.steps)  # from -1 to 1
    for position, weight in zip((1 + positions) / 2, weights / 2, strict=True):
        score = score_at(position)
        found = batch.network.gradient_input(documents, score, position)
        here = score.factors(score.logits(found.logits))
        words += weight * found.words
        if beside is not None:
            of_words = beside.gradient_input(documents, ConstantScore(scale * here), position)
            words += weight * of_words.words
        factors += weight * here
    ngrams = linear.attributions(documents, factors)
    start = score_at(0.0)
    logits = start.logits(batch.network.gradient_input(documents, start, 0.0).logits)
    change = to_target.of_logits(base.logits) - to_target.of_logits(logits)
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    sums = np.bincount(document, words + ngrams, len(documents))
    return base._replace(
        words=words + ngrams,
        sentences=by_sentence(words + ngrams, documents),
        ngrams=ngrams,
        completeness_error=np.abs(change - sums),
    )


def _drops(
    batch: Batch, logits: NDArray[np.float64], edges: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the fall of a document's log-odds without each piece of it; see `without_each`."""
    score = batch.score.toward(batch.score.targets_of(logits))
    whole, drops = score.of_logits(logits), [np.empty(0)]
    for document, copies in without_each(batch.documents, edges):
        drops.append(whole[document] - score[document].of_logits(batch.pool.logits(copies)))
    return np.concatenate(drops)


def without_each(
    documents: DocumentArray, edges: NDArray[np.int64], max_words: int = 65_536
) -> Iterator[tuple[NDArray[np.int64], DocumentArray]]:
    """Yield a copy of its document without each piece, in batches of about `max_words` words.

    The edges, (pieces + 1,), divide all words into pieces. In front of copies are the rows of their
    documents.
    """
    word_starts = documents.word_starts
    document = np.searchsorted(word_starts, edges[:-1], side="right") - 1  # (pieces,)
    for pieces in packed(documents.words_per_document[document], max_words):
        copies = documents[document[pieces]]
        # From offsets in `documents` to offsets in `copies`.
        shift = starts_of(copies.words_per_document)[:-1] - word_starts[document[pieces]]
        kept = np.ones(copies.n_words, dtype=bool)
        kept[concatenated_ranges(edges[pieces] + shift, np.diff(edges)[pieces])] = False
        yield document[pieces], copies.keep_words(kept)


# In the order of the documentation.
METHODS: dict[str, Callable[[Batch], Contributions]] = {
    "shapley": by_shapley,
    "sentence_alone": _by_sentence_alone,
    "gradient_attention": _by_gradient_attention,
    "gradient_input": _by_gradient_input,
    "integrated_gradients": _by_integrated_gradients,
    "occlusion": _by_occlusion,
    "attention": _by_attention,
    "random": _by_chance,
}
# Those that need no more of a network than its attention and one gradient of it.
OF_ATTENTION = tuple(
    name for name in METHODS if name not in ("gradient_input", "integrated_gradients")
)
