"""What kernels compute of NumPy arrays, for `nn` and `serving` alike: project, recur, attend.

A kernel reads and writes memory without a check, so ids and lengths are checked here. Each takes
the module of its kernels first. Gradients of weights are those that each chunk of the work adds, in
a first axis of n chunks: who calls adds them up.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.engines.chunks import (
    Sequences,
    bounds_of,
    check_lengths,
    filled_sequences,
    n_chunks,
    threads_for,
)
from sk_han.engines.memory import lasting
from sk_han.engines.tasks import run_tasks

__all__ = [
    "Attended",
    "Recurred",
    "attend",
    "attend_gradients",
    "project",
    "project_gradients",
    "recur",
    "recur_gradients",
    "update_rows",
]

Array = NDArray[np.float32]
Positions = NDArray[np.int64]


class Recurred(NamedTuple):
    """States (T, 2H), and what their gradients need: gates (2, T, 4H) or None, the sequences."""

    states: Array
    gates: Array | None
    sequences: Sequences


class Attended(NamedTuple):
    """Pooled states (N, H), weights (T,), and what their gradients need.

    That is the hidden layer (T, A) or None, the first token of each sequence, and the first
    sequence of each chunk.
    """

    pooled: Array
    weights: Array
    hidden: Array | None
    starts: Positions
    bounds: Positions


def project(
    kernels: ModuleType, inputs: Array, weight: Array, bias: Array, *, usual_threads: int = 1
) -> Array:
    """Compute ``inputs @ weight[d].T + bias[d]`` for both directions ``d``.

    Parameters
    ----------
    kernels : module
        `sk_han.engines.kernels.projection`.
    inputs : ndarray of float32, shape (U, E)
    weight : ndarray of float32, shape (2, G, E)
    bias : ndarray of float32, shape (2, G)
    usual_threads : int
        As of `sk_han.engines.chunks.threads_for`.

    Returns
    -------
    ndarray of float32, shape (2, U, G)
    """
    (U, E), (_, G, _) = inputs.shape, weight.shape
    projected, threads = lasting((2, U, G)), threads_for(U, usual_threads)
    arrays = inputs, weight, bias, projected
    run_tasks(kernels.forward, 2 * n_chunks(threads), E, G, *map(_flat, arrays), threads=threads)
    return projected


def project_gradients(
    kernels: ModuleType, grad: Array, inputs: Array, weight: Array, *, usual_threads: int = 1
) -> tuple[Array, Array, Array]:
    """Compute the gradients of `project`: of inputs, weight (n, 2, G, E) and bias (n, 2, G)."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    threads = threads_for(U, usual_threads)
    n = n_chunks(threads)
    found = lasting((U, E)), _empty(n, 2, G, E), _empty(n, 2, G)
    run_tasks(
        kernels.backward, n, E, G, *map(_flat, (grad, inputs, weight, *found)), threads=threads
    )
    return found


def recur(
    kernels: ModuleType,
    projected: Array,
    weight: Array,
    bias: Array,
    index: Positions,
    lengths: Positions,
    initial: Array | None = None,
    *,
    keep: bool = False,
    usual_threads: int = 1,
) -> Recurred:
    """Compute the states of a bidirectional GRU from the projections of its distinct inputs.

    The equations are those of `torch.nn.GRU` (r, z: reset and update gate, n: candidate)::

        r_t, z_t = sigmoid(x_t W_rz + h_{t-1} V_rz + b_rz)
        n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} V_n + c_n))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    Parameters
    ----------
    kernels : module
        `sk_han.engines.kernels.gru`.
    projected : ndarray of float32, shape (2, U, 3H)
        ``x W + b`` of each distinct input for both directions; gates in the order r, z, n.
    weight : ndarray of float32, shape (2, H, 3H)
        ``V``, the recurrent weights.
    bias : ndarray of float32, shape (2, H)
        ``c_n``, the recurrent bias inside the candidate.
    index : ndarray of int64, shape (T,)
        The distinct input of each token.
    lengths : ndarray of int64, shape (N,)
        Number of tokens of each sequence, together T.
    initial : ndarray of float32, shape (2, n_filled, H), optional
        States before the first token of each direction, of the sequences that have tokens, the
        longest first; zeros by default.
    keep : bool
        Whether to keep the gates for `recur_gradients`.
    usual_threads : int
        As of `sk_han.engines.chunks.threads_for`.

    Raises
    ------
    IndexError
        If the index names an input that is not there.
    ValueError
        If the lengths are not those of the tokens.
    """
    (_, U, _), (_, H, _), T = projected.shape, weight.shape, len(index)
    check_lengths(lengths, T)
    if T and not 0 <= index.min() <= index.max() < U:
        raise IndexError(f"index holds {index.min()} to {index.max()}; there are {U} inputs.")
    sequences, threads = filled_sequences(lengths), threads_for(T, usual_threads)
    bounds = bounds_of(sequences.lengths, n_chunks(threads))
    states, gates = lasting((T, 2 * H)), lasting((2, T, 4 * H)) if keep else None
    run_tasks(
        kernels.forward,
        2 * (len(bounds) - 1),
        H,
        *map(_flat, (projected, weight, bias, index)),
        *sequences,
        bounds,
        *map(_flat, (initial, states, gates)),
        threads=threads,
    )
    return Recurred(states, gates, sequences)


