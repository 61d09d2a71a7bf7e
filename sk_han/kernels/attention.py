"""Additive attention over ragged sequences and its backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    load_within,
    multiply_add,
    n_vectors,
    splat,
    store,
    store_part,
    store_within,
    tanh,
    total,
)

# Rows of gradients whose product with the states is computed at once.
_PRODUCT_ROWS = 128


_SUM_ROWS = 256


@compiled(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 4, *(POSITIONS,) * 2, *(NUMBERS,) * 3)
def forward(
    counter: Any,
    n_tasks: int,
    H: int,
    A: int,
    states: Any,  # (T, H)
    weight: Any,  # (A, H)
    bias: Any,  # (A,)
    context: Any,  # (A,)
    starts: Any,  # (N + 1,) first token of each sequence, and T
    bounds: Any,  # (n_tasks + 1,) first sequence of each chunk
    pooled: Any,  # (N, H), written; zero for an empty sequence
    weights: Any,  # (T,), written
    u: Any,  # (T, A), the hidden layer, written for `backward`; (0,) to keep none
) -> None:
    """Compute weights and sums by the equations of `AttentionPooling`.

    Arrays are flat. A task is one chunk of sequences.
    """
    row, wide = 16 * n_vectors(A), n_vectors(A)
    keeps = len(u) > 0
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        transposed, added, scorer = buffer(H * row), buffer(row), buffer(row)
        for a in range(A):
            for k in range(H):
                transposed[k * row + a] = weight[a * H + k]
        copy(bias, 0, added, 0, A)
        copy(context, 0, scorer, 0, A)
        hidden = buffer(ROWS * row)
        first, end = bounds[task], bounds[task + 1]
        for token in range(starts[first], starts[end], ROWS):
            n = min(ROWS, starts[end] - token)
            for r in range(n):
                for at in range(0, A, 16):
                    store(hidden, r * row + at, load(added, at))
            multiply_add(n, hidden, 0, row, states, token * H, H, 1, transposed, 0, row, H, wide)
            for r in range(n):
                score = splat(0)
                for at in range(0, A, 16):
                    x = tanh(load(hidden, r * row + at))
                    score = score + x * load(scorer, at)
                    if keeps:
                        store_within(u, (token + r) * A + at, x, A - at)
                weights[token + r] = total(score)
        for s in range(first, end):
            # Softmax of the scores.
            largest, divisor = np.float32(-np.inf), 0.0  # in double precision
            for token in range(starts[s], starts[s + 1]):
                largest = max(largest, weights[token])
            for token in range(starts[s], starts[s + 1]):
                weights[token] = np.exp(weights[token] - largest)
                divisor += weights[token]
            for token in range(starts[s], starts[s + 1]):
                weights[token] = np.float32(weights[token] / divisor)
            for at in range(0, H, 16):
                # Sums of sums: a small term added to a large sum would be lost.
                mean = splat(0)
                for block in range(starts[s], starts[s + 1], _SUM_ROWS):
                    part = splat(0)
                    for token in range(block, min(block + _SUM_ROWS, starts[s + 1])):
                        part = part + splat(weights[token]) * load_within(states, token * H + at)
                    mean = mean + part
                store_part(pooled, s * H + at, mean, H - at)


@compiled(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 7, *(POSITIONS,) * 2, *(NUMBERS,) * 4)
def backward(
    counter: Any,
    n_tasks: int,
    H: int,
    A: int,
    grad: Any,  # (N, H), of the pooled states
    grad_weights: Any,  # (T,), changed
    states: Any,  # from here to `bounds` as of `forward`
    weight: Any,
    context: Any,
    weights: Any,
    u: Any,
    starts: Any,
    bounds: Any,
    grad_states: Any,  # (T, H), written
    grad_weight: Any,  # (n_tasks, A, H), written: what each chunk adds, as below
    grad_bias: Any,  # (n_tasks, A)
    grad_context: Any,  # (n_tasks, A)
) -> None:
    """Compute the gradients of `forward`; a task is one chunk of sequences."""
    row, wide = 16 * n_vectors(H), n_vectors(H)
    hidden_row = 16 * n_vectors(A)
    one = splat(1)
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        packed, scorer = buffer(A * row), buffer(hidden_row)
        for a in range(A):
            copy(weight, a * H, packed, a * row, H)
        copy(context, 0, scorer, 0, A)
        of_weight, of_bias, of_context = buffer(A * row), buffer(hidden_row), buffer(hidden_row)
        delta, block = buffer(_PRODUCT_ROWS * hidden_row), buffer(_PRODUCT_ROWS * row)
        sums, of_pooled = buffer(_PRODUCT_ROWS * row), buffer(row)
        filled, filled_from = 0, starts[bounds[task]]
        for s in range(bounds[task], bounds[task + 1]):
            # The softmax: a weight's gradient less their weighted mean.
            mean = 0.0  # in double precision
            copy(grad, s * H, of_pooled, 0, H)  # with zeros, so that no product goes too far
            for token in range(starts[s], starts[s + 1]):
                product = splat(0)
                for at in range(0, H, 16):
                    product = product + load(of_pooled, at) * load_within(states, token * H + at)
                grad_weights[token] += total(product)
                mean += weights[token] * grad_weights[token]
            for token in range(starts[s], starts[s + 1]):
                grad_score = splat(np.float32(weights[token] * (grad_weights[token] - mean)))
                for at in range(0, A, 16):
                    x = load_within(u, token * A + at)
                    d = grad_score * load(scorer, at) * (one - x * x)
                    store(delta, filled * hidden_row + at, d)
                    store(of_bias, at, load(of_bias, at) + d)
                    store(of_context, at, load(of_context, at) + grad_score * x)
                share = splat(weights[token])
                for at in range(0, H, 16):
                    store(block, filled * row + at, load_within(states, token * H + at))
                    store(sums, filled * row + at, share * load(of_pooled, at))
                filled += 1
                if filled == _PRODUCT_ROWS or token + 1 == starts[bounds[task + 1]]:
                    multiply_add(
                        filled, sums, 0, row, delta, 0, hidden_row, 1, packed, 0, row, A, wide
                    )
                    for r in range(filled):
                        for at in range(0, H, 16):
                            d = load(sums, r * row + at)
                            store_within(grad_states, (filled_from + r) * H + at, d, H - at)
                    multiply_add(
                        A, of_weight, 0, row, delta, 0, 1, hidden_row, block, 0, row, filled, wide
                    )
                    filled, filled_from = 0, token + 1
        for a in range(A):
            for at in range(0, H, 16):
                d = load(of_weight, a * row + at)
                store_part(grad_weight, (task * A + a) * H + at, d, H - at)
        for at in range(0, A, 16):
            store_part(grad_bias, task * A + at, load(of_bias, at), A - at)
            store_part(grad_context, task * A + at, load(of_context, at), A - at)
