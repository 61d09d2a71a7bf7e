"""AdamW for some rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sk_han.kernels.vectors import (
    NUMBERS,
    POSITIONS,
    SIZE,
    compiled,
    draw,
    load_part,
    splat,
    square_root,
    store_within,
)


@compiled(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 3, POSITIONS, *(NUMBERS,) * 2)
def step(
    counter: Any,
    n_tasks: int,
    E: int,
    table: Any,  # (V, E), updated
    mean: Any,  # (V, E), updated
    square: Any,  # (V, E), updated
    rows: Any,  # (U,) distinct numbers of rows
    grad: Any,  # (U, E)
    settings: Any,  # (6,), as of `arrays.update_rows`
) -> None:
    """Update rows of a table and of their moments; a task is one chunk of rows."""
    U, one = len(rows), np.float32(1)
    beta1, beta2 = splat(one - settings[0]), splat(settings[1])
    of_square, rate = splat(one - settings[1]), splat(settings[2])
    correction, eps, kept = splat(one / settings[3]), splat(settings[4]), splat(settings[5])
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        for i in range(U * task // n_tasks, U * (task + 1) // n_tasks):
            for at in range(0, E, 16):
                o, n = rows[i] * E + at, E - at
                g, m = load_part(grad, i * E + at, n), load_part(mean, o, n)
                m = m + beta1 * (g - m)
                v = beta2 * load_part(square, o, n) + of_square * (g * g)
                store_within(mean, o, m, n)
                store_within(square, o, v, n)
                w = kept * load_part(table, o, n)
                store_within(table, o, w - rate * m / (square_root(v) * correction + eps), n)
