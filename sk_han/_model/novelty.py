"""How unlike the training documents a document is: a score, and the p-value of its rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sk_han._documents import UNKNOWN_ID, DocumentArray
from sk_han._model.class_mix import unknown_shares
from sk_han._parts import Pool
from sk_han._parts.pool import VECTORS
from sk_han._parts.vectors import centred_vectors
from sk_han._storage.schema import Array, Field, Schema
from sk_han._utils.containers import Floats

# Of the terms of a score, chosen on training documents of 20 newsgroups (benchmarks/novelty.py).
_WEIGHTS = np.array([1.0, 1.0, 0.5])
_SMALLEST = 0.01  # standard deviation of a term
# Scores that differ by less are tied, since PyTorch and Numba round differently.
_TIED = 1e-4


class Novelty(NamedTuple):
    """The calibration scores of a fit, and what a score is made of.

    A score is a weighted sum of three terms, each divided by its standard deviation: the entropy of
    the prediction, the share of unknown words less its mean, and the distance of the sentence
    vectors from their center, if there are any.
    """

    scores: Floats  # (n,), of documents that no part has learnt from, rising
    spreads: Floats  # (3,), standard deviations; of unknown words, that between long documents
    unknown: Floats  # (1,), mean share of unknown words

    def score(self, terms: Floats, documents: DocumentArray) -> Floats:
        """Return the scores of documents, (D,), by their terms, (3, D)."""
        centered, spreads = terms.copy(), np.tile(self.spreads[:, np.newaxis], len(documents))
        centered[1] -= self.unknown
        # The share of a short document varies more, by the variance of a binomial distribution.
        variance = self.unknown * (1 - self.unknown) / documents.words_per_document.clip(1)
        spreads[1] = np.sqrt(spreads[1] ** 2 + variance)
        scores: Floats = _WEIGHTS @ (centered / spreads)
        return scores

    def p_values(self, scores: Floats, documents: DocumentArray) -> Floats:
        """Return the p-values of documents, (D,): the share of calibration scores above theirs.

        A number between 0 and 1 that depends on the words of the document chooses a place among
        ties and up to the next rank, so p-values of documents like those of the fit are uniform.
        """
        n, lengths = len(self.scores), documents.words_per_document
        above = n - np.searchsorted(self.scores, scores + _TIED)
        tied = n - above - np.searchsorted(self.scores, scores - _TIED)
        of_words = np.random.RandomState(0).random_sample(documents.word_ids.max(initial=0) + 1)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        sums = np.bincount(rows, of_words[documents.word_ids], minlength=len(lengths))
        p: Floats = (above + (sums + of_words[0]) % 1 * (tied + 1)) / (n + 1)
        return p


NOVELTY = Schema(
    (
        Field("scores", Array("float64", "n")),
        Field("spreads", Array("float64", "3", _SMALLEST)),
        Field("unknown", Array("float64", "1", 0, 1)),
    )
)


def novelty_terms(p: Floats, documents: DocumentArray, pool: Pool) -> Floats:
    """Return the terms of the scores, (3, D), of documents with probabilities p, (D, K)."""
    q = p[np.newaxis] if pool.target.has_one_label else np.stack([p, 1 - p])
    entropy = -(q * np.log(q.clip(np.finfo(float).tiny))).sum(axis=(0, 2))
    shares, distances = unknown_shares(documents, documents.word_ids == UNKNOWN_ID), 0 * entropy
    if VECTORS in pool.parts:
        vectors = centred_vectors(documents, pool.parts[VECTORS].center)  # type: ignore[attr-defined]
        distances = np.linalg.norm(vectors, axis=1)
    return np.stack([entropy, shares, distances])


def calibrated_novelty(
    terms: Floats, documents: DocumentArray, mean: float, variance: float
) -> Novelty:
    """Return the calibration scores of documents that no part has learnt from, by their terms.

    The mean and variance are those of the shares of unknown words of training documents.
    """
    sampling = mean * (1 - mean) * np.mean(1 / documents.words_per_document.clip(1))
    variances = terms.var(axis=1)
    variances[1] = variance - sampling
    spreads = np.sqrt(variances.clip(_SMALLEST**2))
    novelty = Novelty(np.empty(0), spreads, np.array([mean]))
    return novelty._replace(scores=np.sort(novelty.score(terms, documents)))
