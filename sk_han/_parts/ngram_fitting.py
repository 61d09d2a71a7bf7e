"""Training of n-gram models: counts, weights by naive Bayes or TF-IDF, logistic regression."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, vstack
from threadpoolctl import threadpool_limits

from sk_han._documents import DocumentArray, LabelledDocuments
from sk_han._parts.ngram_model import NgramCounts, NgramModel
from sk_han._parts.ngrams import (
    BITS,
    WordTable,
    batches,
    column_table,
    keyed_ngrams,
    to_buckets,
)
from sk_han._parts.one_vs_rest import Features, one_vs_rest, update_problems
from sk_han._targets import Target
from sk_han._utils.containers import Floats, Integers

# Inverse strength of the L2 penalty, C of scikit-learn.
_INVERSE_STRENGTH = 10.0

# Additive smoothing: so many occurrences are added to the counts of an n-gram, in proportion to the
# class frequencies, so that the ratio of a rare n-gram is near 0 in small and large classes alike.
# Characters occur more often than words and need less of it.
_SMOOTHING, _SMOOTHING_OF_CHARACTERS = 8.0, 2.0

# An n-gram of a single document tells nothing about others.
MIN_DOCUMENTS = 2

# Up to this many problems each have naive Bayes ratios. These are more accurate on opinions and
# short texts (28 emotions), and less so on topics (90 of Reuters), where they take ten times as
# long.
MOST_DENSE = 30

# With TF-IDF, trigrams would take half of the time, but do not help with topics. Each word of an
# n-gram beyond the first halves its weight.
_MOST_WORDS, _OF_LONGER = 2, 0.5
# Candidates for the inverse strength, compared on held-out documents by up to this number of
# problems, and each at its best scale, since the scale of logits is calibrated later anyway.
_STRENGTHS = (3.0, 10.0, 30.0, 100.0)
_ENOUGH_PROBLEMS = 30
_SCALES = (0.5, 0.7, 1.0, 1.4, 2.0)
# Weights below this share of a problem's largest are set to 0 (Babbar and Schölkopf, 2017).
_SMALLEST = 0.02


def count_ngrams(
    documents: DocumentArray,
    ngram_range: tuple[int, int],
    buckets: Integers | None = None,
    *,
    binary: bool = True,
) -> csr_matrix:
    """Count the n-grams of each document, or mark those that occur with 1, as a matrix (D, F).

    Columns are `buckets`, which are sorted, or all hash values. Rows have sorted indices.
    """
    n_columns = 1 << BITS if buckets is None else len(buckets)
    column_of = None if buckets is None else column_table(buckets)
    parts = []
    for batch in batches(documents):
        keys, first_words, _ = keyed_ngrams(batch, ngram_range)
        columns = to_buckets(keys)
        rows = np.repeat(np.arange(len(batch)), batch.words_per_document)[first_words]
        if column_of is not None:
            columns = column_of[columns].astype(np.int64) - 1
            rows, columns = rows[columns >= 0], columns[columns >= 0]
        # Row and column are packed into one number of 32 bits, since NumPy sorts these several
        # times faster than SciPy sorts the columns of each row.
        entries = np.sort((rows << BITS | columns).astype(np.uint32))
        is_first = np.ones(len(entries), dtype=bool)  # of a run of equal entries
        np.not_equal(entries[1:], entries[:-1], out=is_first[1:])
        places, entries = np.append(np.flatnonzero(is_first), len(entries)), entries[is_first]
        starts = np.searchsorted(entries, np.arange(len(batch) + 1, dtype=np.uint32) << BITS)
        columns = (entries & np.uint32((1 << BITS) - 1)).astype(np.int32)
        counts = np.ones(len(columns)) if binary else np.diff(places)
        entries_of = counts.astype(np.float32), columns, starts
        parts.append(csr_matrix(entries_of, shape=(len(batch), n_columns)))
    return vstack(parts, format="csr")


def frequent_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int], least: int, *, binary: bool = True
) -> tuple[Integers, csr_matrix]:
    """Return the hash values (F,) of n-grams in at least `least` documents, and counts (D, F)."""
    counts = count_ngrams(documents, ngram_range, binary=binary)
    buckets = np.flatnonzero(counts.getnnz(axis=0) >= least)
    return buckets, counts[:, buckets]


def document_counts(documents: DocumentArray, ngram_range: tuple[int, int]) -> Integers:
    """Count the documents with each n-gram, shape (number of hash values,)."""
    counts = np.zeros(1 << BITS, dtype=np.int64)
    for batch in batches(documents):
        np.add.at(counts, count_ngrams(batch, ngram_range).indices, 1)
    return counts


class _Solution(NamedTuple):
    """The solution of a binary problem, as its large coefficients and their columns."""

    columns: Integers
    coefficients: Floats
    intercept: float


class NgramLearner:
    """Fits n-gram models to all documents, or to some of them; n-grams are counted once.

    Up to 30 problems are solved by the NB-SVM of Wang and Manning (2012) with the logistic loss:
    logistic regression on log-count ratios of n-grams. More problems use TF-IDF, dual coordinate
    descent (Yu, Huang and Lin, 2011), and leave out small weights (DiSMEC, Babbar and Schölkopf,
    2017). Vectors of documents have length 1, so that long documents do not outweigh short ones.
    Memory is about 150 bytes per word for n-grams of 1 to 3 words. With a `table`, n-grams are
    those of characters.
    """

    def __init__(
        self,
        data: LabelledDocuments,
        target: Target,
        ngram_range: tuple[int, int],
        table: WordTable | None = None,
    ) -> None:
        if table is not None:
            data = replace(data, documents=table.spell(data.documents))
        self.data, self.target, self.table = data, target, table
        self.is_tfidf = target.n_problems > MOST_DENSE
        smallest, largest = ngram_range
        if self.is_tfidf and table is None:
            largest = max(smallest, min(largest, _MOST_WORDS))
        self.ngram_range = smallest, largest
        self.buckets, self.values = frequent_ngrams(
            data.documents, self.ngram_range, MIN_DOCUMENTS, binary=not self.is_tfidf
        )
        if self.is_tfidf:
            idf = np.log(len(data) / self.values.getnnz(axis=0)) + 1
            self.idf = (idf * self._factor_of_size() if table is None else idf).astype(np.float32)
            self.values.data = 1 + np.log(self.values.data)
            self.strength = _STRENGTHS[0]
            # Rows and solutions from the choice of the strength, which `fit` reuses for equal rows.
            self.solved: tuple[Integers, dict[int, _Solution]] = np.empty(0, np.int64), {}

    def fit(self, rows: Integers) -> NgramModel | None:
        """Fit a model to the documents of these rows; None if nothing can be learned."""
        if not len(self.buckets) or not self.target.is_learnable(self.data.targets[rows]):
            return None
        return self._fit_tfidf(rows) if self.is_tfidf else self._fit_naive_bayes(rows)

    def choose_strength(self, rows: Integers, held_out: Integers) -> None:
        """Choose the strength of the penalty of TF-IDF by the loss on held-out documents.

        The loss usually falls and then rises with the strength, so the first rise ends the search.
        """
        t = self.target.problems(self.data.targets)
        n_positive = np.minimum(t[rows].sum(axis=0), t[held_out].sum(axis=0))
        ranked = np.argsort(-n_positive, kind="stable")
        problems = ranked[:: max(1, len(ranked) // 2 // _ENOUGH_PROBLEMS)]
        problems = problems[n_positive[problems] > 0][:_ENOUGH_PROBLEMS]
        if not len(problems) or not len(self.buckets):
            return
        points = Features(self.values[held_out], self.idf[:, np.newaxis]).of_problem(0)
        signs = np.where(t[held_out][:, problems] > 0, 1.0, -1.0)
        losses: list[float] = []
        for strength in _STRENGTHS:
            solutions = self._solutions(rows, problems, strength)
            coefficients, intercept = self._stack(solutions)
            z = (points @ coefficients).toarray() + intercept
            losses.append(min(float(np.logaddexp(0, -s * signs * z).mean()) for s in _SCALES))
            best = int(np.argmin(losses))
            if losses[-1] > losses[best]:
                break
            if best == len(losses) - 1:
                self.strength = strength
                self.solved = rows, dict(zip(problems.tolist(), solutions, strict=True))

    def _fit_naive_bayes(self, rows: Integers) -> NgramModel | None:
        buckets, present, data = self.buckets, self.values, self.data[rows]
        if len(rows) < len(self.data):
            present = present[rows]
            kept = present.getnnz(axis=0) >= MIN_DOCUMENTS
            buckets, present = buckets[kept], present[:, kept]
            if not len(buckets):
                return None
        in_class = self.target.problems(data.targets)  # (D, B)
        counts = _counts(present, in_class, data.weights)
        ratios = _log_count_ratios(counts, self.table)
        weights, intercept = np.empty_like(ratios), np.empty(ratios.shape[1], dtype=np.float32)
        sample_weight = self.target.problem_weights(
            data.targets, data.weights / data.weights.mean()
        )
        features = Features(present, ratios)
        solutions = one_vs_rest(features, in_class, sample_weight, _INVERSE_STRENGTH)
        for b, (coefficients, intercept[b]) in enumerate(solutions):
            weights[:, b] = coefficients * ratios[:, b]
        return NgramModel(
            self.target,
            self.ngram_range,
            buckets,
            ratios,
            weights,
            intercept,
            counts=counts,
            table=self.table,
        )

    def _fit_tfidf(self, rows: Integers) -> NgramModel:
        solved_rows, solutions = self.solved
        solutions = dict(solutions) if np.array_equal(solved_rows, rows) else {}
        rest = np.setdiff1d(np.arange(self.target.n_problems), list(solutions))
        solutions |= zip(rest.tolist(), self._solutions(rows, rest, self.strength), strict=True)
        by_problem, intercept = self._stack([solutions[b] for b in sorted(solutions)])
        weights, ratios = csr_matrix(by_problem), self.idf[:, np.newaxis]
        n_weights = np.diff(weights.indptr).astype(np.int32)
        return NgramModel(
            self.target,
            self.ngram_range,
            self.buckets,
            ratios,
            (weights.data * np.repeat(self.idf, n_weights)).astype(np.float32),
            intercept.astype(np.float32),
            problems=weights.indices.astype(np.int32),
            n_weights=n_weights,
            table=self.table,
        )

    def _factor_of_size(self) -> Floats:
        """Return the factor (F,) by which n-grams longer than the shortest are weighted down."""
        size = np.full(1 << BITS, self.ngram_range[0], dtype=np.int32)
        for batch in batches(self.data.documents):
            keys, _, n = keyed_ngrams(batch, self.ngram_range)
            size[to_buckets(keys)] = n
        beyond = size[self.buckets] - self.ngram_range[0]
        return np.power(_OF_LONGER, beyond, dtype=np.float64)

    def _solutions(self, rows: Integers, problems: Integers, strength: float) -> list[_Solution]:
        """Solve problems of TF-IDF, and leave out small coefficients."""
        features, data = Features(self.values[rows], self.idf[:, np.newaxis]), self.data[rows]
        is_positive = self.target.problems(data.targets)[:, problems]
        sample_weight = self.target.problem_weights(data.targets, data.weights)[:, problems]
        sample_weight = sample_weight / data.weights.mean()
        solutions = []
        for w, intercept in one_vs_rest(
            features, is_positive, sample_weight, strength, is_penalized=True
        ):
            large = np.abs(w) >= _SMALLEST * np.abs(w).max(initial=0)
            kept = np.flatnonzero(large & (w != 0))
            solutions.append(_Solution(kept, w[kept], intercept))
        return solutions

    def _stack(self, solutions: list[_Solution]) -> tuple[csc_matrix, Floats]:
        """Return the coefficients of B problems as a matrix, (F, B), and their intercepts, (B,)."""
        starts = np.append(0, np.cumsum([len(s.columns) for s in solutions]))
        values = np.concatenate([s.coefficients for s in solutions])
        columns = np.concatenate([s.columns for s in solutions])
        shape = len(self.buckets), len(solutions)
        intercept = np.array([s.intercept for s in solutions])
        return csc_matrix((values, columns, starts), shape=shape), intercept


def partial_fit_ngram_model(
    model: NgramModel | None,
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
    table: WordTable | None = None,
) -> NgramModel | None:
    """Update a naive Bayes model by one more portion of documents; classes may be missing in it.

    Counts are added, and ratios are recomputed from the sums. The new weights and intercept
    minimize the loss of the portion plus ``n / (2 C m)`` times the squared distance to the previous
    ones, where m of the n documents so far are in the portion. For the first portion this is
    logistic regression with a penalty on the intercept too. Later portions use the n-gram range of
    the first. With a single class there is no model.

    The model holds every n-gram of all portions, at most 4 million of ``16 + 16 * B`` bytes each.
    """
    if target.n_scores == 1:
        return None
    if model is not None:
        ngram_range, table = model.ngram_range, model.table
    documents = data.documents if table is None else table.spell(data.documents)
    of_portion, present = frequent_ngrams(documents, ngram_range, 1)
    in_class = target.problems(data.targets)
    n_scores = in_class.shape[1]
    buckets, intercept = of_portion, np.zeros(n_scores)
    coefficients = np.zeros((len(buckets), n_scores))
    counts = _counts(present, in_class, data.weights)
    columns = np.arange(len(of_portion))  # of the portion's n-grams among all
    if model is not None:
        # Models without counts are latent ones, which `partial_fit_latent_model` updates.
        assert model.counts is not None
        buckets = np.union1d(of_portion, model.buckets)
        columns, earlier = (np.searchsorted(buckets, b) for b in (of_portion, model.buckets))
        coefficients = np.zeros((len(buckets), n_scores))
        coefficients[earlier] = ratio_coefficients(model)
        intercept = model.intercept.astype(np.float64)
        counts = _add_counts(len(buckets), [(counts, columns), (model.counts, earlier)])
    # N-grams seen in a single document have no effect yet, but are kept for later portions.
    seen_again = counts.n_seen >= MIN_DOCUMENTS
    ratios = np.zeros((len(buckets), n_scores), dtype=np.float32)
    ratios[seen_again] = _log_count_ratios(counts.select(seen_again), table)
    features = Features(present, ratios[columns])
    strength = counts.n_documents[0] / (_INVERSE_STRENGTH * len(data))
    # BLAS only adds vectors here; its threads would wait for each other, as in `one_vs_rest`.
    with threadpool_limits(1, user_api="blas"):
        update_problems(features, data, target, coefficients, intercept, strength, columns)
    return NgramModel(
        target,
        ngram_range,
        buckets,
        ratios,
        (coefficients * ratios).astype(np.float32),
        intercept.astype(np.float32),
        counts=counts,
        table=table,
    )


def _counts(present: csr_matrix, in_class: NDArray[np.float32], weights: Floats) -> NgramCounts:
    """Count documents with each n-gram inside and outside each class; weights get a mean of 1."""
    weights = (weights / weights.mean())[:, np.newaxis]
    return NgramCounts(
        present.getnnz(axis=0).astype(np.float32),
        (present.T @ (weights * in_class)).astype(np.float32),
        (present.T @ (weights * (1 - in_class))).astype(np.float32),
        np.append(weights.sum(), (weights * in_class).sum(axis=0)),
    )


def _add_counts(n_features: int, parts: list[tuple[NgramCounts, Integers]]) -> NgramCounts:
    """Add up counts, each given with its columns among `n_features`."""
    shapes = [(n_features, *array.shape[1:]) for array in parts[0][0][:3]]
    sums = [np.zeros(shape, dtype=np.float32) for shape in shapes]
    for counts, columns in parts:
        for array, added in zip(sums, counts[:3], strict=True):
            array[columns] += added
    n_seen, inside, outside = sums
    n_documents = np.sum([counts.n_documents for counts, _ in parts], axis=0)
    return NgramCounts(n_seen, inside, outside, n_documents)


def _log_count_ratios(counts: NgramCounts, table: WordTable | None) -> NDArray[np.float32]:
    """Compute the log-count ratios of n-grams inside and outside each class, (F, B)."""
    smoothing = _SMOOTHING if table is None else _SMOOTHING_OF_CHARACTERS
    shares = (counts.n_documents[1:] / counts.n_documents[0]).clip(1e-9, 1 - 1e-9)  # (B,)
    inside = counts.inside + smoothing * shares  # (F, B)
    outside = counts.outside + smoothing * (1 - shares)
    ratios = np.log(inside / inside.sum(axis=0)) - np.log(outside / outside.sum(axis=0))
    return ratios.astype(np.float32)


def ratio_coefficients(model: NgramModel) -> Floats:
    """Return the coefficients of the ratios, (F, B): weights divided by ratios, or else 0."""
    zeros = np.zeros(model.weights.shape)
    return np.divide(model.weights, model.ratios, out=zeros, where=model.ratios != 0)
