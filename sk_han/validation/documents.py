"""X of a user, checked and converted to documents."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, EncoderFingerprint, SentenceArray
from sk_han.documents.sentences import check_same_encoder
from sk_han.utils.containers import Flags, Integers
from sk_han.utils.messages import a_kind, counted, warn_user
from sk_han.validation.texts import NO_UNLABELLED, check_texts, check_texts_without_labels

_MANY_IDS = 1 << 23  # with the default embedding_dim their vectors and moments are 20 GB


def holds_word_ids(X: Any) -> bool:
    """Return whether X is tokenized, a DocumentArray or an array of integers, and not raw text."""
    return isinstance(X, DocumentArray) or (
        hasattr(X, "dtype") and getattr(X, "ndim", 0) in (2, 3) and np.asarray(X).dtype.kind in "iu"
    )


def check_documents(
    X: Any, name: str = "X"
) -> DocumentArray | NDArray[np.integer[Any]] | list[str]:
    """Return word ids as they are, and raw texts as a list, which has a length."""
    if not holds_word_ids(X):
        return check_texts(X, name=name)
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return X


def as_documents(X: Any, tokenizer: Any) -> DocumentArray:
    """Return X, of word ids or D raw texts for a fitted tokenizer, as documents (D,)."""
    if not holds_word_ids(X):
        if tokenizer is None:
            raise TypeError(
                f"X is {a_kind(X)}, but this HANClassifier was fitted on word ids or on "
                "sentence vectors. Give it what the tokenizer or SentenceEmbedder that made its "
                "training data makes of X, or fit it on raw text."
            )
        X = tokenizer.transform_ragged(X)
    X = check_documents(X)
    return X if isinstance(X, DocumentArray) else DocumentArray.from_padded(X)


def check_sentence_vectors(
    X: Any, dimension: int | None, encoder: EncoderFingerprint | None, name: str = "X"
) -> None:
    """Check that documents have the vectors of sentences that a network reads, if it does."""
    if dimension is None:
        return
    if not isinstance(X, SentenceArray):
        known = "" if encoder is None else f" from {encoder.name}"
        pipeline = "put both in a Pipeline"
        if name != "X":  # which a Pipeline passes on as it is
            pipeline = f"enable metadata routing and Pipeline(..., transform_input=[{name!r}])"
        raise TypeError(
            f"{name} is {a_kind(X)}, but this HANClassifier reads sentence vectors"
            f"{known}. Give it a SentenceArray of the SentenceEmbedder that made its training "
            f"data, or {pipeline}."
        )
    check_same_encoder(encoder, dimension, X, "the training documents")


def check_validation(X_val: Any, y_val: Any, X: Any, has_ids: bool) -> Any:
    """Return validation documents as `check_documents` does, if they go with X; None as it is.

    `has_ids` tells whether words of texts in X have ids before a fit.
    """
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    if X_val is None:
        return None
    X_val = check_documents(X_val, "X_val")
    if isinstance(X, SentenceArray):
        check_sentence_vectors(X_val, X.dimension, X.encoder, "X_val")
    if holds_word_ids(X_val) and not holds_word_ids(X) and not has_ids:
        raise TypeError(
            f"X_val is {a_kind(X_val)} of word ids, but X holds texts, whose words "
            "get ids in this fit. Give X_val as texts too."
        )
    return X_val


def check_word_ids(X: Any, name: str, request: str) -> None:
    """Refuse texts beside word ids, with the repair."""
    if not holds_word_ids(X):
        raise TypeError(
            f"{name} is {a_kind(X)}, but X holds word ids. In a Pipeline, "
            f"Pipeline(..., transform_input=[{name!r}]) has it tokenized, with metadata routing "
            f"enabled and set_fit_request({request})."
        )


def check_unlabelled(X_unlabelled: Any, X: Any) -> None:
    """Check texts without labels beside X as far as no iterator must be read."""
    if X_unlabelled is None:
        return
    if holds_word_ids(X_unlabelled) and not holds_word_ids(X):
        raise TypeError(
            f"X_unlabelled is {a_kind(X_unlabelled)} of word ids, but X holds texts. Give "
            "texts without labels as texts too."
        )
    if holds_word_ids(X):
        check_word_ids(X_unlabelled, "X_unlabelled", "X_unlabelled=True")
        if len(X_unlabelled) == 0:
            raise ValueError(NO_UNLABELLED)
    elif hasattr(X_unlabelled, "__len__"):
        deque(check_texts_without_labels(X_unlabelled), maxlen=0)  # raises the errors of texts


def vocabulary_size_of(
    documents: DocumentArray, unlabelled: DocumentArray | None, tokenizer: Any, vectors: Any
) -> int:
    """Count the word ids of training documents, including unused ones of tokenizer or vectors."""
    if tokenizer is not None:
        return max(tokenizer.vocabulary_.values()) + 1
    # The last words of the vocabulary of given vectors may not occur in training.
    given = len(vectors) - 1 if isinstance(vectors, np.ndarray) else 0
    given_documents = [each for each in (documents, unlabelled) if each is not None]
    found = [int(each.word_ids.max(initial=UNKNOWN_ID)) for each in given_documents]
    size = max(given, *found) + 1
    if size > _MANY_IDS:
        warn_user(
            f"The highest word id is {size - 1:,}, and the network learns a vector for each id up "
            "to it, which takes some gigabytes. Number the words from 2 on without gaps, for "
            "example by their place in np.unique."
        )
    return size


def known_documents(
    documents: DocumentArray, pool: Any, encoder: EncoderFingerprint | None, vocabulary_size: int
) -> DocumentArray:
    """Return documents as a fitted model knows them: without words beyond its vocabulary.

    They must hold what all parts read, such as vectors of the encoder, or a TypeError or ValueError
    says what they lack.
    """
    check_sentence_vectors(documents, pool.network.dimension, encoder)
    known: DocumentArray = pool.checked(within_vocabulary(documents, vocabulary_size))
    return known


def within_vocabulary(documents: DocumentArray, vocabulary_size: int) -> DocumentArray:
    """Replace ids beyond the vocabulary by the unknown word."""
    beyond = documents.word_ids >= vocabulary_size
    if not beyond.any():
        return documents
    known = documents.with_word_ids(np.where(beyond, UNKNOWN_ID, documents.word_ids))
    known.spelling = documents.spelling  # an unknown word is written as before
    return known


def checked_spans(spans: Any, number: int, n_characters: int) -> Integers:
    """Check the rationale of a document and return its spans, (n_spans, 2)."""
    if not isinstance(spans, Collection) or isinstance(spans, str):
        raise TypeError(
            f"The rationales of document {number} must be a list of spans (start, end); got "
            f"{spans!r}. A document without a rationale has an empty list."
        )
    for position, span in enumerate(spans):
        if not _is_pair(span):
            raise TypeError(
                f"Rationale {position} of document {number} must be (start, end), two integers; "
                f"got {span!r}."
            )
        start, end = span
        if not 0 <= start < end <= n_characters:
            raise ValueError(
                f"Rationale {position} of document {number} is ({start}, {end}); it must start "
                f"before it ends and lie within the text of {counted(n_characters, 'character')}."
            )
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)


def covered_words(spans: Integers, word_spans: Integers) -> Flags:
    """Mark the words (T,) that overlap a span, completely or in part."""
    first = np.searchsorted(word_spans[:, 1], spans[:, 0], side="right")
    last = np.searchsorted(word_spans[:, 0], spans[:, 1], side="left")
    changes = np.zeros(len(word_spans) + 1, dtype=np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, last, -1)
    return np.cumsum(changes)[:-1] > 0


def _is_pair(span: Any) -> bool:
    if isinstance(span, (str, bytes)) or not isinstance(span, Collection) or len(span) != 2:
        return False
    return all(isinstance(edge, Integral) and not isinstance(edge, bool) for edge in span)
