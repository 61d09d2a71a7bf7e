"""Kernels of the network: projection, GRU and attention with their gradients, and AdamW.

Arrays are flat; their shapes are in comments. `sk_han._kernels.engine` has a function of the same
name in front of each kernel, which allocates the results, and checks ids and lengths if there are
any. A kernel copies weights into buffers whose rows are filled up to whole vectors, multiplies
blocks of rows by `multiply_add`, and writes results without the filling (`store_within`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from sk_han._kernels.vectors import (
    NUMBERS,
    POSITIONS,
    ROWS,
    SIZE,
    buffer,
    copy,
    draw,
    jit,
    load,
    load_part,
    load_within,
    multiply_add,
    n_vectors,
    sigmoid,
    splat,
    square_root,
    store,
    store_part,
    store_within,
    tanh,
    total,
)

# Rows that are collected before their product with the gradients is added to the gradients of
# weights: few enough to stay in the cache. The rows of the GRU, its previous states, come a few at
# a time, so that more are collected.
_PRODUCT_ROWS, _GRU_ROWS = 128, 256

# A long sum is computed as a sum of partial sums: in single precision, small terms added to a large
# sum would be lost.
_SUM_ROWS = 256


@jit(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 4)
def project(
    counter: Any,
    n_tasks: int,  # two a chunk
    E: int,
    G: int,
    inputs: Any,  # (U, E)
    weight: Any,  # (2, G, E)
    bias: Any,  # (2, G)
    projected: Any,  # (2, U, G), written
) -> None:
    """Project inputs for both directions; a task is one direction of one chunk of rows."""
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


@jit(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 6)
def project_gradients(
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
    """Compute the gradients of `project`; a task is one chunk of rows."""
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


@jit(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 3, *(POSITIONS,) * 4, *(NUMBERS,) * 2)
def recur(
    counter: Any,
    n_tasks: int,  # two a chunk
    H: int,
    projected: Any,  # (2, U, 3H)
    weight: Any,  # (2, H, 3H)
    bias: Any,  # (2, H)
    index: Any,  # (T,)
    starts: Any,  # (N,) first token of each sequence, the shortest first, none empty
    lengths: Any,  # (N,)
    bounds: Any,  # (n_chunks + 1,) first sequence of each chunk
    states: Any,  # (T, 2H), written
    gates: Any,  # (2, T, 4H), written: r, z, n, ``h V_n + c_n``; (0,) to keep none
) -> None:
    """Compute the states of both directions; a task is one direction of one chunk of sequences."""
    G, row = 3 * H, 16 * n_vectors(3 * H)
    Hs, wide, narrow = 16 * n_vectors(H), n_vectors(3 * H), n_vectors(H)
    T, U, keeps = len(index), len(projected) // (6 * H), len(gates) > 0
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        d, chunk = task & 1, n_tasks // 2 - 1 - (task >> 1)  # the longest sequences first
        packed, added = buffer(H * row), buffer(Hs)
        for k in range(H):
            copy(weight, (d * H + k) * G, packed, k * row, G)
        copy(bias, d * H, added, 0, H)
        sums, h = buffer(ROWS * row + 64), buffer(ROWS * Hs)
        tables = d * U * G
        first, end = bounds[chunk], bounds[chunk + 1]
        while end > first:
            # A group of sequences, the longest first: sequence r of the group is end - 1 - r.
            n = min(ROWS, end - first)
            last = end - 1
            end -= n
            for at in range(0, n * Hs, 16):
                store(h, at, splat(0))
            active = n
            for t in range(lengths[last]):
                while lengths[last - active + 1] <= t:
                    active -= 1
                for r in range(active):
                    s = last - r
                    token = starts[s] + (lengths[s] - 1 - t if d else t)
                    p = tables + index[token] * G
                    copy(projected, p, sums, r * row, 2 * H)
                    # A vector may reach beyond the row; the next row overwrites that.
                    for at in range(0, H, 16):
                        store(sums, r * row + 2 * H + at, load(added, at))
                if t > 0:
                    multiply_add(active, sums, 0, row, h, 0, Hs, 1, packed, 0, row, H, wide)
                for r in range(active):
                    s = last - r
                    token = starts[s] + (lengths[s] - 1 - t if d else t)
                    p, o = tables + index[token] * G + 2 * H, token * 2 * H + d * H
                    g = (d * T + token) * 4 * H
                    # The last vector is computed first: what it writes beyond H belongs to the next
                    # gate, whose vectors are written later.
                    for v in range(narrow - 1, -1, -1):
                        at = 16 * v
                        left = H - at
                        reset = sigmoid(load(sums, r * row + at))
                        update = sigmoid(load(sums, r * row + H + at))
                        scaled = load(sums, r * row + 2 * H + at)
                        new = tanh(reset * scaled + load_within(projected, p + at))
                        state = update * (load(h, r * Hs + at) - new) + new
                        store(h, r * Hs + at, state)
                        store_within(states, o + at, state, left)
                        if keeps:
                            store_within(gates, g + at, reset, 4 * H - at)
                            store_within(gates, g + H + at, update, 3 * H - at)
                            store_within(gates, g + 2 * H + at, new, 2 * H - at)
                            store_within(gates, g + 3 * H + at, scaled, left)


@jit(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 4, *(POSITIONS,) * 4, *(NUMBERS,) * 3)
def recur_gradients(
    counter: Any,
    n_tasks: int,
    H: int,
    grad: Any,  # (T, 2H), of the states
    states: Any,  # from here to `bounds` as in `recur`
    gates: Any,
    weight: Any,
    index: Any,
    starts: Any,
    lengths: Any,
    bounds: Any,
    grad_projected: Any,  # (n_chunks, 2, U, 3H), written: what each chunk adds, as below
    grad_weight: Any,  # (n_chunks, 2, H, 3H)
    grad_bias: Any,  # (n_chunks, 2, H)
) -> None:
    """Compute the gradients of `recur`; a task is one direction of one chunk of sequences."""
    G, row, Hs = 3 * H, 16 * n_vectors(3 * H), 16 * n_vectors(H)
    wide, narrow = n_vectors(3 * H), n_vectors(H)
    T, n_chunks, one = len(index), len(bounds) - 1, splat(1)
    U = len(grad_projected) // (n_chunks * 2 * G)
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        d, chunk = task & 1, n_tasks // 2 - 1 - (task >> 1)
        transposed = buffer(G * Hs)
        for k in range(H):
            for j in range(G):
                transposed[j * Hs + k] = weight[(d * H + k) * G + j]
        part = (chunk * 2 + d) * U * G
        for at in range(0, U * G, 16):
            store_within(grad_projected, part + at, splat(0), U * G - at)
        sums, of_bias = buffer(H * row), buffer(Hs)
        # Gradients at the gates' arguments and the previous states of the last rows, collected for
        # one product.
        delta = buffer((_GRU_ROWS + ROWS) * row + 64)
        before = buffer((_GRU_ROWS + ROWS) * Hs)
        filled, carried = 0, buffer(ROWS * Hs)
        first, end = bounds[chunk], bounds[chunk + 1]
        while end > first:
            n = min(ROWS, end - first)
            last = end - 1
            end -= n
            for at in range(0, n * Hs, 16):
                store(carried, at, splat(0))
            active = 0
            for t in range(lengths[last] - 1, -1, -1):
                while active < n and lengths[last - active] > t:
                    active += 1
                for r in range(active):
                    s = last - r
                    token = starts[s] + (lengths[s] - 1 - t if d else t)
                    p, o = part + index[token] * G, token * 2 * H + d * H
                    o_before = o + (2 * H if d else -2 * H)
                    g, at_delta = (d * T + token) * 4 * H, (filled + r) * row
                    # The order is as in `recur`. Numbers beyond H belong to neighbouring gates;
                    # what is computed from them reaches no result.
                    for v in range(narrow - 1, -1, -1):
                        at = 16 * v
                        left = H - at
                        reset = load_within(gates, g + at)
                        update = load_within(gates, g + H + at)
                        new = load_within(gates, g + 2 * H + at)
                        scaled = load_within(gates, g + 3 * H + at)
                        dh = load(carried, r * Hs + at) + load_within(grad, o + at)
                        h = load_within(states, o_before + at) if t > 0 else splat(0)
                        kept = one - update
                        d_new = dh * kept * (one - new * new)
                        d_update = dh * (h - new) * (update * kept)
                        d_scaled = d_new * reset
                        d_reset = d_new * scaled * (reset * (one - reset))
                        store(carried, r * Hs + at, dh * update)
                        store(of_bias, at, load(of_bias, at) + d_scaled)
                        x = load_within(grad_projected, p + at)
                        store_within(grad_projected, p + at, x + d_reset, left)
                        x = load_within(grad_projected, p + H + at)
                        store_within(grad_projected, p + H + at, x + d_update, left)
                        x = load_within(grad_projected, p + 2 * H + at)
                        store_within(grad_projected, p + 2 * H + at, x + d_new, left)
                        if t > 0:
                            store(delta, at_delta + at, d_reset)
                            store(delta, at_delta + H + at, d_update)
                            store(delta, at_delta + 2 * H + at, d_scaled)
                            store(before, (filled + r) * Hs + at, h)
                if t > 0:
                    multiply_add(
                        active, carried, 0, Hs, delta, filled * row, row, 1, transposed, 0, Hs,
                        G, narrow,
                    )  # fmt: skip
                    filled += active
                    if filled >= _GRU_ROWS:
                        multiply_add(H, sums, 0, row, before, 0, 1, Hs, delta, 0, row, filled, wide)
                        filled = 0
        multiply_add(H, sums, 0, row, before, 0, 1, Hs, delta, 0, row, filled, wide)
        part = chunk * 2 + d
        for k in range(H):
            for at in range(0, G, 16):
                o = (part * H + k) * G + at
                store_within(grad_weight, o, load(sums, k * row + at), G - at)
        for at in range(0, H, 16):
            store_within(grad_bias, part * H + at, load(of_bias, at), H - at)


@jit(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 4, *(POSITIONS,) * 2, *(NUMBERS,) * 3)
def attend(
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
    u: Any,  # (T, A), the hidden layer, written; (0,) to keep none
) -> None:
    """Compute weights and sums; a task is one chunk of sequences."""
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
            # The softmax of the scores, without overflow, and with a sum in double precision.
            largest, divisor = np.float32(-np.inf), 0.0
            for token in range(starts[s], starts[s + 1]):
                largest = max(largest, weights[token])
            for token in range(starts[s], starts[s + 1]):
                weights[token] = np.exp(weights[token] - largest)
                divisor += weights[token]
            for token in range(starts[s], starts[s + 1]):
                weights[token] = np.float32(weights[token] / divisor)
            for at in range(0, H, 16):
                mean = splat(0)
                for block in range(starts[s], starts[s + 1], _SUM_ROWS):
                    part = splat(0)
                    for token in range(block, min(block + _SUM_ROWS, starts[s + 1])):
                        part = part + splat(weights[token]) * load_within(states, token * H + at)
                    mean = mean + part
                store_part(pooled, s * H + at, mean, H - at)


@jit(types.void, POSITIONS, *(SIZE,) * 3, *(NUMBERS,) * 7, *(POSITIONS,) * 2, *(NUMBERS,) * 4)
def attend_gradients(
    counter: Any,
    n_tasks: int,
    H: int,
    A: int,
    grad: Any,  # (N, H), of the pooled states
    grad_weights: Any,  # (T,), changed
    states: Any,  # from here to `bounds` as in `attend`
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
    """Compute the gradients of `attend`; a task is one chunk of sequences."""
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
            # Softmax: the gradient at a score is the weight times the difference of the gradient at
            # the weight and its weighted mean over the sequence, which is summed in double
            # precision. The copy is filled up with zeros, so that whole vectors can be multiplied.
            mean = 0.0
            copy(grad, s * H, of_pooled, 0, H)
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


@jit(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 3, POSITIONS, *(NUMBERS,) * 2)
def update_rows(
    counter: Any,
    n_tasks: int,
    E: int,
    table: Any,  # (V, E), updated
    mean: Any,  # (V, E), updated
    square: Any,  # (V, E), updated
    rows: Any,  # (U,) distinct numbers of rows
    grad: Any,  # (U, E)
    settings: Any,  # (6,), see `engine.update_rows`
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
