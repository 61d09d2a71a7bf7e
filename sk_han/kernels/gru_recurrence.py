"""The recurrence of a bidirectional GRU and its backward pass, several sequences at once."""

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
    load_within,
    multiply_add,
    n_vectors,
    sigmoid,
    splat,
    store,
    store_within,
    tanh,
)

# Rows of gradients whose product with the states before them is computed at once.
_PRODUCT_ROWS = 256


@compiled(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 3, *(POSITIONS,) * 4, *(NUMBERS,) * 2)
def forward(
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
    gates: Any,  # (2, T, 4H), written for `backward`: r, z, n, ``h V_n + c_n``; (0,) to keep none
) -> None:
    """Compute the states of both directions; the equations are those of `arrays.recur`.

    Arrays are flat. A task is one direction of one chunk of sequences.
    """
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
                    for at in range(0, H, 16):  # what it writes too far, the next row overwrites
                        store(sums, r * row + 2 * H + at, load(added, at))
                if t > 0:
                    multiply_add(active, sums, 0, row, h, 0, Hs, 1, packed, 0, row, H, wide)
                for r in range(active):
                    s = last - r
                    token = starts[s] + (lengths[s] - 1 - t if d else t)
                    p, o = tables + index[token] * G + 2 * H, token * 2 * H + d * H
                    g = (d * T + token) * 4 * H
                    # From the last vector on: what a vector writes too far, a later one overwrites.
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


@compiled(types.void, POSITIONS, *(SIZE,) * 2, *(NUMBERS,) * 4, *(POSITIONS,) * 4, *(NUMBERS,) * 3)
def backward(
    counter: Any,
    n_tasks: int,
    H: int,
    grad: Any,  # (T, 2H), of the states
    states: Any,  # from here to `bounds` as of `forward`
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
    """Compute the gradients of `forward`; a task is one direction of one chunk of sequences."""
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
        # Gradients before the activations, and the states before them, of the last rows.
        delta = buffer((_PRODUCT_ROWS + ROWS) * row + 64)
        before = buffer((_PRODUCT_ROWS + ROWS) * Hs)
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
                    # As in `forward`. Numbers beyond H are those of neighbours, and go nowhere.
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
                    if filled >= _PRODUCT_ROWS:
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
