"""Batches of documents explained: the text of each, and the numbers of its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.inspection.methods.by_name import METHODS
from sk_han.inspection.methods.contributions import Batch
from sk_han.inspection.methods.explain_params import How
from sk_han.inspection.methods.log_odds import Asked, LogOdds
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.inspection.results.result import read_only
from sk_han.parts import Pool
from sk_han.validation.documents import as_documents, holds_word_ids
from sk_han.validation.texts import check_texts


class Source(NamedTuple):
    """The text of a document, and the positions of its sentences and words."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


def located(X: Any, tokenizer: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
    """Yield documents, of word ids or raw texts, and their sources, at most `size` at a time."""
    if holds_word_ids(X) or tokenizer is None:
        documents = as_documents(X, tokenizer)
        for first in range(0, len(documents), size):
            batch = documents[first : first + size]
            yield batch, list(word_id_sources(batch, tokenizer))
        return
    texts = check_texts(X)
    for first in range(0, len(texts), size):
        batch_texts = texts[first : first + size]
        documents, spans = tokenizer.locate(batch_texts)
        pairs = zip(batch_texts, spans, strict=True)
        yield documents, [Source(text, *found) for text, found in pairs]


def word_id_sources(documents: DocumentArray, tokenizer: Any) -> Iterator[Source]:
    """Yield the text of each document of word ids: its words, or "#id" without a tokenizer."""
    for document in nested_words(documents, tokenizer):
        lengths = np.array([len(word) for sentence in document for word in sentence], dtype=int)
        ends = np.cumsum(lengths + 1) - 1  # one space or line break after each word
        word_spans = np.stack([ends - lengths, ends], axis=1)
        n_words = np.array([len(sentence) for sentence in document], dtype=int)
        starts = starts_of(n_words)
        sentence_spans = np.stack(
            [word_spans[starts[:-1], 0], word_spans[starts[1:] - 1, 1]], axis=1
        )
        text = "\n".join(" ".join(sentence) for sentence in document)
        yield Source(
            text, sentence_spans, word_spans, np.repeat(np.arange(len(document)), n_words), False
        )


def nested_words(documents: DocumentArray, tokenizer: Any) -> Iterable[list[list[str]]]:
    """Return the words of each sentence of each document, or "#id" without a tokenizer."""
    if tokenizer is None:
        return ([[f"#{i}" for i in sentence] for sentence in document] for document in documents)
    nested: list[list[list[str]]] = tokenizer.inverse_transform(documents)
    return nested


def explanations_of(
    pool: Pool,
    documents: DocumentArray,
    sources: Sequence[Source],
    asked: Asked,
    how: How,
    random: np.random.Generator | np.random.RandomState,
) -> list[DocumentExplanation]:
    """Explain a batch of D documents."""
    score = LogOdds.of(pool, documents, asked)
    found = METHODS[how.method](Batch(documents, score, how, random))
    target = pool.target
    proba = target.probabilities(found.logits)
    # All explanations share these: thousands of labels take more memory than the words.
    classes, thresholds = read_only(target.names), getattr(target, "thresholds", None)
    thresholds = None if thresholds is None else read_only(thresholds)
    predicted = target.likeliest(found.logits)
    label_sets = target.label_sets(found.logits)
    explained, rivals = asked.labels(target, found.logits), np.asarray(asked.rivals)
    word_starts = documents.word_starts
    unknown = documents.word_ids == UNKNOWN_ID
    errors, base = found.sentence_errors, found.base_values
    explanations = []
    for i, source in enumerate(sources):
        words = slice(word_starts[i], word_starts[i + 1])
        sentences = slice(documents.document_starts[i], documents.document_starts[i + 1])
        explanation = DocumentExplanation(
            **source._asdict(),
            word_attention=found.word_attention[words],
            sentence_attention=found.sentence_attention[sentences],
            contributions=found.words[words],
            sentence_contributions=found.sentences[sentences],
            method=how.method,
            classes=classes,
            probabilities=proba[i],
            predicted=classes[predicted[i]],
            target=classes[explained[i]],
            against=None if rivals[i] < 0 else classes[rivals[i]],
            unknown=unknown[words],
            combine=how.combine,
            ngram_contributions=found.ngrams[words],
            sentence_errors=None if errors is None else errors[sentences],
            base_value=None if base is None else float(base[i]),
            labels=None if label_sets is None else label_sets[i],
            thresholds=thresholds,
        )
        explanations.append(explanation)
    return explanations
