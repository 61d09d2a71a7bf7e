"""Training of the part of columns: regularized regression on bins, values, months and weekdays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import block_diag, csr_matrix, eye
from threadpoolctl import threadpool_limits

from sk_han._documents import LabelledDocuments
from sk_han._parts.columns import Coding, ColumnEncoder, ColumnModel
from sk_han._parts.pool import COLUMNS
from sk_han._targets import Target
from sk_han._utils.containers import Floats, Integers

# Initial strength of the L2 penalty, and number of rounds in which weights and strengths are
# updated in turn. Both were chosen by cross-validation on 150 and 500 training documents of the
# corpora of benchmarks/text_beside_numbers.py, where ten useless columns cost 0.001 nats.
_STRENGTH, _ROUNDS = 100.0, 8
# Limits of the strength of a column.
_STRENGTHS = 0.1, 1e4


class ColumnSource(NamedTuple):
    """The columns of a table as the source of a linear part; see `sk_han._fitting.sources`."""

    encoder: ColumnEncoder

    @property
    def name(self) -> str:
        """Name of the part in the pool."""
        return COLUMNS

    def learner(self, data: LabelledDocuments, target: Target) -> ColumnLearner:
        """Return a learner, which fits the part to all documents or to some of them."""
        return ColumnLearner(self.encoder, data, target)


class ColumnLearner:
    """Fits the part of columns to all documents, or to some of them.

    Weights of values have an L2 penalty; weights of bins have one on the steps between neighbours.
    The strength of each column's penalty maximizes the evidence (automatic relevance determination,
    MacKay, 1992), so a useless column shrinks to 0. Logits are offsets to those of the class prior,
    which the other parts include.
    """

    def __init__(self, encoder: ColumnEncoder, data: LabelledDocuments, target: Target) -> None:
        self.encoder, self.data, self.target = encoder, data, target
        rows = data.documents.columns
        assert rows is not None
        document, place = np.nonzero(rows >= 0)
        entries = np.ones(len(document)), (document, rows[document, place])
        self.present = csr_matrix(entries, shape=(len(data), encoder.starts[-1]))
        codings = [*encoder.codings.values()]
        # The weight of a row is a sum of coefficients, since a bin adds its step to the bin before
        # it.
        self.steps = csr_matrix(
            block_diag([_steps(coding) for coding in codings] or [csr_matrix((0, 0))])
        )
        sizes = np.array([coding.n_rows - min(coding.n_bins, 1) for coding in codings], dtype=int)
        self.column_of = np.repeat(np.arange(len(codings)), sizes)  # of each coefficient, (F,)
        # The first coefficient of a column is for missing values; its steps come next. Columns with
        # the same number of steps form a block of indices, (C, S), for batched eigenvalues.
        first = np.cumsum(sizes) - sizes + 1
        n_steps = np.array([max(coding.n_bins - 1, 0) for coding in codings], dtype=int)
        self.step_blocks = [
            first[n_steps == n, np.newaxis] + np.arange(n) for n in np.unique(n_steps)
        ]

    def fit(self, rows: Integers) -> ColumnModel:
        """Fit to the documents of these rows."""
        target, targets, weights = self.target, self.data.targets[rows], self.data.weights[rows]
        present, steps, n = self.present[rows], self.steps, len(self.column_of)
        weights = weights / weights.mean()
        prior = prior_logits(target, targets, weights)
        strengths = np.full(len(self.encoder.codings), _STRENGTH)
        coefficients = np.zeros((n + 1, target.n_scores))  # intercepts in the last row
        # Prior standard deviations. L-BFGS works on coefficients divided by them, which all have
        # the same penalty.
        deviations = np.ones((n + 1, 1))

        def logits(coefficients: Floats) -> Floats:
            z: Floats = prior + present @ (steps @ coefficients[:n]) + coefficients[n]
            return z

        def loss_and_gradient(point: Floats) -> tuple[float, Floats]:
            scaled = point.reshape(coefficients.shape)
            losses, slopes = target.loss(logits(deviations * scaled), targets, weights)
            gradient = np.append(steps.T @ (present.T @ slopes), [slopes.sum(axis=0)], axis=0)
            gradient *= deviations
            gradient[:n] += scaled[:n]
            return float(losses.sum() + (scaled[:n] ** 2).sum() / 2), gradient.ravel()

        with np.errstate(under="ignore"), threadpool_limits(1, user_api="blas"):
            for number in range(_ROUNDS):
                if number:
                    p = target.probabilities(logits(coefficients))
                    curvature = steps.T @ (present.T @ (weights[:, np.newaxis] * p * (1 - p)))
                    strengths = self._strengths(strengths, curvature, coefficients[:n])
                deviations[:n, 0] = strengths[self.column_of] ** -0.5
                start = (coefficients / deviations).ravel()
                solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", tol=1e-5)
                coefficients = deviations * solution.x.reshape(coefficients.shape)
        shares = present.T @ (weights / weights.sum())  # weighted share of documents with each row
        return self._model(steps @ coefficients[:n], coefficients[n], shares)

    def _strengths(self, strengths: Floats, curvature: Floats, coefficients: Floats) -> Floats:
        """Update strengths by MacKay's rule: well-determined coefficients over the sum of squares.

        For steps, the curvature (F, K) of the loss is replaced by eigenvalues of its matrix, since
        documents above two steps determine both together.
        """
        for block in self.step_blocks:
            later = np.maximum.outer(*2 * [np.arange(block.shape[1])])
            matrices = curvature[block].swapaxes(1, 2)[..., later]  # (C, K, S, S)
            curvature[block] = np.linalg.eigvalsh(matrices).clip(0).swapaxes(1, 2)
        determined = curvature / (curvature + strengths[self.column_of, np.newaxis])
        n_determined, size = (
            np.bincount(self.column_of, values.sum(axis=1), len(strengths))
            for values in (determined, coefficients**2)
        )
        return np.clip(n_determined / np.maximum(size, 1e-12), *_STRENGTHS)

    def _model(self, of_rows: Floats, intercept: Floats, shares: Floats) -> ColumnModel:
        """Return the part, with weights relative to the average document; unseen values have 0."""
        intercept = intercept.copy()
        for _, coding, first, _ in self.encoder.places():
            rows = slice(first, first + coding.n_rows)
            mean = shares[rows] @ of_rows[rows]
            intercept += mean
            is_centred = shares[rows][coding.exclusive] > 0
            # A bin without documents has a weight too, which follows from its neighbours.
            is_centred[1 : 1 + coding.n_bins] = True
            of_rows[rows][coding.exclusive] -= np.outer(is_centred, mean)
        return ColumnModel(self.encoder, of_rows, intercept)


def prior_logits(target: Target, targets: NDArray[Any], weights: Floats) -> Floats:
    """Return the logits of the class prior, (K,), from the frequencies of classes."""
    share = np.average(target.soft(targets), axis=0, weights=weights).clip(1e-12, 1 - 1e-7)
    logits: Floats = np.log(share) - (0 if target.has_one_label else np.log1p(-share))
    return logits


def _steps(coding: Coding) -> Any:
    """Return the sparse matrix that maps coefficients of a column to the weights of its rows."""
    n_bins, others = coding.n_bins, coding.n_rows - 1 - coding.n_bins
    bins = np.tri(n_bins, max(n_bins - 1, 0), -1)
    return block_diag([eye(1), csr_matrix(bins), eye(others)])
