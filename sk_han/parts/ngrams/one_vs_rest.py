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

from sk_han.kernels.engine import kernels, n_threads, run_tasks
from sk_han.parts.ngrams.features import Features, SameForAll
from sk_han.utils.containers import Flags, Floats

# With a third of it the loss of other documents is the same; with three times it varies by 3 %.
_TOLERANCE = 0.01
_MOST_PASSES = 1000
# A third of L-BFGS' time for rare labels, and its intercept is penalized.
_LIBLINEAR: dict[str, Any] = {"solver": "liblinear", "dual": True, "tol": 0.1, "random_state": 0}
# Weights and own values of the problems that are solved at once: so many are worth it on any number
# of threads, and so many each thread may have a problem for.
_NUMBERS_AT_ONCE, _MOST_NUMBERS = 4_000_000, 64_000_000


def one_vs_rest(
    vectors: Features | SameForAll,
    is_positive: NDArray[np.float32],
    weights: Floats,
    strength: float,
    tolerance: float = _TOLERANCE,
    *,
    is_penalized: bool = False,
) -> Iterator[tuple[Floats, float]]:
    """Yield the coefficients (F,) and the intercept of each problem of (D, B) in turn.

    By a kernel on several threads, or by scikit-learn, a problem after the other. The kernel takes
    a fourth to a tenth of the time of scikit-learn's L-BFGS (docs/what_was_tried.md). Whether the
    intercept is penalized, as by LIBLINEAR, matters where labels are rare.
    """
    compiled = kernels("logistic")
    if compiled is None:
        for b in range(is_positive.shape[1]):
            given = vectors.of_score(b), is_positive[:, b], weights[:, b]
            options = _LIBLINEAR if is_penalized else {}
            yield logistic_regression(*given, strength, **options)
        return
    matrix = vectors.matrix
    n_numbers = matrix.shape[1] + 1 + (matrix.nnz if vectors.n_own > 1 else 0)
    for_threads = min(n_threads(), _MOST_NUMBERS // n_numbers)
    size = max(1, for_threads, _NUMBERS_AT_ONCE // n_numbers)
    for start in range(0, is_positive.shape[1], size):
        group = slice(start, start + size)
        sides, counts = is_positive[:, group].T > 0, weights[:, group].T > 0
        one_sided = ~((sides & counts).any(axis=1) & (~sides & counts).any(axis=1))
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
            int(is_penalized),
            tolerance,
            _MOST_PASSES,
            solved,
        )
        for b in np.flatnonzero(one_sided).tolist():
            solved[b, -1] = _log_odds(sides[b, counts[b]])
        for found in solved:
            yield found[:-1], float(found[-1])


def logistic_regression(
    points: Any,
    is_positive: NDArray[np.float32],
    weights: Floats,
    strength: float,
    **options: Any,
) -> tuple[Floats, float]:
    """Return the coefficients (F,) and the intercept by scikit-learn.

    If all documents that count are on one side, the intercept is the log-odds of their numbers, and
    the coefficients are 0.
    """
    sides = is_positive > 0
    counting = sides[weights > 0]
    if counting.all() or not counting.any():
        return np.zeros(points.shape[1]), _log_odds(counting)
    # BLAS adds vectors here, for which its threads wait for each other: where other work keeps the
    # cores busy, two took twenty times as long as one.
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        # Weights of all sizes take more steps. What the solution is worth is found out of sample.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=1000, **options)
        model.fit(points, sides, weights)
    return model.coef_[0], float(model.intercept_[0])


def _log_odds(sides: Flags) -> float:
    n_positive = np.count_nonzero(sides)
    return float(np.log((n_positive + 0.5) / (len(sides) - n_positive + 0.5)))
