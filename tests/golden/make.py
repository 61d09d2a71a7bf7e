"""Make the golden files: `python -m tests.golden.make`.

Until the first release they are made anew with each change of what a file holds. After it,
`sk_han._storage.model_file` says when: the test is that they keep loading.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.pipeline import Pipeline

import sk_han
from sk_han import RNN, Attention, MultiHopAttention
from tests.encoders_of_sentences import NAMED
from tests.golden.expected import LABELS, TEXTS, UNSEEN, WORD_IDS, documents_of, expected_of
from tests.tiny_pairs import pairs
from tests.tiny_pairs import tiny as tiny_translator
from tests.tiny_sentences import X, Y, tiny_tagger

HERE = Path(__file__).parent
SMALL = {
    "embedding_dim": 5,
    "word_hidden": 3,
    "sentence_hidden": 2,
    "pooling": Attention(size=4),
    "adversarial_noise": 0.01,
    "lr": 0.05,
    "max_epochs": 20,
    "random_state": 0,
    "device": "cpu",
}


def classifier():
    """Raw text, several attentions, an n-gram model that has learnt from two portions."""
    classifier = sk_han.HANClassifier(
        **SMALL | {"pooling": MultiHopAttention(size=4, hops=3, penalty=0.5)},
        embedding_init="random",
        class_weight={"good": 2.0, "bad": 1},
        validation_fraction=0.2,
        n_iter_no_change=18,
        net_params={"module__max_words": 50, "criterion__label_smoothing": 0.05},
    )
    return classifier.fit(TEXTS * 3, LABELS * 3).partial_fit(TEXTS[:2], LABELS[:2])


def labels():
    """Several labels, the default network, and latent models of words and characters."""
    classifier = sk_han.HANClassifier(**SMALL, linear_chars=(1, 2), validation_fraction=None)
    good_and_film = np.array([[1, 1], [0, 1], [1, 0], [0, 1], [0, 1]] * 3)
    return classifier.fit(TEXTS * 3, good_and_film, X_unlabelled=UNSEEN)


def pipeline():
    """Two layers in one direction behind a tokenizer, with metadata and labels of objects."""
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = sk_han.HANClassifier(
            **SMALL | {"lr": 1e-3, "pooling": "mean"},
            rnn=RNN(cell="lstm", num_layers=2, bidirectional=False),
            linear_ngrams=None,
            net_params={"clip_norm": None, "optimizer__betas": (0.8, 0.99)},
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
    classifier = sk_han.HANClassifier(
        **SMALL | {"pooling": "max"},
        embedding_init=np.linspace(-1, 1, 30, dtype=np.float32).reshape(6, 5),
        freeze_embedding=True,
        linear_ngrams=(2, 3),
        validation_fraction=None,
    )
    documents = sk_han.DocumentArray.from_nested(WORD_IDS * 3)
    return classifier.fit(documents, np.array([7, -2, 7, 40, -2] * 3, dtype=np.int16))


def encoder():
    """A model of sentence vectors; the encoder is in no file."""
    classifier = sk_han.HANClassifier(**SMALL | {"max_epochs": 1}, encoder=NAMED)
    return classifier.fit(TEXTS * 3, LABELS * 3)


def ordered():
    """Classes in an order, with documents enough held out for what depends on them."""
    classifier = sk_han.HANClassifier(**SMALL, ordered=True, validation_fraction=0.5)
    return classifier.fit(TEXTS * 8, [3, 1, 3, 2, 2] * 8)


def table():
    """A number predicted from texts in two columns and from other columns of each kind."""
    regressor = sk_han.HANRegressor(
        **SMALL, text_column=["title", "body"], scale="log", validation_fraction=0.5
    )
    frame = pd.concat([documents_of("table")[:5]] * 10, ignore_index=True)
    rents = np.array([500.0, 1200, 1500, 600, 400] * 10)
    return regressor.fit(frame, rents * np.linspace(0.7, 1.3, 50))


def tagger():
    return tiny_tagger(scheme="iob2").fit(X, Y)


def translator():
    sizes = {"embedding_dim": 7, "hidden_size": 6, "attention_size": 4}
    return tiny_translator(**sizes, max_epochs=30).fit(*pairs())


MODELS = {
    "classifier": classifier,
    "encoder": encoder,
    "labels": labels,
    "ordered": ordered,
    "pipeline": pipeline,
    "table": table,
    "tagger": tagger,
    "tokenizer": tokenizer,
    "translator": translator,
    "word_ids": word_ids,
}


def main():
    for name, make in MODELS.items():
        estimator = make()
        sk_han.save(estimator, HERE / f"{name}.han")
        expected = expected_of(estimator, documents_of(name))
        text = json.dumps(expected, indent=1, ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
