"""Which engine computes, on which threads and in which memory; the kernels of the network."""

from __future__ import annotations

import gc
import math
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import warn_user

ENGINES = ("auto", "numba", "torch")
_OF_TRAINING, _OTHERS = ("network", "ngrams"), ("vectors", "sparse", "text", "logistic")

# The modules by name; None for one that failed to load in this process.
_LOADED: dict[str, ModuleType | None] = {}
_LOCK = RLock()


if hasattr(os, "register_at_fork"):
    # A process forked while another thread loads kernels would wait for that thread for ever.
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


# The kinds of failures that this process has warned of.
_WARNED: set[str] = set()
_DEFAULT = os.environ.get("SK_HAN_ENGINE", "auto")


if _DEFAULT not in ENGINES:
    raise ValueError(f"The environment variable SK_HAN_ENGINE is {_DEFAULT!r}; it takes {ENGINES}.")


_REQUESTED: ContextVar[str] = ContextVar("engine", default=_DEFAULT)


@contextmanager
def using_engine(name: str) -> Iterator[None]:
    """Compute with an engine inside of the block, also a network without an estimator.

    Parameters
    ----------
    name : {"auto", "numba", "torch"}
        "auto" leaves the engine as it is: that of a block around this one, else that of the
        environment variable ``SK_HAN_ENGINE``, else Numba where it is installed.
    """
    if name == "auto":
        yield
        return
    token = _REQUESTED.set(name)
    try:
        yield
    finally:
        _REQUESTED.reset(token)


def engine_in_use() -> str:
    """Return the engine that computes here, "numba" or "torch"."""
    return "torch" if kernels("vectors") is None else "numba"


def compile_kernels() -> float:
    """Load the kernels of training; return the seconds of compilation, 0 if they were cached."""
    start = perf_counter()
    modules = [kernels(name) for name in _OF_TRAINING]
    functions = (f for module in modules if module for f in vars(module).values())
    misses = (getattr(getattr(f, "stats", None), "cache_misses", None) for f in functions)
    return perf_counter() - start if any(misses) else 0.0


def warm_up() -> float:
    """Compile all kernels for Numba's cache, which later processes read; return the seconds."""
    if _REQUESTED.get() == "torch":
        raise RuntimeError("SK_HAN_ENGINE is 'torch', so that no kernels are used; unset it.")
    start = perf_counter()
    with using_engine("numba"):
        if None in [kernels(name) for name in _OF_TRAINING + _OTHERS]:
            raise RuntimeError("No kernels can be compiled here; the warning above says why.")
    return perf_counter() - start


def kernels(name: str, *, worth_loading: bool = True) -> ModuleType | None:
    """Return a module of compiled kernels, or None where PyTorch or NumPy shall compute.

    Loading compiles the kernels, or reads them from Numba's cache. If this fails, there is one
    warning, and the result is None from then on. Of work that is not worth the import of Numba it
    is None where Numba is not imported yet, unless the engine "numba" is requested.
    """
    requested = _REQUESTED.get()
    if requested == "torch":
        return None
    if name in _LOADED:
        return _LOADED[name]
    if not worth_loading and requested != "numba" and "numba" not in sys.modules:
        return None
    with _LOCK:
        if name not in _LOADED:
            _LOADED[name] = _load(name, requested)
        return _LOADED[name]


def gpu_kernels(device: Any) -> ModuleType | None:
    """Return `sk_han._kernels.gpu`, or None where PyTorch shall compute, by cuDNN.

    Triton, which comes with PyTorch for CUDA, compiles the kernels at the first call, for a test on
    this device. If this fails, there is one warning.
    """
    if _REQUESTED.get() == "torch":
        return None
    with _LOCK:
        if "gpu" not in _LOADED:
            _LOADED["gpu"] = None
            try:
                if find_spec("triton") is not None:
                    module = import_module("sk_han._kernels.gpu")
                    module.check(device)
                    _LOADED["gpu"] = module
            except Exception as error:
                warn_user(
                    f"Triton cannot compile kernels for the GPU ({type(error).__name__}: {error}). "
                    "cuDNN computes instead, and a step of training takes several times as long. "
                    "Triton needs a C compiler, such as gcc. engine='torch' avoids this warning.",
                    RuntimeWarning,
                )
        return _LOADED["gpu"]


