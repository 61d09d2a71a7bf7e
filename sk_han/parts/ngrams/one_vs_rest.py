"""Logistic regression of binary problems of sparse vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from sk_han.engines.engine_choice import kernels
from sk_han.engines.tasks import n_threads, run_tasks
from sk_han.parts.ngrams.features import Vectors

# With a third of it the loss of other documents is the same; with three times it varies by 3 %.
_TOLERANCE = 0.01
_MOST_PASSES = 1000
_NUMBERS_AT_ONCE = 4_000_000  # weights, or values of vectors, of a group of problems


def one_vs_rest(
    vectors: Vectors,
    is_positive: NDArray[np.float32],
    weights: NDArray[np.float64],
    strength: float,
    tolerance: float = _TOLERANCE,
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Yield the coefficients (F,) and the intercept of each problem of (D, B) in turn.

    By a kernel on several threads, or by scikit-learn, a problem after the other. It takes a fifth
    of the time of scikit-learn's L-BFGS (docs/what_was_tried.md).
    """
    compiled = kernels("logistic")
    if compiled is None:
        for b in range(is_positive.shape[1]):
            given = vectors.of_score(b), is_positive[:, b], weights[:, b]
            yield logistic_regression(*given, strength)
        return
    matrix = vectors.matrix
    n_numbers = matrix.shape[1] + 1 + (matrix.nnz if vectors.n_own > 1 else 0)
    size = max(n_threads(), _NUMBERS_AT_ONCE // n_numbers)
    for start in range(0, is_positive.shape[1], size):
        group = slice(start, start + size)
        sides = is_positive[:, group].T > 0
        one_sided = sides.all(axis=1) | ~sides.any(axis=1)
        solved = np.zeros((len(sides), matrix.shape[1] + 1))
        bounds = np.where(one_sided, 0, strength * weights[:, group]).T
        run_tasks(
            compiled.solve,
            len(solved),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            vectors.values(group),
            np.ascontiguousarray(np.where(sides, 1, -1), dtype=np.int8),
            np.ascontiguousarray(bounds),
            tolerance,
            _MOST_PASSES,
            solved,
        )
        solved[one_sided, -1] = [_log_odds(each) for each in sides[one_sided]]
        for found in solved:
            yield found[:-1], float(found[-1])


def logistic_regression(
    points: Any, is_positive: NDArray[np.float32], weights: NDArray[np.float64], strength: float
) -> tuple[NDArray[np.float64], float]:
    """Return the coefficients (F,) and the intercept by scikit-learn.

    Of one side alone there are log-odds of the number of documents.
    """
    sides = is_positive > 0
    if sides.all() or not sides.any():
        return np.zeros(points.shape[1]), _log_odds(sides)
    # BLAS adds vectors here, for which its threads wait for each other: where other work keeps the
    # cores busy, two took twenty times as long as one.
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        # Weights of all sizes take more steps. What the solution is worth is found out of sample.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=1000).fit(points, sides, weights)
    return model.coef_[0], float(model.intercept_[0])


def _log_odds(sides: NDArray[np.bool_]) -> float:
    n_positive = np.count_nonzero(sides)
    return float(np.log((n_positive + 0.5) / (len(sides) - n_positive + 0.5)))
