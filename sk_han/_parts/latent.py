"""Latent models: logistic regression on directions learned from unlabelled text."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sk_han._documents import DocumentArray, LabelledDocuments, document_chunks
from sk_han._documents.array import sampled_rows
from sk_han._parts.ngram_fitting import count_ngrams, document_counts, ratio_coefficients
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.ngrams import WordTable
from sk_han._parts.one_vs_rest import Features, dense_one_vs_rest, update_problems
from sk_han._targets import Target
from sk_han._utils.containers import Integers
from sk_han.embeddings._cooccurrence import left_singular_vectors, sparse_product

_RANK = 400
# Rarer n-grams add nothing to the directions. Of the others the most frequent are taken: more would
# make the model larger and slower. The weights for all classes take up to 64 MB.
_MIN_DOCUMENTS, _MOST_NGRAMS, _MOST_WEIGHTS = 5, 1 << 18, 1 << 24
# Words from which directions are learned, which limits the memory to about 4 GB, and words of the
# documents that are projected at once.
_MOST_WORDS, _WORDS_AT_ONCE = 1 << 25, 1 << 22
# Labelled documents: 400 coefficients need no more, whose vectors take 0.6 GB. The sample has at
# least so many documents of each class, if they exist.
_MOST_DOCUMENTS, _FEWEST_OF_CLASS = 1 << 17, 20
# Inverse strength of the L2 penalty, for vectors of a mean length of about 1; the one for portions
# of `partial_fit` has not been tuned.
_C, _C_OF_PORTIONS = 10.0, 1.0


class LatentSpace(NamedTuple):
    """Directions of latent semantic analysis, as linear combinations of n-grams."""

    ngram_range: tuple[int, int]
    buckets: Integers  # (F,), in rising order
    ratios: NDArray[np.float32]  # (F, 1), squared inverse document frequencies
    projection: NDArray[np.float32]  # (F, R), each direction times its singular value

    def vectors(self, documents: DocumentArray) -> NDArray[np.float32]:
        """Project documents, (D, R)."""
        present = (
            count_ngrams(chunk, self.ngram_range, self.buckets)
            for chunk in document_chunks(documents, _WORDS_AT_ONCE)
        )
        features = (Features(counts, self.ratios).of_problem(0) for counts in present)
        return np.concatenate([sparse_product(rows, self.projection) for rows in features])


def fit_latent_space(
    documents: DocumentArray,
    ngram_range: tuple[int, int],
    random_state: np.random.RandomState,
    n_problems: int = 1,
) -> LatentSpace | None:
    """Learn the directions in which documents differ most: latent semantic analysis.

    As in Deerwester et al. (1990), but an n-gram counts once per document, weighted by its squared
    inverse document frequency, and directions are multiplied by their singular values: both help
    with few labels (docs/what_was_tried.md). 100,000 reviews of 26 million words take 4.5 GB of
    memory, and 60 s on two threads. The result is None if too few n-grams occur in 5 documents.
    """
    documents = sampled_text(documents, _MOST_WORDS, random_state)
    counts = document_counts(documents, ngram_range)
    buckets = np.flatnonzero(counts >= _least_documents(counts, n_problems))
    rank = min(_RANK, len(buckets) - 1, len(documents) - 1)
    if rank < 1:
        return None
    ratios = (np.log(len(documents) / counts[buckets]) ** 2).astype(np.float32)[:, np.newaxis]
    rows = Features(count_ngrams(documents, ngram_range, buckets), ratios).of_problem(0)
    directions, values = left_singular_vectors(rows.T.tocsr(), rank, random_state)
    # With this scale the mean squared length of the documents' vectors is 1, as `_C` expects.
    scale = float(np.sqrt(np.sum(values.astype(np.float64) ** 4) / len(documents)))
    if scale == 0:
        return None
    return LatentSpace(ngram_range, buckets, ratios, directions * (values / scale))


def sampled_text(
    documents: DocumentArray, most_words: int, random_state: np.random.RandomState
) -> DocumentArray:
    """Return all documents, or a random sample of about `most_words` words."""
    if documents.n_words <= most_words:
        return documents
    rows = sampled_rows(documents.words_per_document, most_words, random_state)
    return documents[np.sort(rows)]


def _least_documents(counts: Integers, n_problems: int) -> int:
    """Return the lowest document frequency at which the number of n-grams is within its limits."""
    most = max(1, min(_MOST_NGRAMS, _MOST_WEIGHTS // n_problems))
    # Most counts are 0, so sorting the rest is much faster.
    enough = counts[counts >= _MIN_DOCUMENTS]
    if len(enough) <= most:
        return _MIN_DOCUMENTS
    return int(np.partition(enough, -most - 1)[-most - 1]) + 1


class LatentLearner:
    """Fits latent models to labelled documents, or to some of them; vectors are computed once.

    With a `table` the n-grams are those of characters.
    """

    def __init__(
        self,
        space: LatentSpace,
        data: LabelledDocuments,
        target: Target,
        table: WordTable | None = None,
    ) -> None:
        self.space, self.target, self.table = space, target, table
        self.rows = _sample(target.codes(data.targets))
        documents = data.documents[self.rows]
        self.vectors = space.vectors(documents if table is None else table.spell(documents))
        self.targets, self.weights = data.targets[self.rows], data.weights[self.rows]

    def fit(self, rows: Integers) -> NgramModel | None:
        """Fit a model to the documents of these rows; None if nothing can be learned."""
        in_sample, target, space = np.isin(self.rows, rows), self.target, self.space
        targets, weights = self.targets[in_sample], self.weights[in_sample]
        if not target.is_learnable(targets):
            return None
        in_class, points = target.problems(targets), self.vectors[in_sample].astype(np.float64)
        sample_weight = target.problem_weights(targets, weights / weights.mean())
        coefficients, intercept = dense_one_vs_rest(points, in_class, sample_weight, _C)
        with threadpool_limits(1, user_api="blas"):
            of_ngrams = space.ratios * (space.projection @ coefficients.astype(np.float32))
        return NgramModel(
            target,
            space.ngram_range,
            space.buckets,
            space.ratios,
            of_ngrams,
            intercept.astype(np.float32),
            table=self.table,
        )


def _sample(targets: Integers) -> Integers:
    """Sample at most 131,072 rows: all of rare classes, and an equal share of the others."""
    if len(targets) <= _MOST_DOCUMENTS:
        return np.arange(len(targets))
    order = np.random.RandomState(0).permutation(len(targets))
    order = order[np.argsort(targets[order], kind="stable")]
    sizes = np.bincount(targets)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(targets)) - starts[targets[order]]  # among those of the class
    turn = np.maximum(place - _FEWEST_OF_CLASS, 0) / sizes[targets[order]]
    return np.sort(order[np.argsort(turn, kind="stable")[:_MOST_DOCUMENTS]])


def partial_fit_latent_model(
    model: NgramModel, data: LabelledDocuments, n_documents: float
) -> NgramModel:
    """Update a latent model by a portion of documents; `n_documents` is the total weight so far.

    The model does not store its directions, so the weights of n-grams are updated, as in
    `partial_fit_ngram_model`.
    """
    documents = data.documents if model.table is None else model.table.spell(data.documents)
    present = count_ngrams(documents, model.ngram_range, model.buckets)
    coefficients, intercept = ratio_coefficients(model), model.intercept.astype(np.float64)
    strength = n_documents / (_C_OF_PORTIONS * len(data))
    features = Features(present, model.ratios)
    update_problems(features, data, model.target, coefficients, intercept, strength)
    weights = (model.ratios * coefficients).astype(np.float32)
    return replace(model, weights=weights, intercept=intercept.astype(np.float32))
