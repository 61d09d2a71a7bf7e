"""Products of a sparse matrix with a narrow dense one."""

from __future__ import annotations

from typing import Any

from numba import int32, types

from sk_han._kernels.vectors import (
    NUMBERS,
    POSITIONS,
    SIZE,
    draw,
    jit,
    load,
    readonly,
    splat,
    store_within,
)

# Columns that are computed at once, so that their sums stay in registers.
PANEL = 64


@jit(types.void, POSITIONS, SIZE, SIZE, *(readonly(int32),) * 2, *(NUMBERS,) * 3)
def product(
    counter: Any,
    n_tasks: int,
    width: int,
    row_starts: Any,  # (M + 1,)
    columns: Any,  # (nnz,)
    values: Any,  # (nnz,)
    dense: Any,  # (n_panels, N, PANEL)
    result: Any,  # (M, width), written
) -> None:
    """Multiply a CSR matrix with a dense one; a task is a range of rows and a panel of columns.

    All ranges of one panel come before the next panel, so that the panel of `dense`, which is read
    again and again, stays in the cache.
    """
    N = len(dense) // PANEL // ((width + PANEL - 1) // PANEL)
    M, n_ranges = len(row_starts) - 1, n_tasks // ((width + PANEL - 1) // PANEL)
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        panel, part = task // n_ranges, task % n_ranges
        left = width - panel * PANEL
        for row in range(M * part // n_ranges, M * (part + 1) // n_ranges):
            a = b = c = d = splat(0)
            for k in range(row_starts[row], row_starts[row + 1]):
                factor, o = splat(values[k]), (panel * N + columns[k]) * PANEL
                a = a + factor * load(dense, o)
                b = b + factor * load(dense, o + 16)
                c = c + factor * load(dense, o + 32)
                d = d + factor * load(dense, o + 48)
            o = row * width + panel * PANEL
            store_within(result, o, a, left)
            if left > 16:
                store_within(result, o + 16, b, left - 16)
            if left > 32:
                store_within(result, o + 32, c, left - 32)
            if left > 48:
                store_within(result, o + 48, d, left - 48)
