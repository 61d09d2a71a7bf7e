"""Comparison of a graph with the classifier that it was built from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.inspection.explaining import explain
from sk_han.persistence.onnx.building import OUTPUTS

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

_TOLERANCE = 1e-5
# Words of each sentence of documents that are read together, and one by one.
_SHAPES: list[list[int]] = [[], [1], [2], [1, 1, 1], [7, 3, 1, 12], [150], []]
_SHAPES += [[5] * 40, [33, 2, 61, 18, 1, 9, 25], [1]]


def feeds(documents: DocumentArray) -> dict[str, NDArray[np.int64]]:
    """Return documents as the inputs of a graph."""
    return {
        "word_ids": documents.word_ids.astype(np.int64),
        "words_per_sentence": documents.words_per_sentence,
        "sentences_per_document": documents.sentences_per_document,
    }


def check_parity(session: Any, classifier: HANClassifier) -> None:
    """Compare a session of ONNX Runtime with the classifier: to 1e-5, or a RuntimeError."""
    together = _documents(classifier.vocabulary_size_)
    alone = [together[i : i + 1] for i in range(len(together))]
    for documents in [together, together[::-1], *alone]:
        expected = _expected(classifier, documents)
        results = zip(OUTPUTS, session.run(None, feeds(documents)), expected, strict=True)
        for name, found, wanted in results:
            same = found.shape == wanted.shape
            difference = float(np.abs(found - wanted).max(initial=0)) if same else np.nan
            if not difference <= _TOLERANCE:
                raise RuntimeError(
                    f"The graph's {name} of shape {found.shape} differ from the classifier's of "
                    f"shape {wanted.shape} by {difference:.2g}, where {_TOLERANCE:g} is allowed, "
                    "so nothing was written. A network whose training diverged amplifies rounding: "
                    "fit it again with a lower lr. Else try another release of onnxruntime."
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


def _expected(classifier: HANClassifier, documents: DocumentArray) -> list[NDArray[Any]]:
    """Return what the outputs of the graph should be."""
    explained = explain(classifier, documents, method="attention")
    of_words = [each.word_attention for each in explained]
    of_sentences = [each.sentence_attention for each in explained]
    none = np.empty(0)
    attentions = [np.concatenate([none, *each]) for each in (of_words, of_sentences)]
    return [classifier.predict_proba(documents), *attentions]
