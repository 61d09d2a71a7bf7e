"""LatentSentenceEncoder: sentence vectors learnt from the sentences themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

__all__ = ["LatentSentenceEncoder"]


class LatentSentenceEncoder(TransformerMixin, BaseEstimator):
    """Latent semantic analysis of sentences (Deerwester et al., 1990).

    The words of a sentence are weighted by the logarithm of their counts and by inverse document
    frequency, and projected on the directions in which all sentences differ most. Vectors have the
    length 1, or 0 without a known word.

    Parameters
    ----------
    n_components : int
        Size of a vector; smaller if there are fewer words or sentences.
    random_state : int, RandomState instance or None
        Source of the randomized decomposition.

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer, Harshman (1990). Indexing by Latent Semantic Analysis.
    Journal of the American Society for Information Science.
    """

    def __init__(self, n_components: int = 200, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: list[str], y: Any = None) -> LatentSentenceEncoder:
        """Learn words and directions.

        Parameters
        ----------
        X : list of str
            Sentences, each of one word or more.
        y : None
            Ignored.
        """
        # All characters of words and marks, so that no text is without a word.
        self.words_ = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]", sublinear_tf=True)
        counts = self.words_.fit_transform(X)
        size = min(self.n_components, min(counts.shape) - 1)
        self.directions_ = None
        if size >= 1:
            self.directions_ = TruncatedSVD(size, random_state=self.random_state).fit(counts)
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the vectors of sentences, shape (n_sentences, n_components)."""
        counts = self.words_.transform(X)
        if self.directions_ is None:  # of a single word or sentence
            return normalize(counts.toarray()).astype(np.float32)
        return normalize(self.directions_.transform(counts)).astype(np.float32)
