"""Logistic regression of many binary problems of the same sparse features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sk_han.engines.engine_choice import kernels
from sk_han.engines.tasks import n_threads, run_tasks
from sk_han.parts.ngrams.ngram_fitting import logistic_regression

# With a third of it the loss of other documents is the same; with three times it varies by 3 %.
_TOLERANCE = 0.01
_MOST_PASSES = 1000
_NUMBERS_AT_ONCE = 4_000_000  # dense weights of a group of problems


def one_vs_rest(
    features: csr_matrix,
    is_positive: NDArray[np.float32],
    weights: NDArray[np.float64],
    strength: float,
    tolerance: float = _TOLERANCE,
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Yield the coefficients (F,) and the intercept of each problem of (D, B) in turn.

    By a kernel on several threads, or by scikit-learn's LIBLINEAR, a problem after the other.
    """
    n_positive = np.count_nonzero(is_positive > 0, axis=0)
    one_sided = (n_positive == 0) | (n_positive == len(is_positive))
    compiled = kernels("logistic")
    size = max(n_threads(), _NUMBERS_AT_ONCE // (features.shape[1] + 1))
    for start in range(0, is_positive.shape[1], size):
        group = slice(start, start + size)
        solved = np.zeros((len(one_sided[group]), features.shape[1] + 1))
        if compiled is not None and not one_sided[group].all():
            bounds = strength * weights[:, group].T
            bounds[one_sided[group]] = 0
            run_tasks(
                compiled.solve,
                len(solved),
                features.indptr.astype(np.int64),
                features.indices.astype(np.int32, copy=False),
                features.data.astype(np.float32, copy=False),
                np.asarray(features.multiply(features).sum(axis=1), dtype=float).ravel() + 1,
                np.ascontiguousarray(np.where(is_positive[:, group].T > 0, 1, -1), dtype=np.int8),
                np.ascontiguousarray(bounds),
                tolerance,
                _MOST_PASSES,
                solved,
            )
        for b, found in enumerate(solved, start):
            if compiled is not None and not one_sided[b]:
                yield found[:-1], float(found[-1])
            else:
                yield logistic_regression(
                    features,
                    is_positive[:, b],
                    weights[:, b],
                    C=strength,
                    solver="liblinear",
                    dual=True,
                    tol=0.1,
                    random_state=0,
                )
