"""Training of the n-gram model of many classes or labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, vstack

from sk_han.documents import LabelledDocuments
from sk_han.parts.ngrams.features import SameForAll
from sk_han.parts.ngrams.hashing import (
    BITS,
    batches,
    buckets_of,
    column_table,
    keyed_ngrams,
    known_ngrams,
)
from sk_han.parts.ngrams.ngram_fitting import MIN_DOCUMENTS
from sk_han.parts.ngrams.one_vs_rest import one_vs_rest
from sk_han.parts.ngrams.presence import document_counts
from sk_han.parts.ngrams.sparse_model import SparseNgramModel, Terms, range_of_sparse
from sk_han.targets import Target
from sk_han.utils.containers import Floats, Integers

_OF_LONGER = 0.5  # factor of n-grams for each word beyond the first
_STRENGTHS = (3.0, 10.0, 30.0, 100.0)  # C of scikit-learn; documents decide
_ENOUGH_PROBLEMS = 30  # to choose the strength by
_SCALES = (0.5, 0.7, 1.0, 1.4, 2.0)  # at which strengths are compared
_SMALLEST = 0.02  # weights below this share of a problem's largest are left out (Babbar, 2017)


class _Solution(NamedTuple):
    """What a binary problem has learnt."""

    columns: Integers  # of the weights that are not small
    weights: Floats
    intercept: float


class SparseLearner:
    """Fits one-vs-rest logistic regression of many problems to the same features.

    By dual coordinate descent (Yu, Huang and Lin, 2011); small weights are left out (DiSMEC, Babbar
    and Schölkopf, 2017).
    """

    def __init__(
        self,
        data: LabelledDocuments,
        target: Target,
        ngram_range: tuple[int, int],
        *,
        of_words: bool = True,
    ) -> None:
        self.data, self.target = data, target
        self.ngram_range = range_of_sparse(ngram_range) if of_words else ngram_range
        documents = data.documents
        counts = document_counts(documents, self.ngram_range)
        self.buckets = np.flatnonzero(counts >= MIN_DOCUMENTS)
        idf = np.log(len(data) / counts[self.buckets]) + 1
        self.idf = (idf * self._factor_of_size() if of_words else idf).astype(np.float32)
        self.features = self._features()
        self.strength = _STRENGTHS[0]
        # What was solved to choose the strength: the documents, and what each problem has learnt.
        self.solved: tuple[Integers, dict[int, _Solution]] = np.empty(0, np.int64), {}

    def choose_strength(self, rows: Integers, held_out: Integers) -> None:
        """Choose the strength of regularization by the loss of documents not learnt from."""
        t = self.target.problems(self.data.targets)
        n_positive = np.minimum(t[rows].sum(axis=0), t[held_out].sum(axis=0))
        ranked = np.argsort(-n_positive, kind="stable")
        problems = ranked[:: max(1, len(ranked) // 2 // _ENOUGH_PROBLEMS)]
        problems = problems[n_positive[problems] > 0][:_ENOUGH_PROBLEMS]
        if not len(problems) or not len(self.buckets):
            return
        losses: list[float] = []
        for strength in _STRENGTHS:
            solutions = self._solutions(rows, problems, strength)
            weights, intercept = self._joined(solutions)
            z = (self.features[held_out] @ weights).toarray() + intercept
            signs = np.where(t[held_out][:, problems] > 0, 1.0, -1.0)
            losses.append(min(float(np.logaddexp(0, -s * signs * z).mean()) for s in _SCALES))
            best = int(np.argmin(losses))
            if losses[-1] > losses[best]:
                break
            if best == len(losses) - 1:
                self.strength = strength
                self.solved = rows, dict(zip(problems.tolist(), solutions, strict=True))

    def fit(self, rows: Integers) -> SparseNgramModel | None:
        """Fit a model to some of the documents; None if no problem has both sides."""
        if not len(self.buckets) or not self.target.is_learnable(self.data.targets[rows]):
            return None
        solved_for, known = self.solved
        known = known if np.array_equal(solved_for, rows) else {}
        rest = np.setdiff1d(np.arange(self.target.n_problems), list(known))
        found = self._solutions(rows, rest, self.strength)
        known = {**known, **dict(zip(rest.tolist(), found, strict=True))}
        by_problem, intercept = self._joined([known[b] for b in sorted(known)])
        weights = csr_matrix(by_problem)
        return SparseNgramModel(
            self.target,
            self.ngram_range,
            self.buckets,
            self.idf,
            np.diff(weights.indptr).astype(np.int32),
            weights.indices.astype(np.int32),
            weights.data.astype(np.float32),
            intercept.astype(np.float32),
        )

    def _factor_of_size(self) -> Floats:
        """Return the factor of each n-gram for its words beyond the fewest, (F,)."""
        size = np.full(1 << BITS, self.ngram_range[0], dtype=np.int32)
        for batch in batches(self.data.documents):
            keys, _, n = keyed_ngrams(batch, self.ngram_range)
            size[buckets_of(keys)] = n
        beyond = size[self.buckets] - self.ngram_range[0]
        return np.power(_OF_LONGER, beyond, dtype=np.float64)

    def _features(self) -> csr_matrix:
        """Return the vectors of all documents, (D, F)."""
        column_of, found = column_table(self.buckets), []
        for batch in batches(self.data.documents):
            known = known_ngrams(batch, self.ngram_range, column_of)
            terms = Terms.of(known, len(batch), self.idf)
            starts = np.searchsorted(terms.rows, np.arange(len(batch) + 1))
            shape = len(batch), len(self.buckets)
            found.append(csr_matrix((terms.values, terms.columns, starts), shape))
        return vstack(found, format="csr")

    def _solutions(self, rows: Integers, problems: Integers, strength: float) -> list[_Solution]:
        """Solve problems, and leave small weights out."""
        features, data = self.features[rows], self.data[rows]
        is_positive = self.target.problems(data.targets)
        sample_weight = self.target.problem_weights(data.targets, data.weights)
        sample_weight = sample_weight / data.weights.mean()
        solutions = []
        given = SameForAll(features), is_positive[:, problems], sample_weight[:, problems], strength
        for found, intercept in one_vs_rest(*given, is_penalized=True):
            large = np.abs(found) >= _SMALLEST * np.abs(found).max(initial=0)
            kept = np.flatnonzero(large & (found != 0))
            solutions.append(_Solution(kept, found[kept], intercept))
        return solutions

    def _joined(self, solutions: list[_Solution]) -> tuple[csc_matrix, Floats]:
        """Return the weights of B problems as a matrix, (F, B), and intercepts, (B,)."""
        starts = np.append(0, np.cumsum([len(each.columns) for each in solutions]))
        values = np.concatenate([each.weights for each in solutions])
        columns = np.concatenate([each.columns for each in solutions])
        shape = len(self.buckets), len(solutions)
        intercept = np.array([each.intercept for each in solutions])
        return csc_matrix((values, columns, starts), shape=shape), intercept
