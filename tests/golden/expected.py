"""Documents of the golden files, and what the models in them give for these documents."""

import numpy as np
from sklearn.base import BaseEstimator

import sk_han

TEXTS = [
    "A fine film. The cast is a joy!",
    "Dull. A dull, long film.",
    "What a joy: a fine cast.",
    "The film is long. I left.",
    "Un film très long… The cast left!",
]
LABELS = ["good", "bad", "good", "bad", "bad"]
UNSEEN = ["A long film, a fine joy. I left the zoo.", "", "Zebra!"]
WORD_IDS = [[[2, 3], [4]], [[4, 3, 2]], [], [[5], [5, 2]], [[3, 4, 1]]]


def documents_of(name):
    """Give the documents whose results are stored with the model."""
    if name.endswith("word_ids"):
        return sk_han.DocumentArray.from_nested(WORD_IDS)
    return TEXTS + UNSEEN


def expected_of(estimator, documents):
    """What the estimator gives for documents, in JSON's types."""
    if isinstance(estimator, sk_han.HierarchicalTokenizer):
        return {
            "params": params_of(estimator),
            "word_ids": estimator.transform(documents).to_nested(),
            "word_spans": [spans.word_spans.tolist() for spans in estimator.spans(documents)],
        }
    explanations = sk_han.explain(estimator, documents)
    return {
        "params": params_of(estimator),
        "classes": estimator.classes_.tolist(),
        "probabilities": estimator.predict_proba(documents).tolist(),
        "word_attention": [explanation.word_attention.tolist() for explanation in explanations],
        "word_spans": [explanation.word_spans.tolist() for explanation in explanations],
    }


def params_of(estimator):
    """Give the parameters as they are printed, without those that are estimators."""
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else value)
        for name, value in estimator.get_params().items()
        if name != "steps" and not isinstance(value, BaseEstimator)
    }