def _load(name: str, requested: str) -> ModuleType | None:
    if find_spec("numba") is None:
        if requested == "numba":
            _warn("numba is not installed", "Install it: pip install numba.")
        return None
    collects = gc.isenabled()
    gc.disable()  # Numba makes millions of small objects, and a sixth of its time was collection
    try:
        if import_module("numba").config.DISABLE_JIT:
            raise RuntimeError("NUMBA_DISABLE_JIT switches its compiler off")
        return import_module(f"sk_han._kernels.{name}")
    except Exception as error:
        repair = (
            "If files of Numba's cache are damaged, delete sk_han/_kernels/__pycache__ or "
            "NUMBA_CACHE_DIR."
        )
        if "no locator available" in str(error):  # Numba's message where it may write no cache
            repair = "Set NUMBA_CACHE_DIR to a folder that can be written."
        _warn(
            f"its kernels cannot be compiled or loaded ({type(error).__name__}: {error})",
            "PyTorch or NumPy computes instead: a fit takes three to four times as long, a "
            f"prediction up to seven times. {repair} engine='torch' avoids this warning.",
            kind=type(error).__name__,  # several modules fail for one reason, each in its words
        )
        return None
    finally:
        if collects:
            gc.enable()


def _warn(problem: str, repair: str, *, kind: str = "missing") -> None:
    if kind not in _WARNED:
        _WARNED.add(kind)
        warn_user(f"The engine 'numba' is not used, since {problem}. {repair}", RuntimeWarning)


_MOST_PER_CORE = 4  # more wait for each other; thousands take the memory of the machine
_N_THREADS: ContextVar[int | None] = ContextVar("n_threads", default=None)
_POOLS: dict[int, ThreadPoolExecutor] = {}  # by their number of threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)  # a fork copies no threads


def at_most_per_core(number: int, n_cores: int) -> int:
    """Return the number of threads or processes, or four for each core if that is less.

    A model may have been saved on a larger machine, or a million may have been requested.
    """
    return min(number, _MOST_PER_CORE * n_cores)


def tasks_at_once() -> int | None:
    """Return how many tasks run at once in the worker that runs this one; None outside of Dask."""
    # In a task of its backend for Dask joblib counts the cores of the cluster.
    module = sys.modules.get("distributed.worker")  # a task has it
    if module is None:
        return None
    try:
        n_threads: int = module.get_worker().state.nthreads
    except ValueError:  # "No worker found"
        return None
    return n_threads


@contextmanager
def using_threads(number: int) -> Iterator[None]:
    """Run kernels on this number of threads inside of the block."""
    token = _N_THREADS.set(number)
    try:
        yield
    finally:
        _N_THREADS.reset(token)


def n_threads(default: int = 1) -> int:
    """Return the number of threads that kernels use here; `default` outside `using_threads`."""
    return _N_THREADS.get() or default


def run_tasks(
    kernel: Callable[..., None], n_tasks: int, *arguments: Any, threads: int | None = None
) -> None:
    """Run all tasks of a kernel, by default on the number of threads of `n_threads`.

    ``kernel(counter, n_tasks, *arguments)``, compiled with ``nogil``, draws numbers of tasks from
    ``counter[0]`` by `sk_han._kernels.vectors.draw`, until it gets `n_tasks`.
    """
    counter = np.zeros(1, dtype=np.int64)
    number = min(threads or n_threads(), n_tasks)
    helpers = []
    if number > 1:
        try:
            pool = _POOLS.get(number) or _POOLS.setdefault(number, ThreadPoolExecutor(number - 1))
            helpers = [pool.submit(kernel, counter, n_tasks, *arguments) for _ in range(number - 1)]
        except RuntimeError:  # the interpreter shuts down and starts no thread
            pass
    kernel(counter, n_tasks, *arguments)
    for helper in helpers:
        if not helper.cancel():  # a thread that has not begun has nothing left to do
            helper.result()


SMALLEST_POOLED, LARGEST_POOLED = 1 << 18, 1 << 28  # bytes
N_POOLED = 12


@dataclass(eq=False, slots=True)
class _Pooled:
    """Memory that is free once the array on it is gone.

    Not by a callback of the reference: an interrupt that is raised in one is lost.
    """

    memory: NDArray[np.uint8]
    array: weakref.ref[NDArray[np.float32]]


# The latest used last. Each change of a list, and a copy, is one step for all threads.
_POOL: list[_Pooled] = []