def recur_gradients(
    kernels: ModuleType,
    grad: Array,
    states: Array,
    gates: Array,
    weight: Array,
    index: Positions,
    sequences: Sequences,
    initial: Array | None,
    n_distinct: int,
    *,
    usual_threads: int = 1,
) -> tuple[Array, Array, Array, Array | None]:
    """Compute the gradients of `recur`.

    Returns
    -------
    of_projected : ndarray of float32, shape (n, 2, U, 3H)
    of_weight : ndarray of float32, shape (n, 2, H, 3H)
    of_bias : ndarray of float32, shape (n, 2, H)
    of_initial : ndarray of float32, shape (2, n_filled, H), or None
    """
    H, threads = weight.shape[1], threads_for(len(index), usual_threads)
    # A chunk has gradients of its own for all distinct inputs.
    bounds = bounds_of(sequences.lengths, max(1, threads // 2))
    n = len(bounds) - 1
    of_projected = lasting((n, 2, n_distinct, 3 * H))
    of_weight, of_bias = _empty(n, 2, H, 3 * H), _empty(n, 2, H)
    of_initial = None if initial is None else np.empty_like(initial, order="C")
    run_tasks(
        kernels.backward,
        2 * n,
        H,
        *map(_flat, (grad, states, gates, weight, index)),
        *sequences,
        bounds,
        *map(_flat, (initial, of_projected, of_weight, of_bias, of_initial)),
        threads=threads,
    )
    return of_projected, of_weight, of_bias, of_initial


def attend(
    kernels: ModuleType,
    states: Array,
    weight: Array,
    bias: Array,
    context: Array,
    lengths: Positions,
    *,
    keep: bool = False,
    usual_threads: int = 1,
) -> Attended:
    """Pool states by attention: ``softmax(context . tanh(weight h + bias))`` of each sequence.

    Parameters
    ----------
    kernels : module
        `sk_han.engines.kernels.attention`.
    states : ndarray of float32, shape (T, H)
    weight : ndarray of float32, shape (A, H)
    bias, context : ndarray of float32, shape (A,)
    lengths : ndarray of int64, shape (N,)
        Number of states of each sequence, together T.
    keep : bool
        Whether to keep the hidden layer for `attend_gradients`.
    usual_threads : int
        As of `sk_han.engines.chunks.threads_for`.

    Raises
    ------
    ValueError
        If the lengths are not those of the states.
    """
    (T, H), (A, _), N = states.shape, weight.shape, len(lengths)
    check_lengths(lengths, T)
    threads, starts = threads_for(T, usual_threads), np.zeros(N + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    bounds = bounds_of(lengths, n_chunks(threads))
    pooled, weights = _empty(N, H), _empty(T)
    hidden = lasting((T, A)) if keep else None
    run_tasks(
        kernels.forward,
        len(bounds) - 1,
        H,
        A,
        *map(_flat, (states, weight, bias, context)),
        starts,
        bounds,
        *map(_flat, (pooled, weights, hidden)),
        threads=threads,
    )
    return Attended(pooled, weights, hidden, starts, bounds)


def attend_gradients(
    kernels: ModuleType,
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
    """Compute the gradients of `attend`.

    Returns
    -------
    of_states : ndarray of float32, shape (T, H)
    of_weight : ndarray of float32, shape (n, A, H)
    of_bias, of_context : ndarray of float32, shape (n, A)
    """
    (T, H), (A, _), n = states.shape, weight.shape, len(bounds) - 1
    gradients = lasting((T, H)), _empty(n, A, H), _empty(n, A), _empty(n, A)
    run_tasks(
        kernels.backward,
        n,
        H,
        A,
        _flat(grad),
        _flat(grad_weights.copy()),  # the kernel adds to them
        *map(_flat, (states, weight, context, weights, hidden)),
        starts,
        bounds,
        *map(_flat, gradients),
        threads=threads_for(T, usual_threads),
    )
    return gradients


def update_rows(
    kernels: ModuleType,
    table: Array,
    mean: Array,
    square: Array,
    rows: Positions,
    grad: Array,
    settings: list[float],
    *,
    usual_threads: int = 1,
) -> None:
    """Update rows of a table in place by AdamW; arguments of `sk_han.engines.kernels.adamw`."""
    threads = threads_for(len(rows), usual_threads)
    run_tasks(
        kernels.step,
        n_chunks(threads),
        table.shape[1],
        *map(_flat, (table, mean, square, rows, grad)),
        np.array(settings, dtype=np.float32),
        threads=threads,
    )


_NONE: Array = np.empty(0, dtype=np.float32)


def _flat(array: Any) -> NDArray[Any]:
    """Return the numbers as a flat array, which shares memory if it can; an empty one for None."""
    return _NONE if array is None else np.ascontiguousarray(array).reshape(-1)


def _empty(*shape: int) -> Array:
    return np.empty(shape, dtype=np.float32)
