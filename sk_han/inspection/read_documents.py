"""Documents of a report as their model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.ensembles import Ensemble, opened
from sk_han.inspection.explained_model import ExplainedModel
from sk_han.validation.documents import holds_word_ids
from sk_han.validation.texts import check_texts


class ReadDocuments(NamedTuple):
    """Held-out or training documents."""

    words: tuple[str, ...] | None  # to compare and to learn a baseline from
    texts: tuple[str, ...] | None  # to show; None if words are ids, written as numbers
    n_words: NDArray[np.int64] | None  # (D,)
    learnt_from: NDArray[np.int64] | None = None  # rows with the words of a training document


def reader_of(estimator: Any) -> tuple[ExplainedModel | None, bool]:
    """Return the model that reads the documents, or None, and whether it predicts alone."""
    try:
        inside = opened(estimator)
        if isinstance(inside, Ensemble):
            return ExplainedModel.of(inside.members[0]), False
        return ExplainedModel.of(inside), True
    except TypeError:
        return None, False


def read(model: ExplainedModel | None, X: Any) -> ReadDocuments:
    """Read documents as their model does, or as plain texts."""
    if model is None:
        if holds_word_ids(X):
            return ReadDocuments(None, None, None)
        try:
            texts = tuple(check_texts(X))
        except (TypeError, ValueError):  # features that only this estimator understands
            return ReadDocuments(None, None, None)
        return ReadDocuments(texts, texts, np.array([len(text.split()) for text in texts]))
    words: list[str] = []
    n_words: list[int] = []
    learnt_from, hashes = [np.empty(0, dtype=bool)], model.classifier.text_hashes_
    for documents, sources in model.batches(X, model.classifier.net_.valid_batch_size):
        words += [source.text for source in sources]
        n_words += documents.words_per_document.tolist()
        if hashes is not None:
            learnt_from.append(hashes.known(documents))
    has_texts = model.tokenizer is not None
    return ReadDocuments(
        tuple(words),
        tuple(words) if has_texts else None,
        np.array(n_words),
        None if hashes is None else np.flatnonzero(np.concatenate(learnt_from)),
    )


def words_of(model: ExplainedModel | None, X: Any) -> Sequence[str] | None:
    """Return the words of documents that the model need not read itself, if they are texts."""
    if model is not None and model.are_raw_texts(X) and not model.steps:
        return check_texts(X)
    return read(model, X).words
