"""Training of the part of sentence vectors: a linear model of one vector for each document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from sk_han._documents import LabelledDocuments
from sk_han._fitting.scales import fit_scales
from sk_han._parts.pool import VECTORS
from sk_han._parts.vectors import VectorModel, centred_vectors, document_vectors
from sk_han._targets import Target
from sk_han._utils.containers import Floats, Integers

# Strengths of the L2 penalty to try, for entries of mean square 1, the strongest first, and the
# default one if no document can be held out.
_STRENGTHS, _USUAL_STRENGTH = (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0), 100.0
# Once the loss exceeds the lowest one so far by this factor, weaker penalties are not tried.
_WORSE = 1.02
# From so many documents on, a single fold chooses the strength.
_ENOUGH = 2_000
_SOLVER = {"maxiter": 200, "ftol": 1e-6, "gtol": 1e-3}


class VectorSource(NamedTuple):
    """The sentence vectors of documents, which a linear model reads."""

    name: str = VECTORS

    def learner(self, data: LabelledDocuments, target: Target) -> VectorLearner:
        """Create the learner that fits the model to any subset of the documents."""
        return VectorLearner(data, target)


class VectorLearner:
    """Fits the linear model of sentence vectors to any subset of the documents.

    It minimizes the loss of the target with an L2 penalty. Vectors are centred and divided by a
    common scale, both computed from all documents, including held-out ones; no labels leak, since
    neither depends on them.
    """

    def __init__(self, data: LabelledDocuments, target: Target) -> None:
        self.data, self.target, self.strength = data, target, _USUAL_STRENGTH
        has_any = data.documents.sentences_per_document > 0
        vectors = document_vectors(data.documents)
        self.center = vectors[has_any].mean(axis=0) if has_any.any() else vectors[0]
        points = centred_vectors(data.documents, self.center)
        self.scale = 1 / max(float(np.sqrt((points**2).mean())), 1e-6)
        self.points, self.basis = points * self.scale, None
        # With an L2 penalty, the weights are combinations of the points, so fewer points than
        # dimensions need only as many weights as there are points.
        if len(points) < points.shape[1]:
            self.basis = np.linalg.qr(self.points.T)[0]  # (E, D)
            self.points = self.points @ self.basis

    def choose_strength(self, folds: Sequence[Integers]) -> None:
        """Choose the penalty with the lowest loss on the folds, after scaling their logits."""
        rows = np.arange(len(self.points))
        folds = [fold for fold in folds if 0 < len(fold) < len(rows)]
        folds = folds[: 1 if len(rows) >= _ENOUGH else None]
        if not folds:
            return
        scored, lowest = np.concatenate(folds), np.inf
        targets, weights = self.data.targets[scored], self.data.weights[scored]
        starts: list[Floats | None] = [None] * len(folds)
        with threadpool_limits(1, user_api="blas"):
            for strength in _STRENGTHS:
                z = np.empty((0, self.target.n_scores))
                for i, fold in enumerate(folds):
                    rest = np.setdiff1d(rows, fold, assume_unique=True)
                    starts[i] = solution = self._solve(rest, strength, starts[i])
                    z = np.append(z, self.points[fold] @ solution[:-1] + solution[-1], axis=0)
                scale = fit_scales(self.target, [z], targets, weights, np.ones(1))
                loss = self.target.loss(z * scale, targets, weights)[0].sum()
                if loss < lowest:
                    lowest, self.strength = loss, strength
                elif loss > lowest * _WORSE:
                    break

    def fit(self, rows: Integers) -> VectorModel | None:
        """Fit to these rows; return None if a class or label has none or all of them."""
        if not len(rows) or not self.target.is_learnable(self.data.targets[rows]):
            return None
        with threadpool_limits(1, user_api="blas"):
            solution = self._solve(rows, self.strength, None)
        weights = solution[:-1] if self.basis is None else self.basis @ solution[:-1]
        return VectorModel(self.center, weights * self.scale, solution[-1])

    def _solve(self, rows: Integers, strength: float, start: Floats | None) -> Floats:
        """Return the weights and, as the last row, the intercepts that minimize the loss."""
        points, targets = self.points[rows], self.data.targets[rows]
        weights = self.data.weights[rows] / self.data.weights[rows].mean()
        shape = points.shape[1] + 1, self.target.n_scores

        def loss_and_gradient(flat: Floats) -> tuple[float, Floats]:
            w = flat.reshape(shape)
            losses, slopes = self.target.loss(points @ w[:-1] + w[-1], targets, weights)
            gradient = np.append(points.T @ slopes, [slopes.sum(axis=0)], axis=0)
            gradient[:-1] += strength * w[:-1]
            return float(losses.sum() + strength / 2 * (w[:-1] ** 2).sum()), gradient.ravel()

        first = np.zeros(shape) if start is None else start
        with np.errstate(under="ignore"):
            solution = minimize(
                loss_and_gradient, first.ravel(), jac=True, method="L-BFGS-B", options=_SOLVER
            )
        lowest: Floats = solution.x.reshape(shape)
        return lowest
