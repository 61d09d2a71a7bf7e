"""Training of the part of columns: regression on bins, values, months and weekdays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import block_diag, csr_matrix, eye
from threadpoolctl import threadpool_limits

from sk_han.documents import LabelledDocuments
from sk_han.parts.columns import Coding, ColumnEncoder, ColumnModel
from sk_han.targets import Target
from sk_han.utils.containers import Floats, Integers

# Strength of the L2 penalty at first, and how often the fit and the strengths of all columns are
# computed in turn. With 300 documents, ten useless columns then cost 0.002 nats.
_STRENGTH, _ROUNDS = 30.0, 4
_STRENGTHS = 0.1, 1e4  # the smallest and the largest one of a column
_MOST_DENSE = 500  # features; fewer are faster as a dense array


class ColumnLearner:
    """Fits the part of columns to all documents, and to some of them.

    The weights of values have an L2 penalty, and of bins the steps from one to the next. Each
    column has a strength of its own, which maximizes the evidence (MacKay, 1992): that of a useless
    column grows until it has no weights. The logits are what the columns change in those of the
    class frequencies, which the other parts include.
    """

    def __init__(self, encoder: ColumnEncoder, data: LabelledDocuments, target: Target) -> None:
        self.encoder, self.data, self.target = encoder, data, target
        rows = data.documents.columns
        assert rows is not None
        document, place = np.nonzero(rows >= 0)
        entries = np.ones(len(document)), (document, rows[document, place])
        self.present = csr_matrix(entries, shape=(len(data), encoder.starts[-1]))
        codings = [*encoder.codings.values()]
        # The weights of rows are sums of coefficients: bins add a step to the one before.
        self.steps = csr_matrix(
            block_diag([_steps(coding) for coding in codings] or [csr_matrix((0, 0))])
        )
        sizes = np.array([each.n_rows - min(each.n_bins, 1) for each in codings], dtype=int)
        self.column_of = np.repeat(np.arange(len(codings)), sizes)  # of each coefficient, (F,)

    def fit(self, rows: Integers) -> ColumnModel:
        """Fit to the documents of these rows."""
        target, targets, weights = self.target, self.data.targets[rows], self.data.weights[rows]
        present, n = self.present[rows], len(self.column_of)
        features: Any = present @ self.steps
        features = features.toarray() if n <= _MOST_DENSE else features
        weights = weights / weights.mean()
        prior = prior_logits(target, targets, weights)
        strengths = np.full(len(self.encoder.codings), _STRENGTH)
        found = np.zeros((n + 1, target.n_scores))  # the intercepts last

        def loss_and_gradient(point: Floats) -> tuple[float, Floats]:
            coefficients = point.reshape(found.shape)
            z = prior + features @ coefficients[:n] + coefficients[n]
            losses, slopes = target.loss(z, targets, weights)
            shrunk = strengths[self.column_of][:, np.newaxis] * coefficients[:n]
            gradient = np.concatenate([features.T @ slopes + shrunk, [slopes.sum(axis=0)]])
            return float(losses.sum() + (shrunk * coefficients[:n]).sum() / 2), gradient.ravel()

        with np.errstate(under="ignore"), threadpool_limits(1, user_api="blas"):
            for number in range(_ROUNDS):
                if number:
                    p = target.probabilities(prior + features @ found[:n] + found[n])
                    curvature = weights[:, np.newaxis] * p * (1 - p)  # (D, K)
                    strengths = self._strengths(strengths, features, found[:n], curvature)
                start = found.ravel()
                solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", tol=1e-5)
                found = solution.x.reshape(found.shape)
        return self._model(self.steps @ found[:n], found[n], present, weights / weights.sum())

    def _strengths(
        self, strengths: Floats, features: Any, coefficients: Floats, curvature: Floats
    ) -> Floats:
        """Return the number of well-determined coefficients of each column, by their squares."""
        new = np.empty_like(strengths)
        for c, coding in enumerate(self.encoder.codings.values()):
            own = features[:, self.column_of == c]
            if not coding.n_bins:  # a document has one value
                values = (own.T @ curvature).T
            else:
                own = np.asarray(own) if isinstance(own, np.ndarray) else own.toarray()
                values = np.stack(
                    [
                        np.linalg.eigvalsh(own.T @ (own * each[:, np.newaxis]))
                        for each in curvature.T
                    ]
                )
            n_determined = (values / (values + strengths[c])).sum()
            size = (coefficients[self.column_of == c] ** 2).sum()
            new[c] = np.clip(n_determined / max(size, 1e-12), *_STRENGTHS)
        return new

    def _model(
        self, of_rows: Floats, intercept: Floats, present: csr_matrix, shares: Floats
    ) -> ColumnModel:
        """Return the part, with weights relative to the average document: unseen values have 0."""
        intercept = intercept.copy()
        for _, coding, first, _ in self.encoder.places():
            own = slice(first, first + coding.n_rows)
            mean = shares @ (present[:, own] @ of_rows[own])
            intercept += mean
            # Each document has one of these rows, but for unseen values.
            one_each = slice(first, first + 1 + (coding.n_bins or len(coding.values)))
            is_seen = np.asarray(present[:, one_each].sum(axis=0)).ravel() > 0
            of_rows[one_each] -= np.outer(is_seen, mean)
        return ColumnModel(self.encoder, of_rows, intercept)


def prior_logits(target: Target, targets: NDArray[Any], weights: Floats) -> Floats:
    """Return the logits of the class frequencies, (K,)."""
    share = np.average(target.soft(targets), axis=0, weights=weights).clip(1e-12, 1 - 1e-7)
    found: Floats = np.log(share) - (0 if target.has_one_label else np.log1p(-share))
    return found


def _steps(coding: Coding) -> Any:
    """Return which coefficients sum to the weight of each row of a column."""
    n_bins, others = coding.n_bins, coding.n_rows - 1 - coding.n_bins
    bins = np.tri(n_bins, max(n_bins - 1, 0), -1)
    return block_diag([eye(1), csr_matrix(bins), eye(others)])
