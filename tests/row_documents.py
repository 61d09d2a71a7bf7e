"""The estimators on rows of numbers, so that all of scikit-learn's checks can run on them.

scikit-learn's checks make two-dimensional arrays of floats, and skip an estimator of texts almost
whole. Here each number becomes a word, and what is checked is the real `fit` and `predict`.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_han import (
    Attention,
    DocumentArray,
    HANClassifier,
    HANRegressor,
    HierarchicalTokenizer,
    SentenceArray,
)

N_BINS = 32
WORDS_PER_SENTENCE = 2


def bins_of(X):
    """Number the bin of each value: quarters between -4 and 4, what is beyond in the outermost."""
    return np.clip(np.floor(4 * X), -N_BINS // 2, N_BINS // 2 - 1).astype(np.int64) + N_BINS // 2


class SetByScikitLearn:
    """Names or number of columns of a table, which `validate_data` sets here."""

    def __get__(self, estimator, owner):
        raise AttributeError("It is not set yet.")


class OfRows:
    """An estimator to which a row is a document: a word for each column and bin."""

    feature_names_in_ = SetByScikitLearn()
    n_features_in_ = SetByScikitLearn()

    def __sklearn_tags__(self):
        return of_rows(super().__sklearn_tags__())

    def _fit(self, data, *, continues, **options):
        X = self._read(data.X, reset=not (continues and hasattr(self, "model_")))
        return super()._fit(data._replace(X=X), continues=continues, **options)

    def _score(self, X):
        return super()._score(self._read(X, reset=False))

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._read(X, reset=False))

    def _read(self, X, *, reset):
        X = validate_data(self, X, reset=reset)
        word_ids = 2 + N_BINS * np.arange(X.shape[1]) + bins_of(X)
        missing = -X.shape[1] % WORDS_PER_SENTENCE
        padded = np.pad(word_ids, ((0, 0), (0, missing)))
        return DocumentArray.from_padded(padded.reshape(len(X), -1, WORDS_PER_SENTENCE))


class RowClassifier(OfRows, HANClassifier):
    """HANClassifier of rows."""


class RowRegressor(OfRows, HANRegressor):
    """HANRegressor of rows."""


class RowSentenceClassifier(RowClassifier):
    """HANClassifier to which a row is a document of sentence vectors: one of two columns each."""

    def _read(self, X, *, reset):
        X = validate_data(self, X, reset=reset, dtype=np.float64)
        return SentenceArray.from_vectors(
            np.pad(X, ((0, 0), (0, X.shape[1] % 2))).reshape(len(X), -1, 2)
        )


class RowTokenizer(HierarchicalTokenizer):
    """HierarchicalTokenizer to which a row is a text: a word for each column and bin."""

    def fit(self, X, y=None):
        return super().fit(self._texts(X, reset=True))

    def fit_transform(self, X, y=None):
        return super().fit_transform(self._texts(X, reset=True))

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._texts(X, reset=False))

    def __sklearn_tags__(self):
        return of_rows(super().__sklearn_tags__())

    def _texts(self, X, *, reset):
        bins = bins_of(validate_data(self, X, reset=reset))
        return [" ".join(f"column{j}bin{i}" for j, i in enumerate(row)) for row in bins]


def of_rows(tags):
    tags.input_tags.string = False
    tags.input_tags.two_d_array = True
    return tags


def row_estimators():
    """Make the estimators to check: small, and without noise, which only slows learning down."""
    small = {
        "embedding_dim": 8,
        "word_hidden": 4,
        "sentence_hidden": 4,
        "pooling": Attention(size=4),
        "dropout": 0.0,
        "word_dropout": 0.0,
        "lr": 0.1,
        "lr_schedule": "constant",
        "max_epochs": 4,
        "batch_size": 64,
        "validation_fraction": None,
        "device": "cpu",
    }
    return [RowClassifier(**small), RowTokenizer(output="padded"), RowRegressor(**small)]


def sentence_estimator():
    """Make the classifier of sentence vectors to check."""
    return RowSentenceClassifier(**row_estimators()[0].get_params(deep=False))


PORTIONS = [
    "check_estimators_partial_fit_n_features",
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
]


def explained_failures(estimator):
    """Say of each check that an estimator fails why that is right, and which test covers it."""
    if isinstance(estimator, OfRows):
        refused = {}
        if isinstance(estimator, RowSentenceClassifier):
            refused = dict.fromkeys(PORTIONS, "documented: partial_fit refuses sentence vectors")
        return refused | {
            "check_sample_weight_equivalence_on_dense_data": (
                "only ratios of weights matter to the n-gram model, which counts documents; of "
                "the network it holds in single precision (test_classifier.py, TestWeights)"
            )
        }
    return {}
