"""What is explained: documents, and where their sentences and words stand in the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sk_han.classifier import HANClassifier
from sk_han.documents import DocumentArray, starts_of
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.validation.documents import as_documents, holds_word_ids, within_vocabulary
from sk_han.validation.texts import check_texts

__all__ = ["Reader", "Source"]


class Source(NamedTuple):
    """A document's text and where its sentences and words stand in it."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


class Reader(NamedTuple):
    """A fitted classifier, and the way that documents take to it."""

    classifier: HANClassifier
    tokenizer: HierarchicalTokenizer | None
    steps: list[Any]  # of a Pipeline, before the tokenizer

    @classmethod
    def of(cls, estimator: Any) -> Reader:
        """Find the steps of an estimator.

        Raises
        ------
        TypeError
            If it is no HANClassifier and no Pipeline of our two steps.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        """
        check_is_fitted(estimator)
        if isinstance(estimator, HANClassifier):
            return cls(estimator, estimator.tokenizer_, [])
        *steps, classifier = _steps(estimator)
        if not isinstance(classifier, HANClassifier):
            ends_in = f" that ends in {classifier!r}" if isinstance(estimator, Pipeline) else ""
            raise TypeError(
                f"explain needs a HANClassifier or a Pipeline that ends in one; got "
                f"{type(estimator).__name__}{ends_in}. After a search, pass search.best_estimator_."
            )
        check_is_fitted(classifier)
        for position, step in enumerate(steps):
            if isinstance(step, HierarchicalTokenizer):
                if step is not steps[-1]:
                    raise TypeError(
                        f"explain cannot see through {steps[position + 1]!r} between tokenizer and "
                        "classifier. Put it before the tokenizer, or explain(pipeline[-1], "
                        "documents)."
                    )
                return cls(classifier, step, steps[:position])
        return cls(classifier, classifier.tokenizer_, steps)

    def batches(self, X: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
        """Read at most `size` documents at once; of an iterator, no more than these.

        Raises
        ------
        ValueError
            At once, if X is a lone text. What is wrong with a document is told as it is read.
        """
        if isinstance(X, (str, bytes, bytearray)):
            check_texts(X)
        return self._read(X, size)

    def sees_text(self, X: Any) -> bool:
        """Tell whether X are texts that spans point into, and not numbers of words."""
        return self.tokenizer is not None and not holds_word_ids(X)

    def before_tokenizer(self, X: Any) -> Any:
        """Give X as the steps before the tokenizer make it."""
        for step in self.steps:
            X = step.transform(X)
        return X

    def _read(self, X: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
        for chunk in _chunks(X, size):
            for documents, sources in self._located(self.before_tokenizer(chunk), size):
                yield within_vocabulary(documents, self.classifier.vocabulary_size_), sources

    def _located(self, X: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
        if holds_word_ids(X) or self.tokenizer is None:
            documents = as_documents(X, self.tokenizer)
            for first in range(0, len(documents), size):
                batch = documents[first : first + size]
                yield batch, list(_written_out(batch, self.tokenizer))
            return
        texts = check_texts(X)
        for first in range(0, len(texts), size):
            of_batch = texts[first : first + size]
            documents, spans = self.tokenizer.locate(of_batch)
            pairs = zip(of_batch, spans, strict=True)
            yield documents, [Source(text, *found) for text, found in pairs]


def _steps(estimator: Any) -> list[Any]:
    """Give the steps of a Pipeline, of Pipelines inside it too, or the estimator itself."""
    if not isinstance(estimator, Pipeline):
        return [] if estimator in (None, "passthrough") else [estimator]
    return [inner for _, step in estimator.steps for inner in _steps(step)] or [None]


def _chunks(X: Any, size: int) -> Iterator[Any]:
    """Give lists of the next documents of an iterator, and anything else whole."""
    if not isinstance(X, Iterator):
        yield X
        return
    while chunk := list(islice(X, size)):
        yield chunk


def _written_out(
    documents: DocumentArray, tokenizer: HierarchicalTokenizer | None
) -> Iterator[Source]:
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
        yield Source(
            text, sentence_spans, word_spans, np.repeat(np.arange(len(document)), n_words), False
        )
