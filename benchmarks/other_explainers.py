"""LIME and SHAP as people use them, for a HANClassifier fitted on raw text.

Each is a method for `faithfulness_report`: it takes the classifier and texts and gives, for each
text, a score for each of the classifier's words, toward the predicted class. The packages are no
dependencies of sk_han: ``pip install ".[benchmarks]"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from sk_han import HANClassifier
from sk_han._documents import concatenated_ranges

__all__ = ["OTHERS", "installed", "on_words"]

LIME_SAMPLES = 1_000
SHAP_EVALUATIONS = 500


def lime(classifier: HANClassifier, texts: list[str]) -> list[NDArray]:
    """Score by LIME with its defaults, but for 1,000 samples in place of 5,000 and all words.

    It takes a word out wherever it occurs.
    """
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(class_names=list(classifier.classes_), random_state=0)
    scores = []
    for text, word_spans, predicted in _read(classifier, texts):
        if not len(word_spans):
            scores.append(np.zeros(0))
            continue
        explanation = explainer.explain_instance(
            text,
            classifier.predict_proba,
            labels=(predicted,),
            num_features=len(word_spans),
            num_samples=LIME_SAMPLES,
        )
        indexed = explanation.domain_mapper.indexed_string
        pieces = [
            (start, start + len(indexed.word(feature)), weight)
            for feature, weight in explanation.as_map()[predicted]
            for start in indexed.string_position(feature)
        ]
        scores.append(on_words(np.array(pieces).reshape(-1, 3), word_spans))
    return scores


def shap(classifier: HANClassifier, texts: list[str]) -> list[NDArray]:
    """Score by SHAP's explainer for text, 500 evaluations a document."""
    import shap as package

    explainer = package.Explainer(classifier.predict_proba, package.maskers.Text(r"\W+"))
    scores = []
    for text, word_spans, predicted in _read(classifier, texts):
        if not len(word_spans):
            scores.append(np.zeros(0))
            continue
        found = explainer([text], max_evals=SHAP_EVALUATIONS, silent=True)
        ends = np.cumsum([len(token) for token in found.data[0]])
        pieces = np.stack([np.append(0, ends[:-1]), ends, found.values[0][:, predicted]], axis=1)
        scores.append(on_words(pieces, word_spans))
    return scores


OTHERS = {"lime": lime, "shap": shap}


def installed(names: list[str]) -> list[str]:
    """Leave out the packages that are not installed, and say so."""
    missing = [name for name in names if name in OTHERS and find_spec(name) is None]
    if missing:
        print(f"left out, not installed: {', '.join(missing)} (pip install '.[benchmarks]')")
    return [name for name in names if name not in missing]


def on_words(pieces: NDArray, word_spans: NDArray[np.int64]) -> NDArray:
    """Give each word the sum of the values of the pieces of text that it overlaps.

    Parameters
    ----------
    pieces : ndarray of shape (n_pieces, 3)
        Start and end in the text, which do not overlap, and a value.
    word_spans : ndarray of int64, shape (n_words, 2)

    Returns
    -------
    ndarray of shape (n_words,)
        0 for words that no piece overlaps.
    """
    starts, ends, values = pieces[np.argsort(pieces[:, 0])].T
    first = np.searchsorted(ends, word_spans[:, 0], side="right")
    last = np.searchsorted(starts, word_spans[:, 1], side="left")
    word = np.repeat(np.arange(len(word_spans)), last - first)
    overlapping = values[concatenated_ranges(first, last - first)]
    return np.bincount(word, weights=overlapping, minlength=len(word_spans))


def _read(
    classifier: HANClassifier, texts: list[str]
) -> Iterator[tuple[str, NDArray[np.int64], int]]:
    """Give each text with where its words stand and the number of its predicted class."""
    for text in texts:
        spans = classifier.tokenizer_.spans([text])[0].word_spans
        yield text, spans, int(classifier.predict_proba([text])[0].argmax())
