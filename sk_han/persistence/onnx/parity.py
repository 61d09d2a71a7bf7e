"""Comparison of a graph with the classifier that it was built from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.explainers import explain

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["check_parity", "feeds"]

_TOLERANCE = 1e-5
# Words of each sentence of documents that are read together, and one by one.
_SHAPES: list[list[int]] = [
    [],
    [1],
    [2],
    [1, 1, 1],
    [7, 3, 1, 12],
    [150],
    [],
    [5] * 40,
    [33, 2, 61, 18, 1, 9, 25],
    [1],
]


class _Result(NamedTuple):
    probabilities: NDArray[Any]
    word_attention: NDArray[Any]
    sentence_attention: NDArray[Any]


def feeds(documents: DocumentArray) -> dict[str, NDArray[np.int64]]:
    """Return documents as the inputs of a graph."""
    return {
        "word_ids": documents.word_ids.astype(np.int64),
        "words_per_sentence": documents.words_per_sentence,
        "sentences_per_document": documents.sentences_per_document,
    }


def check_parity(session: Any, classifier: HANClassifier, vocabulary_size: int) -> None:
    """Compare the results of a session of ONNX Runtime with those of the classifier.

    Raises
    ------
    RuntimeError
        If they differ by more than 1e-5.
    """
    together = _documents(vocabulary_size)
    alone = [together[i : i + 1] for i in range(len(together))]
    for documents in [together, together[::-1], *alone]:
        expected = _expected(classifier, documents)
        results = zip(_Result._fields, session.run(None, feeds(documents)), expected, strict=True)
        for name, found, wanted in results:
            agree = found.shape == wanted.shape and np.abs(found - wanted).max(initial=0)
            if agree is False or not agree <= _TOLERANCE:
                raise RuntimeError(
                    f"The graph's {name} of shape {found.shape} differ from the classifier's of "
                    f"shape {wanted.shape} by more than {_TOLERANCE:g}, so nothing was "
                    "written. Try another release of onnxruntime, and tell us of it."
                )


def _documents(vocabulary_size: int) -> DocumentArray:
    """Return documents of many shapes, of frequent words and of all words."""
    random = np.random.default_rng(0)
    largest = [vocabulary_size, min(vocabulary_size, 50)]
    nested = [
        [random.integers(UNKNOWN_ID, high, n).tolist() for n in shape]
        for high in largest
        for shape in _SHAPES
    ]
    return DocumentArray.from_nested(nested)


def _expected(classifier: HANClassifier, documents: DocumentArray) -> _Result:
    none = np.empty(0)
    explained = explain(classifier, documents, method="attention")
    return _Result(
        classifier.predict_proba(documents),
        np.concatenate([none, *(each.word_attention for each in explained)]),
        np.concatenate([none, *(each.sentence_attention for each in explained)]),
    )
