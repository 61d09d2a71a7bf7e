"""What kernels compute of NumPy arrays, for `nn` and `serving` alike: project, recur, attend.

Each function needs its kernels loaded, by `sk_han.kernels.engine.kernels`. They read and
write memory without a check, so ids and lengths are checked here. Gradients of weights are those
that each of n chunks of the work adds, in a first axis: who calls adds them up. `usual_threads` is
the number of threads outside of `using_threads`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.kernels.engine import lasting, loaded, n_threads, run_tasks

Array = NDArray[np.float32]


Positions = NDArray[np.int64]


# With fewer rows a second thread costs more than it saves.
_ROWS_A_THREAD = 256


_NONE: Array = np.empty(0, dtype=np.float32)


class Sequences(NamedTuple):
    """First token and length of the sequences that are not empty, the shortest first."""

    starts: Positions
    lengths: Positions


class Recurred(NamedTuple):
    """States of a recurrence, and what their gradients need."""

    states: Array  # (T, 2H)
    gates: Array | None  # (2, T, 4H)
    sequences: Sequences


class Attended(NamedTuple):
    """Results of an attention, and what their gradients need."""

    pooled: Array  # (N, H)
    weights: Array  # (T,)
    hidden: Array | None  # (T, A)
    starts: Positions  # (N + 1,) first token of each sequence
    bounds: Positions  # first sequence of each chunk


def project(
    inputs: Array,  # (U, E)
    weight: Array,  # (2, G, E)
    bias: Array,  # (2, G)
    *,
    usual_threads: int = 1,
) -> Array:
    """Compute ``inputs @ weight[d].T + bias[d]`` for both directions ``d``, (2, U, G)."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    projected, threads = lasting((2, U, G)), _threads_for(U, usual_threads)
    kernel, n_tasks = loaded("projection").forward, 2 * _n_chunks(threads)
    _run(kernel, n_tasks, threads, E, G, inputs, weight, bias, projected)
    return projected


