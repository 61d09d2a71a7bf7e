"""PooledWordEncoder: sentence vectors learnt from the sentences themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.cooccurrence import cooccurrence_vectors
from sk_han.tokenizer import HierarchicalTokenizer


class PooledWordEncoder(TransformerMixin, BaseEstimator):
    """Sums of word vectors that are learnt in two ways, one half of the numbers each.

    By neighbours of words, which tell topics (`sk_han.embeddings.learn_embeddings`), and by latent
    semantic analysis (Deerwester et al., 1990), which tells "good" from "bad". On held-out folds
    one half alone was worse for IMDB or 20 newsgroups. Weighted by inverse document frequency.
    """

    def __init__(self, n_components: int = 400, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: list[str], y: Any = None) -> PooledWordEncoder:
        """Learn the vectors of words from sentences."""
        self.tokenizer_ = HierarchicalTokenizer()
        sentences = self.tokenizer_.fit_transform(X)
        rng = check_random_state(self.random_state)
        n_words, half = len(self.tokenizer_.vocabulary_) + UNKNOWN_ID + 1, self.n_components // 2
        shape = n_words, self.n_components - half
        vectors, _ = cooccurrence_vectors(sentences, shape, random_state=rng)
        vectors[: UNKNOWN_ID + 1] = 0
        counts = _counts(sentences, n_words)
        n_sentences = np.diff(counts.tocsc().indptr)
        weights = np.log((len(X) + 1) / np.maximum(n_sentences, 1)).astype(np.float32)
        directions = np.zeros((n_words, half), dtype=np.float32)
        size = min(half, min(counts.shape) - 1)
        if size > 0:
            weighted = normalize(counts @ diags(weights))
            directions[:, :size] = TruncatedSVD(size, random_state=rng).fit(weighted).components_.T
        self.tables_ = [table * weights[:, None] for table in (vectors, directions)]
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the vectors of sentences, shape (n_sentences, n_components)."""
        counts = _counts(self.tokenizer_.transform(X), len(self.tables_[0]))
        found = np.hstack([normalize(counts @ table) for table in self.tables_])
        return normalize(found, copy=False).astype(np.float32, copy=False)


def _counts(sentences: Any, n_words: int) -> csr_matrix:
    """Count the words of each sentence, shape (n_sentences, n_words)."""
    row = np.repeat(np.arange(len(sentences)), sentences.words_per_document)
    ones = np.ones(len(row), dtype=np.float32)
    return csr_matrix((ones, (row, sentences.word_ids)), (len(sentences), n_words))
