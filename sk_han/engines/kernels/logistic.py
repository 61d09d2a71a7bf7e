"""Kernel of one-vs-rest logistic regression: many binary problems of the same sparse features."""

from __future__ import annotations

import numpy as np
from numba import float32, float64, int8, int32, int64, uint64, void
from numpy.typing import NDArray

from sk_han.engines.kernels.compiling import compiled, draw, inlined, readonly

_MULTIPLIER, _SUMMAND = np.uint64(6364136223846793005), np.uint64(1442695040888963407)  # Knuth's
_HIGH = np.uint64(33)
_MOST_STEPS = 60  # of Newton's method, or halvings of the interval
_PRECISION = 0.01  # of a dual variable, relatively; later passes come back to it


@inlined(float64, float64, float64, float64, float64)
def _best(start: float, margin: float, square: float, bound: float) -> float:
    """Solve ``a = bound / (1 + exp(margin + square * (a - start)))`` for a, the dual variable."""
    low, high, a = 0.0, bound, start
    for _ in range(_MOST_STEPS):
        p = 1 / (1 + np.exp(margin + square * (a - start)))
        excess = a - bound * p
        if excess > 0:
            high = a
        else:
            low = a
        new = a - excess / (1 + bound * square * p * (1 - p))
        if not low < new < high:
            new = (low + high) / 2
        small = abs(new - a) <= _PRECISION * new
        a = new
        if small:
            break
    return a


@compiled(
    void,
    int64[::1],
    int64,
    *(readonly(int64), readonly(int32), readonly(float32), readonly(float64)),
    *(readonly(int8, 2), readonly(float64, 2)),
    *(float64, int64),
    float64[:, ::1],
)
def solve(
    counter: NDArray[np.int64],
    n_tasks: int,
    row_starts: NDArray[np.int64],  # (D + 1,)
    columns: NDArray[np.int32],  # (nnz,)
    values: NDArray[np.float32],  # (nnz,)
    squares: NDArray[np.float64],  # (D,) squared lengths of the rows and their 1
    signs: NDArray[np.int8],  # (B, D)
    bounds: NDArray[np.float64],  # (B, D) C times the weight of a document; of 0 it is left out
    tolerance: float,
    most_passes: int,
    weights: NDArray[np.float64],  # (B, F + 1), zeros to be written; the intercept is the last
) -> None:
    """Solve binary problems by dual coordinate descent (Yu, Huang and Lin, 2011); a task is one.

    It ends where the dual variables change in a pass by less than `tolerance` of their sum. The
    penalty includes the intercept, as in LIBLINEAR.
    """
    D, last = len(row_starts) - 1, weights.shape[1] - 1
    while True:
        b = draw(counter)
        if b >= n_tasks:
            break
        order, duals, state = np.arange(D), np.zeros(D), uint64(0)  # whichever others there are
        for _ in range(most_passes):
            for k in range(D - 1, 0, -1):
                state = state * _MULTIPLIER + _SUMMAND
                other = int64((state >> _HIGH) % uint64(k + 1))
                order[k], order[other] = order[other], order[k]
            changed = total = 0.0
            for d in order:
                bound = bounds[b, d]
                if bound <= 0:
                    continue
                score = weights[b, last]
                for k in range(row_starts[d], row_starts[d + 1]):
                    score += weights[b, columns[k]] * values[k]
                dual = _best(duals[d], signs[b, d] * score, squares[d], bound)
                change = signs[b, d] * (dual - duals[d])
                duals[d] = dual
                changed += abs(change)
                total += dual
                weights[b, last] += change
                for k in range(row_starts[d], row_starts[d + 1]):
                    weights[b, columns[k]] += change * values[k]
            if changed <= tolerance * total:
                break
