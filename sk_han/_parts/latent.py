"""The latent model: logistic regression on directions learnt from text without labels."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sk_han._documents import DocumentArray, LabelledDocuments, divided
from sk_han._documents.array import sampled_rows
from sk_han._parts.ngram_fitting import coefficients_of, count_ngrams, document_counts
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.ngrams import WordTable
from sk_han._parts.one_vs_rest import Features, dense_one_vs_rest, update_problems
from sk_han._targets import Target
from sk_han._utils.containers import Integers
from sk_han.embeddings._cooccurrence import left_singular_vectors, sparse_product

_RANK = 400
_MIN_DOCUMENTS = 5  # of an n-gram; rarer ones add nothing to the directions
_MOST_NGRAMS = 1 << 18  # those of the most documents; more make the model larger and slower
_MOST_WEIGHTS = 1 << 24  # of n-grams for all classes; they are 64 MB
_MOST_WORDS = 1 << 25  # words learnt from in all; it bounds the memory to 4 GB or so
_WORDS_AT_ONCE = 1 << 22  # of documents whose vectors are computed
_MOST_DOCUMENTS = 1 << 17  # with labels; 400 coefficients need no more, and vectors are 0.6 GB
_FEWEST_OF_CLASS = 20  # documents of a class that its sample has at least, if there are so many
_C = 10.0  # inverse strength of the L2 regularization, for vectors of a mean length of about 1
_C_OF_PORTIONS = 1.0  # the same for the portions of `partial_fit`; not tuned


class LatentSpace(NamedTuple):
    """Directions in which documents differ most, as combinations of n-grams."""

    ngram_range: tuple[int, int]
    buckets: Integers  # (F,), in rising order
    ratios: NDArray[np.float32]  # (F, 1), squared inverse document frequencies
    projection: NDArray[np.float32]  # (F, R), each direction times its singular value

    def vectors(self, documents: DocumentArray) -> NDArray[np.float32]:
        """Project documents, (D, R)."""
        present = (
            count_ngrams(some, self.ngram_range, self.buckets)
            for some in divided(documents, _WORDS_AT_ONCE)
        )
        features = (Features(each, self.ratios).of_problem(0) for each in present)
        return np.concatenate([sparse_product(each, self.projection) for each in features])


def fit_latent_space(
    documents: DocumentArray,
    ngram_range: tuple[int, int],
    random_state: np.random.RandomState,
    n_problems: int = 1,
) -> LatentSpace | None:
    """Learn the directions in which documents differ most; None if too few n-grams are in 5.

    This is latent semantic analysis (Deerwester et al., 1990). An n-gram counts once a document, by
    the square of its inverse document frequency. The square, and directions times singular values,
    are what helps with few labels (docs/what_was_tried.md). 100,000 reviews of 26 million words
    take 4.5 GB of memory, and 60 s on two threads.
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
    # The mean square of the documents' lengths is then 1.
    scale = float(np.sqrt(np.sum(values.astype(np.float64) ** 4) / len(documents)))
    if scale == 0:
        return None
    return LatentSpace(ngram_range, buckets, ratios, directions * (values / scale))


def sampled_text(
    documents: DocumentArray, most_words: int, random_state: np.random.RandomState
) -> DocumentArray:
    """Return all documents, or a random sample of so many words."""
    if documents.n_words <= most_words:
        return documents
    rows = sampled_rows(documents.words_per_document, most_words, random_state)
    return documents[np.sort(rows)]


def _least_documents(counts: Integers, n_problems: int) -> int:
    """Return the document frequency from which on there are not too many n-grams."""
    most = max(1, min(_MOST_NGRAMS, _MOST_WEIGHTS // n_problems))
    enough = counts[counts >= _MIN_DOCUMENTS]  # counts are mostly 0
    if len(enough) <= most:
        return _MIN_DOCUMENTS
    return int(np.partition(enough, -most - 1)[-most - 1]) + 1


class LatentLearner:
    """Fits latent models to some of the labelled documents, whose vectors are computed once.

    With a `table` the directions are those of characters.
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
        """Fit logistic regression to the documents of these rows; None if it cannot learn."""
        known, target, space = np.isin(self.rows, rows), self.target, self.space
        targets, weights = self.targets[known], self.weights[known]
        if not target.is_learnable(targets):
            return None
        in_class, points = target.problems(targets), self.vectors[known].astype(np.float64)
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
    """Return rows of at most 131,072 documents: all of rare classes, an equal share of others."""
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
    """Learn from one more portion; `n_documents` are those so far, by their weights.

    The directions are no longer known: weights of n-grams move as in `partial_fit_ngram_model`.
    """
    documents = data.documents if model.table is None else model.table.spell(data.documents)
    present = count_ngrams(documents, model.ngram_range, model.buckets)
    coefficients, intercept = coefficients_of(model), model.intercept.astype(np.float64)
    strength = n_documents / (_C_OF_PORTIONS * len(data))
    features = Features(present, model.ratios)
    update_problems(features, data, model.target, coefficients, intercept, strength)
    weights = (model.ratios * coefficients).astype(np.float32)
    return replace(model, weights=weights, intercept=intercept.astype(np.float32))
