"""The linear models that people would pick instead."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union

WORDS = r"\w+"


class LogCountRatio(TransformerMixin, BaseEstimator):
    """Scale binary features by the naive-Bayes log-count ratio of two classes."""

    def fit(self, X: csr_matrix, y: Any) -> LogCountRatio:
        """Learn the ratio of each feature."""
        first = np.asarray(y) == np.unique(y)[0]
        counts = [1 + np.asarray(X[rows].sum(axis=0)).ravel() for rows in (~first, first)]
        self.ratio_ = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
        return self

    def transform(self, X: csr_matrix) -> csr_matrix:
        """Scale."""
        return X.multiply(self.ratio_).tocsr()


def tfidf(ngram_range: tuple[int, int] = (1, 2)) -> Pipeline:
    """TF-IDF of words and pairs, then logistic regression."""
    return make_pipeline(
        TfidfVectorizer(token_pattern=WORDS, ngram_range=ngram_range, sublinear_tf=True, min_df=2),
        LogisticRegression(C=10, max_iter=1000),
    )


def tfidf_of_characters() -> Pipeline:
    """Give logistic regression on characters within words, as scikit-learn counts them."""
    return make_pipeline(_characters(), LogisticRegression(C=10.0, max_iter=1000))


def tfidf_of_both() -> Pipeline:
    """Give logistic regression on words and pairs and on characters within words."""
    words = tfidf()[:-1]
    return make_pipeline(
        make_union(words, _characters()), LogisticRegression(C=10.0, max_iter=1000)
    )


def _characters() -> TfidfVectorizer:
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)


def nb_svm() -> Pipeline:
    """Wang and Manning (2012), in the form with logistic regression of Mesnil et al. (2015).

    Of more than two classes, each is told from the rest.
    """
    return make_pipeline(
        CountVectorizer(token_pattern=WORDS, ngram_range=(1, 2), binary=True, min_df=2),
        OneVsRestClassifier(
            make_pipeline(LogCountRatio(), LogisticRegression(C=1.0, max_iter=1000))
        ),
    )
