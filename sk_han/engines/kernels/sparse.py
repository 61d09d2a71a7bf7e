"""Products of a sparse matrix with a narrow dense one."""

from __future__ import annotations

from typing import Any

from numba import int32, int64, types

from sk_han.engines.kernels.compiling import NUMBERS, POSITIONS, SIZE, compiled, draw, readonly
from sk_han.engines.kernels.vectors import buffer, load, load_within, splat, store, store_within


@compiled(types.void, POSITIONS, SIZE, SIZE, *(readonly(int32),) * 2, *(NUMBERS,) * 3)
def product(
    counter: Any,
    n_tasks: int,
    width: int,
    row_starts: Any,  # (M + 1,)
    columns: Any,  # (nnz,)
    values: Any,  # (nnz,)
    dense: Any,  # (N, width)
    result: Any,  # (M, width), written
) -> None:
    """Multiply a matrix of compressed rows with a dense one; a task is a range of rows."""
    M, whole = len(row_starts) - 1, width & ~15
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        sums = buffer(width)
        for row in range(M * task // n_tasks, M * (task + 1) // n_tasks):
            for at in range(0, width, 16):
                store(sums, at, splat(0))
            for k in range(row_starts[row], row_starts[row + 1]):
                factor, o = splat(values[k]), int64(columns[k]) * width
                for at in range(0, whole, 16):
                    store(sums, at, load(sums, at) + factor * load(dense, o + at))
                for at in range(whole, width, 16):  # numbers beyond the row go nowhere
                    store(sums, at, load(sums, at) + factor * load_within(dense, o + at))
            for at in range(0, width, 16):
                store_within(result, row * width + at, load(sums, at), width - at)