def lasting(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return uninitialized memory that is used again after the last array on it is gone.

    For what a backward pass needs later: the memory belongs to the result alone. With new memory
    for each batch a training step took a fifth longer.
    """
    n_bytes = 4 * math.prod(shape)
    if not SMALLEST_POOLED <= n_bytes <= LARGEST_POOLED:
        return np.empty(shape, dtype=np.float32)
    for each in _POOL[:]:
        if n_bytes <= len(each.memory) <= 4 * n_bytes and each.array() is None:
            try:
                _POOL.remove(each)
            except ValueError:  # another thread took it
                continue
            memory = each.memory
            break
    else:
        memory = np.empty(n_bytes + n_bytes // 8, dtype=np.uint8)
    # A view keeps the array at the end of its chain of bases. That is `used`, since the base of
    # `used` is not an array, but a view of a buffer.
    used = np.frombuffer(memory.data, dtype=np.float32, count=math.prod(shape))
    _POOL.append(_Pooled(memory, weakref.ref(used)))
    if len(_POOL) > N_POOLED:
        _POOL.pop(0)
    return used.reshape(shape)


Array = NDArray[np.float32]
Positions = NDArray[np.int64]

# With fewer rows a second thread costs more than it saves.
_ROWS_A_THREAD = 256
_NONE: Array = np.empty(0, dtype=np.float32)


class Recurred(NamedTuple):
    """States of a recurrence, and what their gradients need."""

    states: Array  # (T, 2H)
    gates: Array | None  # (2, T, 4H)
    # First token and length of the sequences that are not empty, the shortest first.
    sequences: tuple[Positions, Positions]


class Attended(NamedTuple):
    """Results of an attention, and what their gradients need."""

    pooled: Array  # (N, H)
    weights: Array  # (T,)
    hidden: Array | None  # (T, A)
    starts: Positions  # (N + 1,) first token of each sequence
    bounds: Positions  # first sequence of each chunk


# What follows computes by the kernels of `sk_han._kernels.network`, which must be loaded, for `nn`
# and `serving` alike. They read and write memory without a check, so ids and lengths are checked
# here. Gradients of weights have one more axis in front: what each of n chunks of the work adds.


def project(
    inputs: Array,  # (U, E)
    weight: Array,  # (2, G, E)
    bias: Array,  # (2, G)
) -> Array:
    """Compute ``inputs @ weight[d].T + bias[d]`` for both directions ``d``, (2, U, G)."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    projected, (threads, n) = lasting((2, U, G)), _division(U)
    _run("project", 2 * n, threads, E, G, inputs, weight, bias, projected)
    return projected


def project_gradients(grad: Array, inputs: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Compute the gradients of `project`: of inputs, weight (n, 2, G, E) and bias (n, 2, G)."""
    (U, E), (_, G, _), (threads, n) = inputs.shape, weight.shape, _division(len(inputs))
    gradients = lasting((U, E)), lasting((n, 2, G, E)), lasting((n, 2, G))
    _run("project_gradients", n, threads, E, G, grad, inputs, weight, *gradients)
    return gradients


def recur(
    projected: Array,  # (2, U, 3H): x W + b of each distinct input; gates in the order r, z, n
    weight: Array,  # (2, H, 3H): V
    bias: Array,  # (2, H): c_n
    index: Positions,  # (T,) the distinct input of each token
    lengths: Positions,  # (N,) together T
    keep: bool = False,  # whether to keep the gates for `recur_gradients`
) -> Recurred:
    """Compute the states of a bidirectional GRU from the projections of its distinct inputs.

    The equations are those of `torch.nn.GRU` (r, z: reset and update gate, n: candidate)::

        r_t, z_t = sigmoid(x_t W_rz + h_{t-1} V_rz + b_rz)
        n_t = tanh(x_t W_n + b_n + r_t * (h_{t-1} V_n + c_n))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}
    """
    (_, U, _), (_, H, _), T = projected.shape, weight.shape, len(index)
    _check_lengths(T, lengths=lengths, index=index)
    if T and not 0 <= index.min() <= index.max() < U:
        raise IndexError(f"index holds {index.min()} to {index.max()}; there are {U} inputs.")
    # The longest first, equal ones in their order; then the other way round.
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)][::-1]
    sequences = (np.cumsum(lengths) - lengths)[order], lengths[order]
    threads, n_chunks = _division(T)
    bounds = _bounds_of(sequences[1], n_chunks)
    states, gates = lasting((T, 2 * H)), lasting((2, T, 4 * H)) if keep else None
    read = projected, weight, bias, index, *sequences, bounds
    _run("recur", 2 * (len(bounds) - 1), threads, H, *read, states, gates)
    return Recurred(states, gates, sequences)


def recur_gradients(
    grad: Array,
    states: Array,
    gates: Array,
    weight: Array,
    index: Positions,
    sequences: tuple[Positions, Positions],
    n_distinct: int,
) -> tuple[Array, Array, Array]:
    """Compute the gradients of `recur`.

    Return those of projections (n, 2, U, 3H), weight (n, 2, H, 3H) and bias (n, 2, H).
    """
    H, (threads, _) = weight.shape[1], _division(len(index))
    # A chunk has gradients of its own for all distinct inputs.
    bounds = _bounds_of(sequences[1], max(1, threads // 2))
    n = len(bounds) - 1
    gradients = (
        lasting((n, 2, n_distinct, 3 * H)),
        lasting((n, 2, H, 3 * H)),
        lasting((n, 2, H)),
    )
    read = grad, states, gates, weight, index, *sequences, bounds
    _run("recur_gradients", 2 * n, threads, H, *read, *gradients)
    return gradients


def attend(
    states: Array,  # (T, H)
    weight: Array,  # (A, H)
    bias: Array,  # (A,)
    context: Array,  # (A,)
    lengths: Positions,  # (N,) together T
    keep: bool = False,  # whether to keep the hidden layer for `attend_gradients`
) -> Attended:
    """Pool states by attention: ``softmax(context . tanh(weight h + bias))`` of each sequence."""
    (T, H), (A, _) = states.shape, weight.shape
    _check_lengths(T, lengths=lengths)
    (threads, n_chunks), starts = _division(T), np.append(0, np.cumsum(lengths))
    bounds = _bounds_of(lengths, n_chunks)
    pooled, weights = lasting((len(lengths), H)), lasting((T,))
    hidden = lasting((T, A)) if keep else None
    read = states, weight, bias, context, starts, bounds
    _run("attend", len(bounds) - 1, threads, H, A, *read, pooled, weights, hidden)
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
) -> tuple[Array, Array, Array, Array]:
    """Compute the gradients of `attend`: states (T, H), weight (n, A, H), bias, context (n, A)."""
    (T, H), (A, _), n = states.shape, weight.shape, len(bounds) - 1
    gradients = lasting((T, H)), lasting((n, A, H)), lasting((n, A)), lasting((n, A))
    grad_weights = grad_weights.copy()  # the kernel adds to them
    read = grad, grad_weights, states, weight, context, weights, hidden, starts, bounds
    _run("attend_gradients", n, _division(T)[0], H, A, *read, *gradients)
    return gradients


def update_rows(
    table: Array,  # (V, E)
    mean: Array,  # (V, E)
    square: Array,  # (V, E)
    rows: Positions,  # (U,) without repetition
    grad: Array,  # (U, E)
    settings: Array,
) -> None:
    """Update rows of a table and of their moments in place by AdamW.

    Settings are ``beta1, beta2, lr / (1 - beta1 ** t), sqrt(1 - beta2 ** t), eps,
    1 - lr * weight_decay``.
    """
    threads, n_chunks = _division(len(rows))
    _run(
        "update_rows", n_chunks, threads, table.shape[1], table, mean, square, rows, grad, settings
    )


def _check_lengths(n_tokens: int, **positions: Positions) -> None:
    """Refuse lengths that are not those of so many tokens."""
    for name, each in positions.items():
        if each.dtype != np.int64:  # the only type that kernels are compiled for
            raise TypeError(f"{name} must be of int64; got {each.dtype}.")
    lengths = positions["lengths"]
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


def _division(n_rows: int) -> tuple[int, int]:
    """Return how many threads are worth it, and the chunks that keep them busy if one is slow."""
    threads = max(1, min(n_threads(), n_rows // _ROWS_A_THREAD))
    return threads, 1 if threads == 1 else 4 * threads


def _run(name: str, n_tasks: int, threads: int, *arguments: int | NDArray[Any] | None) -> None:
    """Run a kernel on sizes and flat arrays, which share memory if they can; None is empty."""
    flat = [
        _NONE if each is None else each if isinstance(each, int) else np.ravel(each)
        for each in arguments
    ]
    # Whichever engine is requested by now: gradients are computed later.
    run_tasks(getattr(_LOADED["network"], name), n_tasks, *flat, threads=threads)
