"""Comparison of a graph with the classifier that it was built from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.inspection.explaining import explain

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

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
    """Compare a session of ONNX Runtime with the classifier: to 1e-5, or a RuntimeError."""
    together = _documents(vocabulary_size)
    alone = [together[i : i + 1] for i in range(len(together))]
    for documents in [together, together[::-1], *alone]:
        expected = _expected(classifier, documents)
        found = _Result(*session.run(None, feeds(documents)))
        for name, difference in _differences(found, expected).items():
            if not difference <= _TOLERANCE:
                shapes = getattr(found, name).shape, getattr(expected, name).shape
                raise RuntimeError(
                    f"The graph's {name} of shape {shapes[0]} differ from the classifier's of "
                    f"shape {shapes[1]} by {difference:.2g}, where {_TOLERANCE:g} is allowed, so "
                    "nothing was written. A network whose training diverged amplifies rounding: "
                    "fit it again with a lower lr. Else try another release of onnxruntime."
                )


def _differences(found: _Result, expected: _Result) -> dict[str, float]:
    """Return the largest difference of each result; NaN for one of another shape."""
    return {
        name: float(np.abs(one - other).max(initial=0)) if one.shape == other.shape else np.nan
        for name, one, other in zip(_Result._fields, found, expected, strict=True)
    }


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
