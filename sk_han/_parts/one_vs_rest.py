"""One-vs-rest logistic regression: independent binary problems on sparse or dense vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from sk_han._documents import LabelledDocuments
from sk_han._kernels.engine import kernels, n_threads, run_tasks
from sk_han._targets import Target
from sk_han._utils.containers import Flags, Floats

# A third of this tolerance gives the same loss on other documents; with three times as much, the
# loss varies by 3 %.
_TOLERANCE, _MOST_PASSES = 0.01, 1000
# For rare labels liblinear takes a third of the time of L-BFGS, but it penalizes the intercept.
_LIBLINEAR: dict[str, Any] = {"solver": "liblinear", "dual": True, "tol": 0.1, "random_state": 0}
# Options with which scikit-learn's `LogisticRegression` calls L-BFGS.
_AS_SCIKIT_LEARN = {"maxiter": 1000, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}
# Problems are solved in batches, whose weights and values are in memory together. A batch may
# always have the first number of entries, and up to the second it has a problem for each thread.
_NUMBERS_AT_ONCE, _MOST_NUMBERS = 4_000_000, 64_000_000


class Features:
    """Vectors of documents: values of n-grams (D, F) times ratios, normalized to length 1.

    With ratios (F, B) each problem has its own vectors; with ratios (F, 1) all share them.
    """

    def __init__(self, values: csr_matrix, ratios: NDArray[np.float32]) -> None:
        # The matrix shares the index arrays of `values`; only its data array is replaced.
        self.matrix = csr_matrix((values.data, values.indices, values.indptr), values.shape)
        self.ratios, self.n_own, self._unweighted = ratios, ratios.shape[1], values.data
        squares = csr_matrix((values.data**2, values.indices, values.indptr), values.shape)
        lengths = np.sqrt(squares @ ratios**2)  # (D, B) or (D, 1)
        self.lengths = np.where(lengths > 0, lengths, 1)
        self.row_of_entry = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))

    def of_problem(self, b: int) -> csr_matrix:
        """Return the vectors of one problem, (D, F); the next call overwrites them."""
        self.matrix.data = self._values(min(b, self.n_own - 1))
        return self.matrix

    def values(self, problems: slice) -> NDArray[np.float32]:
        """Return the entries of the vectors of n problems, (n, nnz), or (1, nnz) if shared."""
        rows = range(self.n_own)[problems if self.n_own > 1 else slice(1)]
        values = np.empty((len(rows), self.matrix.nnz), dtype=np.float32)
        for row, b in zip(values, rows, strict=True):
            row[:] = self._values(b)
        return values

    def _values(self, b: int) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self.ratios[self.matrix.indices, b]
        values *= self._unweighted
        values /= self.lengths[self.row_of_entry, b]
        return values


def one_vs_rest(
    features: Features,
    is_positive: NDArray[np.float32],
    weights: Floats,
    strength: float,
    tolerance: float = _TOLERANCE,
    *,
    is_penalized: bool = False,
) -> Iterator[tuple[Floats, float]]:
    """Yield the coefficients (F,) and the intercept of each of B problems.

    They are computed by a kernel on several threads or, without Numba, by scikit-learn. The kernel
    takes a fourth to a tenth of the time of scikit-learn's L-BFGS, and half the time of its
    LIBLINEAR (docs/what_was_tried.md). A penalized intercept, as in LIBLINEAR, makes a difference
    for rare labels.
    """
    compiled = kernels("logistic")
    if compiled is None:
        options = _LIBLINEAR if is_penalized else {}
        # BLAS only adds vectors here, and its threads wait for each other: with other work on the
        # cores, two threads took twenty times as long as one.
        with threadpool_limits(1, user_api="blas"):
            for b in range(is_positive.shape[1]):
                problem = features.of_problem(b), is_positive[:, b], weights[:, b]
                yield logistic_regression(*problem, strength, **options)
        return
    matrix = features.matrix
    n_numbers = matrix.shape[1] + 1 + (matrix.nnz if features.n_own > 1 else 0)
    for_threads = min(n_threads(), _MOST_NUMBERS // n_numbers)
    size = max(1, for_threads, _NUMBERS_AT_ONCE // n_numbers)
    for start in range(0, is_positive.shape[1], size):
        group = slice(start, start + size)
        sides, counts = is_positive[:, group].T > 0, weights[:, group].T > 0
        # A problem whose documents are all on one side has no finite solution.
        one_sided = ~((sides & counts).any(axis=1) & (~sides & counts).any(axis=1))
        solved = np.zeros((len(sides), matrix.shape[1] + 1))
        bounds = np.where(one_sided, 0, strength * weights[:, group]).T
        run_tasks(
            compiled.solve,
            len(solved),
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            features.values(group),
            np.ascontiguousarray(np.where(sides, 1, -1), dtype=np.int8),
            np.ascontiguousarray(bounds),
            int(is_penalized),
            tolerance,
            _MOST_PASSES,
            solved,
        )
        for b in np.flatnonzero(one_sided).tolist():
            solved[b, -1] = _log_odds(sides[b, counts[b]])
        for solution in solved:
            yield solution[:-1], float(solution[-1])


def logistic_regression(
    points: Any,
    is_positive: NDArray[np.float32],
    weights: Floats,
    strength: float,
    **options: Any,
) -> tuple[Floats, float]:
    """Compute the coefficients (F,) and the intercept of a problem with scikit-learn.

    If all documents of positive weight are on one side, the intercept is the log-odds of their
    number, and the coefficients are 0.
    """
    sides = is_positive > 0
    counting = sides[weights > 0]
    if counting.all() or not counting.any():
        return np.zeros(points.shape[1]), _log_odds(counting)
    with warnings.catch_warnings():
        # Weights of very different size need more steps, but the solution so far is as good on
        # other documents.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=1000, **options)
        model.fit(points, sides, weights)
    return model.coef_[0], float(model.intercept_[0])


def dense_one_vs_rest(
    points: Floats, is_positive: NDArray[np.float32], weights: Floats, strength: float
) -> tuple[Floats, Floats]:
    """Compute the coefficients (F, B) and the intercepts (B,) of problems on dense points (D, F).

    Objective, solver and tolerances are those of scikit-learn's `LogisticRegression`, whose checks
    and conversions for each problem would take as long as the solution.
    """
    coefficients = np.zeros((points.shape[1], is_positive.shape[1]))
    intercept = np.empty(is_positive.shape[1])
    start = np.zeros(points.shape[1] + 1)
    is_penalized = np.append(np.ones(points.shape[1]), 0)  # the intercept is not
    # The order of sums, and so the last bits, depend on the number of BLAS's threads.
    with threadpool_limits(1, user_api="blas"):
        for b in range(is_positive.shape[1]):
            sides, total = is_positive[:, b] > 0, weights[:, b].sum()
            counting = sides[weights[:, b] > 0]
            if counting.all() or not counting.any():
                intercept[b] = _log_odds(counting)
                continue
            penalty = is_penalized / (strength * total)
            loss = _penalized_loss(points, sides, weights[:, b] / total, start, penalty)
            solution = minimize(loss, start, jac=True, method="L-BFGS-B", options=_AS_SCIKIT_LEARN)
            coefficients[:, b], intercept[b] = solution.x[:-1], solution.x[-1]
    return coefficients, intercept


def _log_odds(sides: Flags) -> float:
    n_positive = np.count_nonzero(sides)
    return float(np.log((n_positive + 0.5) / (len(sides) - n_positive + 0.5)))


def update_problems(
    features: Features,
    data: LabelledDocuments,
    target: Target,
    coefficients: Floats,
    intercept: Floats,
    strength: float,
    places: Any = slice(None),
) -> None:
    """Update the coefficients (F, B) at some places, and the intercepts (B,), by a portion of data.

    The new ones minimize the loss of the portion plus half of `strength` times the squared distance
    to the previous ones (implicit online learning, Kulis and Bartlett, 2010).
    """
    is_positive = target.problems(data.targets)  # (D, B)
    sample_weight = target.problem_weights(data.targets, data.weights / data.weights.mean())
    for b in range(is_positive.shape[1]):
        start = np.append(coefficients[places, b], intercept[b])
        # The intercept is penalized too. With documents of one class it would grow without limit.
        loss = _penalized_loss(
            features.of_problem(b), is_positive[:, b], sample_weight[:, b], start, strength
        )
        solution = minimize(loss, start, jac=True, method="L-BFGS-B")
        coefficients[places, b], intercept[b] = solution.x[:-1], solution.x[-1]


def _penalized_loss(
    points: Any,
    targets: NDArray[Any],
    sample_weight: Floats,
    start: Floats,
    strength: float | Floats,
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return a function of coefficients and intercept (F + 1,): penalized loss and its gradient.

    The penalty is half of `strength`, a number or (F + 1,), times the squared distance to `start`.
    """
    signs = 2.0 * targets - 1

    def loss_and_gradient(point: Floats) -> tuple[float, Floats]:
        margins = signs * (points @ point[:-1] + point[-1])
        step = point - start
        loss = sample_weight @ np.logaddexp(0, -margins) + (strength / 2 * step) @ step
        residual = -sample_weight * signs * expit(-margins)
        gradient = np.append(points.T @ residual, residual.sum()) + strength * step
        return float(loss), gradient

    return loss_and_gradient
