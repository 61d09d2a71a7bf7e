"""Projections of the inputs of a bidirectional layer, and their backward pass."""

from __future__ import annotations

from typing import Any

from numba import types

from sk_han.kernels.vectors import (
    NUMBERS,
    POSITIONS,
    ROWS,
    SIZE,
    buffer,
    compiled,
    copy,
    draw,
    load,
    multiply_add,
    n_vectors,
    splat,
    store,
    store_within,
)

# Rows whose products with the gradients are computed at once, from fast memory.
_PRODUCT_ROWS = 128


@compiled(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 4)
def forward(
    counter: Any,
    n_tasks: int,  # two a chunk
    E: int,
    G: int,
    inputs: Any,  # (U, E)
    weight: Any,  # (2, G, E)
    bias: Any,  # (2, G)
    projected: Any,  # (2, U, G), written
) -> None:
    """Compute ``inputs @ weight[d].T + bias[d]`` for both directions ``d``.

    Arrays are flat. A task is one direction of one chunk of rows.
    """
    U, row, wide = len(inputs) // E, 16 * n_vectors(G), n_vectors(G)
    n_chunks = n_tasks // 2
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        d, chunk = task & 1, task >> 1
        transposed, added, sums = buffer(E * row), buffer(row), buffer(ROWS * row)
        for j in range(G):
            for k in range(E):
                transposed[k * row + j] = weight[(d * G + j) * E + k]
        copy(bias, d * G, added, 0, G)
        end = U * (chunk + 1) // n_chunks
        for i in range(U * chunk // n_chunks, end, ROWS):
            n = min(ROWS, end - i)
            for r in range(n):
                for at in range(0, G, 16):
                    store(sums, r * row + at, load(added, at))
            multiply_add(n, sums, 0, row, inputs, i * E, E, 1, transposed, 0, row, E, wide)
            for r in range(n):
                for at in range(0, G, 16):
                    o = (d * U + i + r) * G + at
                    store_within(projected, o, load(sums, r * row + at), G - at)


@compiled(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 6)
def backward(
    counter: Any,
    n_tasks: int,
    E: int,
    G: int,
    grad: Any,  # (2, U, G), of the projections
    inputs: Any,
    weight: Any,
    grad_inputs: Any,  # (U, E), written
    grad_weight: Any,  # (n_tasks, 2, G, E), written: what each chunk adds, as below
    grad_bias: Any,  # (n_tasks, 2, G)
) -> None:
    """Compute the gradients of `forward`; a task is one chunk of rows."""
    U, row, wide = len(inputs) // E, 16 * n_vectors(E), n_vectors(E)
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        packed, of_weight = buffer(2 * G * row), buffer(2 * G * row)
        for j in range(2 * G):
            copy(weight, j * E, packed, j * row, E)
        of_bias_row = 16 * n_vectors(G)
        of_bias = buffer(2 * of_bias_row)
        block, sums = buffer(_PRODUCT_ROWS * row), buffer(_PRODUCT_ROWS * row)
        delta = buffer(_PRODUCT_ROWS * of_bias_row)
        end = U * (task + 1) // n_tasks
        for i in range(U * task // n_tasks, end, _PRODUCT_ROWS):
            n = min(_PRODUCT_ROWS, end - i)
            for r in range(n):
                copy(inputs, (i + r) * E, block, r * row, E)
                for at in range(0, E, 16):
                    store(sums, r * row + at, splat(0))
            for d in range(2):
                for r in range(n):
                    copy(grad, (d * U + i + r) * G, delta, r * of_bias_row, G)
                    for at in range(0, G, 16):
                        o = d * of_bias_row + at
                        store(of_bias, o, load(of_bias, o) + load(delta, r * of_bias_row + at))
                multiply_add(
                    n, sums, 0, row, delta, 0, of_bias_row, 1, packed, d * G * row, row, G, wide
                )
                multiply_add(
                    G, of_weight, d * G * row, row, delta, 0, 1, of_bias_row, block, 0, row, n, wide
                )
            for r in range(n):
                for at in range(0, E, 16):
                    store_within(grad_inputs, (i + r) * E + at, load(sums, r * row + at), E - at)
        for j in range(2 * G):
            for at in range(0, E, 16):
                o = (task * 2 * G + j) * E + at
                store_within(grad_weight, o, load(of_weight, j * row + at), E - at)
        for d in range(2):
            for at in range(0, G, 16):
                o = (task * 2 + d) * G + at
                store_within(grad_bias, o, load(of_bias, d * of_bias_row + at), G - at)
