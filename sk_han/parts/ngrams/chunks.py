"""The n-gram model of documents whose n-grams memory does not hold: learnt chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.parts.ngrams.features import Features
from sk_han.parts.ngrams.model import NgramCounts, NgramModel
from sk_han.parts.ngrams.ngram_fitting import (
    INVERSE_STRENGTH,
    MIN_DOCUMENTS,
    SMOOTHING,
    log_count_ratios,
    updated,
)
from sk_han.parts.ngrams.presence import document_counts, presences
from sk_han.targets import Target
from sk_han.utils.array_types import Floats, Integers

# Occurrences of n-grams that are learnt from at once. With n-grams of 1 to 3 words, these are 8.4
# million words (32,000 film reviews), whose matrix and solver take 1.2 GB. A chunk is half as
# large, since the n-grams of all other chunks are in memory beside it.
_MOST_NGRAMS, _MOST_NGRAMS_OF_CHUNK = 3 << 23, 3 << 22

_TOLERANCE = 1e-4  # of the gradient of a document's loss, as of scikit-learn's solver


def n_chunks_of(documents: DocumentArray, ngram_range: tuple[int, int]) -> int:
    """Return in how many chunks documents are learnt from; 1 if memory holds their n-grams."""
    smallest, largest = ngram_range
    n_words = int(documents.words_per_document.sum())
    n_ngrams = n_words * (largest - smallest + 1)
    if n_ngrams <= _MOST_NGRAMS:
        return 1
    return min(-(-n_ngrams // _MOST_NGRAMS_OF_CHUNK), len(documents))


def rows_of_chunks(documents: DocumentArray, ngram_range: tuple[int, int]) -> list[Integers]:
    """Return the rows of each chunk, drawn from all over the documents, which may be sorted.

    The order does not depend on a seed, nor does a model that is fitted to all at once.
    """
    n_chunks = n_chunks_of(documents, ngram_range)
    order = np.random.RandomState(0).permutation(len(documents))
    return [np.sort(rows) for rows in np.array_split(order, n_chunks)]


def fit_ngram_models_in_chunks(
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
    parts: Sequence[Integers],
    smoothing: float = SMOOTHING,
) -> list[NgramModel | None]:
    """Fit the model of `fit_to_presences` in passes over the documents, chunk by chunk.

    The model after each part of the rows, of all parts so far; None as there, and where these lack
    a class.
    Coefficients after a chunk minimize its loss plus what the documents before say of them, as a
    Gaussian distribution with a precision for each coefficient: the curvature of their loss, and at
    the start that of the L2 regularization (Laplace's method with a diagonal matrix; Chapelle and
    Li, 2011. An Empirical Evaluation of Thompson Sampling, algorithm 3). One strength for all of
    them, as `partial_fit_ngram_model` has it, cost a point with 20 chunks (docs/what_was_tried.md).
    """
    counts = document_counts(data.documents, ngram_range)
    buckets = np.flatnonzero(counts >= MIN_DOCUMENTS)
    if not len(buckets) or not target.is_learnable(data.targets):
        return [None] * len(parts)
    n_seen = counts[buckets].astype(np.float32)
    scaled = replace(data, weights=data.weights / data.weights.mean())
    n_problems = target.n_problems
    inside = np.zeros((len(buckets), n_problems), dtype=np.float32)  # (F, B)
    everywhere = np.zeros((len(buckets), 1), dtype=np.float32)
    n_documents = np.zeros(1 + n_problems)
    shape = n_problems, len(buckets) + 1
    precision = np.full(shape, 1 / INVERSE_STRENGTH, dtype=np.float32)
    learnt = _Coefficients(np.zeros(shape), precision)
    models: list[NgramModel | None] = []
    for number, rows in enumerate(parts, start=1):
        part = scaled[rows]
        for chunk, present in _chunks(part, ngram_range, buckets):
            weighted = chunk.weights[:, np.newaxis] * target.problems(chunk.targets)
            _add(inside, present, weighted)
            _add(everywhere, present, chunk.weights[:, np.newaxis])
            n_documents += np.append(chunk.weights.sum(), weighted.sum(axis=0))
        outside = (everywhere - inside).clip(0)
        sums = NgramCounts(n_seen, inside.copy(), outside, n_documents.copy())
        ratios = log_count_ratios(sums, smoothing)
        for chunk, present in _chunks(part, ngram_range, buckets):
            learnt.learn_from(present, chunk, target, ratios)
        weights = (learnt.values[:, :-1].T * ratios).astype(np.float32)
        intercept = learnt.values[:, -1].astype(np.float32)
        model = NgramModel(target, ngram_range, buckets, ratios, weights, intercept, sums)
        known = target.is_learnable(data.targets[np.concatenate(parts[:number])])
        models.append(model if known else None)
    return models


def _chunks(
    data: LabelledDocuments, ngram_range: tuple[int, int], buckets: Integers
) -> Iterator[tuple[LabelledDocuments, csr_matrix]]:
    """Yield each chunk with the presence of its n-grams, shape (D, F)."""
    for rows in rows_of_chunks(data.documents, ngram_range):
        if len(rows):
            chunk = data[rows]
            yield chunk, presences(chunk.documents, ngram_range, buckets)


def _add(sums: NDArray[np.float32], present: csr_matrix, values: Floats) -> None:
    """Add the values (D, B) of the documents with each n-gram to its sums, (F, B)."""
    found = (present.T @ csr_matrix(values)).tocoo()
    sums[found.row, found.col] += found.data.astype(np.float32)


class _Coefficients(NamedTuple):
    """What is known of the coefficients, and of the intercept behind them."""

    values: Floats  # (B, F + 1)
    precision: NDArray[np.float32]  # (B, F + 1)

    def learn_from(
        self,
        present: csr_matrix,
        chunk: LabelledDocuments,
        target: Target,
        ratios: NDArray[np.float32],
    ) -> None:
        """Update the coefficients of the chunk's n-grams, and the intercepts."""
        problems = target.problems(chunk.targets)
        sample_weight = target.problem_weights(chunk.targets, chunk.weights)
        columns = np.flatnonzero(np.bincount(present.indices, minlength=present.shape[1]))
        features = Features(present[:, columns], ratios[columns])
        places = np.append(columns, -1)
        for c, (values, precision) in enumerate(zip(*self, strict=True)):
            matrix = features.of_score(c)
            coefficients, intercept = updated(
                matrix,
                problems[:, c],
                sample_weight[:, c],
                values[columns],
                values[-1],
                precision[places].astype(np.float64),
                _TOLERANCE * len(chunk),
            )
            values[places] = np.append(coefficients, intercept)
            margins = matrix @ coefficients + intercept
            curvature = sample_weight[:, c] * expit(margins) * expit(-margins)  # (D,)
            matrix.data **= 2
            precision[places] += np.append(matrix.T @ curvature, curvature.sum())
