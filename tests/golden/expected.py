"""Documents of the golden files, and what the models in them give for these documents."""

import numpy as np
import pandas as pd
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


SENTENCES = [["Dora", "visits", "Rome"], [], ["New"], ["Clara", "is", "in", "New", "Town", "!"]]
SOURCES = ["Ein roter Hund rennt.", "Ein kleiner Mann singt.", ""]
OFFERS = {  # a table of texts in two columns, and of other columns of each kind
    "title": ["Garden", "Park view", "Garden", "", "Attic", "Garden"],
    "body": ["Small. By a tram.", "Bright and large.", "Large, a lift.", "Small.", "Dark.", ""],
    "rooms": [1, 3, 4, 2, 1, np.nan],
    "district": ["north", "south", "south", "north", None, "west"],
    "free": ["2024-05-01", "2024-06-15", "2024-05-20", "2024-07-01", "2024-06-01", None],
    "lift": [False, True, True, False, False, True],
}


def documents_of(name):
    """Give the documents whose results are stored with the model."""
    others = {"tagger": SENTENCES, "translator": SOURCES}
    if name == "word_ids":
        return sk_han.DocumentArray.from_nested(WORD_IDS)
    if name == "table":
        frame = pd.DataFrame(OFFERS)
        return frame.assign(free=pd.to_datetime(frame["free"]))
    return others.get(name, TEXTS + UNSEEN)


def expected_of(estimator, documents):
    """What the estimator gives for documents, in JSON's types."""
    found = {"params": params_of(estimator)}
    if isinstance(estimator, sk_han.HierarchicalTokenizer):
        spans = [each.word_spans.tolist() for each in estimator.spans(documents)]
        return found | {"word_ids": estimator.transform(documents).to_nested(), "word_spans": spans}
    if isinstance(estimator, sk_han.AttentionTranslator):
        return found | {"translations": estimator.predict(documents)}
    if isinstance(estimator, sk_han.SequenceTagger):
        proba = [each.tolist() for each in estimator.predict_proba(documents)]
        return found | {"tags": estimator.predict(documents), "probabilities": proba}
    if isinstance(estimator, sk_han.HANRegressor):
        found["numbers"] = estimator.predict(documents).tolist()
        found["intervals"] = estimator.predict_interval(documents, 0.8).tolist()
        found["novelty"] = sk_han.novelty(estimator, documents[-1:]).tolist()  # of no ties
    else:
        found["classes"] = estimator.classes_.tolist()
        found["probabilities"] = estimator.predict_proba(documents).tolist()
        found["labels"] = estimator.predict(documents).tolist()
    explanations = sk_han.explain(estimator, documents)
    return found | {
        "contributions": [explanation.contributions.tolist() for explanation in explanations],
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