def project_gradients(
    grad: Array, inputs: Array, weight: Array, *, usual_threads: int = 1
) -> tuple[Array, Array, Array]:
    """Compute the gradients of `project`: of inputs, weight (n, 2, G, E) and bias (n, 2, G)."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    threads = _threads_for(U, usual_threads)
    n = _n_chunks(threads)
    gradients = lasting((U, E)), _empty(n, 2, G, E), _empty(n, 2, G)
    _run(loaded("projection").backward, n, threads, E, G, grad, inputs, weight, *gradients)
    return gradients


def recur(
    projected: Array,  # (2, U, 3H): x W + b of each distinct input; gates in the order r, z, n
    weight: Array,  # (2, H, 3H): V
    bias: Array,  # (2, H): c_n
    index: Positions,  # (T,) the distinct input of each token
    lengths: Positions,  # (N,) together T
    *,
    keep: bool = False,  # whether to keep the gates for `recur_gradients`
    usual_threads: int = 1,
) -> Recurred:
    """Compute the states of a bidirectional GRU from the projections of its distinct inputs.

    The equations are those of `torch.nn.GRU` (r, z: reset and update gate, n: candidate)::

        r_t, z_t = sigmoid(x_t W_rz + h_{t-1} V_rz + b_rz)
        n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} V_n + c_n))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}
    """
    (_, U, _), (_, H, _), T = projected.shape, weight.shape, len(index)
    _check_lengths(lengths, T)
    _check_type("index", index)
    if T and not 0 <= index.min() <= index.max() < U:
        raise IndexError(f"index holds {index.min()} to {index.max()}; there are {U} inputs.")
    # The longest first, equal ones in their order; then the other way round.
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)][::-1]
    sequences = Sequences((np.cumsum(lengths) - lengths)[order], lengths[order])
    threads = _threads_for(T, usual_threads)
    bounds = _bounds_of(sequences.lengths, _n_chunks(threads))
    states, gates = lasting((T, 2 * H)), lasting((2, T, 4 * H)) if keep else None
    kernel, n_tasks = loaded("gru_recurrence").forward, 2 * (len(bounds) - 1)
    read = projected, weight, bias, index, *sequences, bounds
    _run(kernel, n_tasks, threads, H, *read, states, gates)
    return Recurred(states, gates, sequences)


def recur_gradients(
    grad: Array,
    states: Array,
    gates: Array,
    weight: Array,
    index: Positions,
    sequences: Sequences,
    n_distinct: int,
    *,
    usual_threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Compute the gradients of `recur`.

    Of projections (n, 2, U, 3H), weight (n, 2, H, 3H) and bias (n, 2, H).
    """
    H, threads = weight.shape[1], _threads_for(len(index), usual_threads)
    # A chunk has gradients of its own for all distinct inputs.
    bounds = _bounds_of(sequences.lengths, max(1, threads // 2))
    n = len(bounds) - 1
    of_projected = lasting((n, 2, n_distinct, 3 * H))
    of_weight, of_bias = _empty(n, 2, H, 3 * H), _empty(n, 2, H)
    gradients = of_projected, of_weight, of_bias
    read = grad, states, gates, weight, index, *sequences, bounds
    _run(loaded("gru_recurrence").backward, 2 * n, threads, H, *read, *gradients)
    return gradients


def attend(
    states: Array,  # (T, H)
    weight: Array,  # (A, H)
    bias: Array,  # (A,)
    context: Array,  # (A,)
    lengths: Positions,  # (N,) together T
    *,
    keep: bool = False,  # whether to keep the hidden layer for `attend_gradients`
    usual_threads: int = 1,
) -> Attended:
    """Pool states by attention: ``softmax(context . tanh(weight h + bias))`` of each sequence."""
    (T, H), (A, _) = states.shape, weight.shape
    _check_lengths(lengths, T)
    threads, starts = _threads_for(T, usual_threads), np.append(0, np.cumsum(lengths))
    bounds = _bounds_of(lengths, _n_chunks(threads))
    pooled, weights = _empty(len(lengths), H), _empty(T)
    hidden = lasting((T, A)) if keep else None
    read = states, weight, bias, context, starts, bounds
    kernel, n_tasks = loaded("attention").forward, len(bounds) - 1
    _run(kernel, n_tasks, threads, H, A, *read, pooled, weights, hidden)
    return Attended(pooled, weights, hidden, starts, bounds)


def attend_gradients(
    grad: Array,
    grad_weights: Array,
    states: Array,
    weight: Array,
    context: Array,
    weights: Array,
    hidden: Array,
    starts: Positions,
    bounds: Positions,
    *,
    usual_threads: int = 1,
) -> tuple[Array, Array, Array, Array]:
    """Compute the gradients of `attend`: states (T, H), weight (n, A, H), bias, context (n, A)."""
    (T, H), (A, _), n = states.shape, weight.shape, len(bounds) - 1
    gradients = lasting((T, H)), _empty(n, A, H), _empty(n, A), _empty(n, A)
    grad_weights = grad_weights.copy()  # the kernel adds to them
    read = grad, grad_weights, states, weight, context, weights, hidden, starts, bounds
    threads = _threads_for(T, usual_threads)
    _run(loaded("attention").backward, n, threads, H, A, *read, *gradients)
    return gradients


def update_rows(
    table: Array,  # (V, E)
    mean: Array,  # (V, E)
    square: Array,  # (V, E)
    rows: Positions,  # (U,) without repetition
    grad: Array,  # (U, E)
    settings: list[float],
    *,
    usual_threads: int = 1,
) -> None:
    """Update rows of a table and of their moments in place by AdamW.

    Settings are ``beta1, beta2, lr / (1 - beta1 ** t), sqrt(1 - beta2 ** t), eps,
    1 - lr * weight_decay``.
    """
    threads = _threads_for(len(rows), usual_threads)
    given = table.shape[1], table, mean, square, rows, grad, np.array(settings, dtype=np.float32)
    _run(loaded("adamw").step, _n_chunks(threads), threads, *given)


def _check_type(name: str, positions: Positions) -> None:
    if positions.dtype != np.int64:  # the only type that kernels are compiled for
        raise TypeError(f"{name} must be of int64; got {positions.dtype}.")


def _check_lengths(lengths: Positions, n_tokens: int) -> None:
    _check_type("lengths", lengths)
    if lengths.sum() != n_tokens or lengths.min(initial=0) < 0:
        raise ValueError(
            f"lengths must be at least 0 and add up to {n_tokens} tokens; got {lengths}."
        )


def _bounds_of(lengths: Positions, n_chunks: int) -> Positions:
    """Cut sequences into chunks of about the same number of tokens: first sequence of each."""
    if n_chunks == 1:
        return np.array([0, len(lengths)])
    ends = np.cumsum(lengths)
    shares = np.arange(1, n_chunks) * (int(lengths.sum()) / n_chunks)
    return np.concatenate([[0], np.searchsorted(ends, shares), [len(lengths)]])


def _threads_for(n_rows: int, usual: int) -> int:
    """Return how many threads are worth it."""
    return max(1, min(n_threads(usual), n_rows // _ROWS_A_THREAD))


def _n_chunks(threads: int) -> int:
    """Return a number of tasks that keeps threads busy even if one of them is slow."""
    return 1 if threads == 1 else 4 * threads


def _run(kernel: Callable[..., None], n_tasks: int, threads: int, *arguments: Any) -> None:
    """Run a kernel on sizes and flat arrays, which share memory if they can; None is empty."""
    flat = [each if isinstance(each, int) else _flat(each) for each in arguments]
    run_tasks(kernel, n_tasks, *flat, threads=threads)


def _flat(array: Array | Positions | None) -> NDArray[Any]:
    return _NONE if array is None else np.ascontiguousarray(array).reshape(-1)


def _empty(*shape: int) -> Array:
    return np.empty(shape, dtype=np.float32)
