"""How the numbers of an explanation are found: from an estimator and documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sk_han._validation import check_texts
from sk_han.classifier import HANClassifier
from sk_han.combination import combined_logits
from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.explanation import DocumentExplanation, ExplanationList
from sk_han.inputs import as_documents, holds_word_ids, within_vocabulary
from sk_han.net import probabilities
from sk_han.tokenizer import HierarchicalTokenizer

__all__ = ["explain"]


def explain(estimator: HANClassifier | Pipeline, X: Any) -> ExplanationList:
    """Show which words and sentences of each document the network attended to.

    Parameters
    ----------
    estimator : HANClassifier or Pipeline
        Fitted. A Pipeline must hold a `HierarchicalTokenizer` and end in a `HANClassifier`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them.

    Returns
    -------
    ExplanationList of n_documents DocumentExplanation
        With ``method="attention"``. Offsets point into the raw texts; where X holds word ids,
        into the words written out again, one sentence a line.

    Raises
    ------
    TypeError
        If the estimator is no HANClassifier and no Pipeline of our two steps.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    Attention says what the network read, not what decided (Jain and Wallace, 2019).

    Examples
    --------
    >>> from sk_han import HANClassifier, explain
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> explanations = explain(classifier.fit(texts, labels), texts[:2])
    >>> bool(abs(explanations[0].sentence_attention.sum() - 1) < 1e-6)
    True
    """
    classifier, tokenizer, X = _steps(estimator, X)
    if holds_word_ids(X):
        documents = as_documents(X, tokenizer)
        sources: Iterator[_Source] = _written_out(documents, tokenizer)
    else:
        texts = check_texts(X)
        documents = as_documents(texts, tokenizer)
        assert tokenizer is not None  # as_documents refuses texts without one
        spans = tokenizer.spans(texts)
        sources = (_Source(text, *found) for text, found in zip(texts, spans, strict=True))
    return ExplanationList(_explained(classifier, documents, sources))


class _Source(NamedTuple):
    """A document's text and where its sentences and words stand in it."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


def _steps(estimator: Any, X: Any) -> tuple[HANClassifier, HierarchicalTokenizer | None, Any]:
    """Find the classifier and the tokenizer, and X as it reaches the tokenizer."""
    check_is_fitted(estimator)
    if isinstance(estimator, HANClassifier):
        return estimator, estimator.tokenizer_, X
    if not isinstance(estimator, Pipeline) or not isinstance(estimator[-1], HANClassifier):
        raise TypeError(
            f"explain needs a HANClassifier or a Pipeline that ends in one; got "
            f"{type(estimator).__name__}. After a search, pass search.best_estimator_."
        )
    classifier = estimator[-1]
    check_is_fitted(classifier)
    steps = [step for _, step in estimator.steps[:-1]]
    for position, step in enumerate(steps):
        if isinstance(step, HierarchicalTokenizer):
            between = [s for s in steps[position + 1 :] if s not in (None, "passthrough")]
            if between:
                raise TypeError(
                    f"explain cannot see through {between[0]!r} between tokenizer and classifier. "
                    "Put it before the tokenizer, or explain(pipeline[-1], documents)."
                )
            return classifier, step, X
        X = X if step in (None, "passthrough") else step.transform(X)
    return classifier, classifier.tokenizer_, X


def _explained(
    classifier: HANClassifier, documents: DocumentArray, sources: Iterator[_Source]
) -> Iterator[DocumentExplanation]:
    """Run the network batch by batch, and cut its flat outputs into documents."""
    documents = within_vocabulary(documents, classifier.vocabulary_size_)
    classes, size = classifier.classes_, classifier.net_.valid_batch_size
    for first in range(0, len(documents), size):
        batch = documents[first : first + size]
        output = classifier.net_.attend(batch)
        logits = combined_logits(
            output.logits.numpy(force=True),
            batch,
            classifier.ngram_channel_,
            classifier.logit_scales_,
        )
        proba = probabilities(logits)
        word_attention = output.word_attention.numpy(force=True).astype(np.float64)
        sentence_attention = output.sentence_attention.numpy(force=True).astype(np.float64)
        word_starts = starts_of(batch.words_per_document)
        for i in range(len(batch)):
            words = slice(word_starts[i], word_starts[i + 1])
            sentences = slice(batch.document_starts[i], batch.document_starts[i + 1])
            source = next(sources)
            predicted = classes[proba[i].argmax()]
            combined = (
                sentence_attention[sentences][source.sentence_of_word] * word_attention[words]
            )
            yield DocumentExplanation(
                **source._asdict(),
                word_attention=word_attention[words],
                sentence_attention=sentence_attention[sentences],
                contributions=combined,
                sentence_contributions=sentence_attention[sentences],
                method="attention",
                classes=classes,
                probabilities=proba[i],
                predicted=predicted,
                target=predicted,
                unknown=batch.word_ids[words] == UNKNOWN_ID,
            )


def _written_out(
    documents: DocumentArray, tokenizer: HierarchicalTokenizer | None
) -> Iterator[_Source]:
    """Write word ids out as text: words, or their numbers where no tokenizer knows them."""
    nested: Iterable[list[list[str]]]
    if tokenizer is None:
        nested = ([[f"#{i}" for i in sentence] for sentence in document] for document in documents)
    else:
        nested = tokenizer.inverse_transform(documents)
    for document in nested:
        lengths = np.array([len(word) for sentence in document for word in sentence], dtype=int)
        ends = np.cumsum(lengths + 1) - 1  # one space or line break after each word
        word_spans = np.stack([ends - lengths, ends], axis=1)
        n_words = np.array([len(sentence) for sentence in document], dtype=int)
        starts = starts_of(n_words)
        sentence_spans = np.stack(
            [word_spans[starts[:-1], 0], word_spans[starts[1:] - 1, 1]], axis=1
        )
        text = "\n".join(" ".join(sentence) for sentence in document)
        yield _Source(
            text, sentence_spans, word_spans, np.repeat(np.arange(len(document)), n_words), False
        )
