"""Make the golden files of format 1, once: `python tests/golden/make_format_1.py`.

Files of a format that is out are never made anew: the test is that they keep loading.
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import sk_han

HERE = Path(__file__).parent
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
SMALL = {
    "embedding_dim": 5,
    "word_hidden": 3,
    "sentence_hidden": 2,
    "attention_dim": 4,
    "lr": 0.05,
    "max_epochs": 20,
    "early_stopping": False,
    "random_state": 0,
    "device": "cpu",
}


def classifier():
    """Raw text, the default network with its n-gram channel."""
    classifier = sk_han.HANClassifier(
        **SMALL, class_weight={"good": 2.0, "bad": 1}, net_params={"module__max_words": 50}
    )
    return classifier.fit(TEXTS * 3, LABELS * 3)


def pipeline():
    """Another member of the family behind a tokenizer, with metadata and labels of objects."""
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = sk_han.HANClassifier(
            **SMALL | {"early_stopping": True, "lr": 1e-3},
            rnn="lstm",
            pooling="mean",
            num_layers=2,
            ngram_range=None,
            clip_norm=None,
            net_params={"optimizer__betas": (0.8, 0.99)},
        )
        classifier.set_fit_request(X_val=True, y_val=True, sample_weight="weights")
        tokenizer = sk_han.HierarchicalTokenizer(min_df=2, stop_words=["the", "a"], max_words=6)
        pipeline = Pipeline([("words", tokenizer), ("han", classifier)], transform_input=["X_val"])
        labels = np.array(LABELS * 3, dtype=object)
        return pipeline.fit(TEXTS * 3, labels, X_val=TEXTS, y_val=np.array(LABELS, dtype=object))


def tokenizer():
    """Alone, with a vocabulary of the user's."""
    vocabulary = {"film": 2, "très": 3, "\ud800": 5, "long…": 7}
    return sk_han.HierarchicalTokenizer(vocabulary=vocabulary, token_pattern=r"\S+").fit(TEXTS)


def word_ids():
    """Without a tokenizer, with vectors of the user's and labels of integers."""
    vectors = np.linspace(-1, 1, 30, dtype=np.float32).reshape(6, 5)
    classifier = sk_han.HANClassifier(
        **SMALL, pretrained_embedding=vectors, freeze_embedding=True, ngram_range=(2, 3)
    )
    documents = sk_han.DocumentArray.from_nested(WORD_IDS * 3)
    return classifier.fit(documents, np.array([7, -2, 7, 40, -2] * 3, dtype=np.int16))


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


MODELS = {
    "format_1": classifier,
    "format_1_pipeline": pipeline,
    "format_1_tokenizer": tokenizer,
    "format_1_word_ids": word_ids,
}


def documents_of(name):
    """Give the documents whose results are stored with the model."""
    if name == "format_1_word_ids":
        return sk_han.DocumentArray.from_nested(WORD_IDS)
    return TEXTS + UNSEEN


def main():
    for name, make in MODELS.items():
        estimator = make()
        sk_han.save(estimator, HERE / f"{name}.han")
        expected = expected_of(estimator, documents_of(name))
        text = json.dumps(expected, indent=1, ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
