"""Choice of the engine, its threads and memory, and the kernels of the network on arrays."""

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
_FOR_TRAINING, _OTHERS = ("network", "ngrams"), ("vectors", "sparse", "text", "logistic")

# Modules by name. None stands for one that could not be loaded, which is not tried again.
_LOADED: dict[str, ModuleType | None] = {}
_LOCK = RLock()


if hasattr(os, "register_at_fork"):
    # A fork copies the lock but not the thread that holds it: a child forked while another thread
    # loads kernels would wait for it forever.
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


# Several modules usually fail for the same reason, so each kind of failure is reported once.
_WARNED: set[str] = set()
_DEFAULT = os.environ.get("SK_HAN_ENGINE", "auto")


if _DEFAULT not in ENGINES:
    raise ValueError(f"The environment variable SK_HAN_ENGINE is {_DEFAULT!r}; it takes {ENGINES}.")


_REQUESTED: ContextVar[str] = ContextVar("engine", default=_DEFAULT)


@contextmanager
def using_engine(name: str) -> Iterator[None]:
    """Compute with this engine inside the block, for estimators and for networks of `sk_han.nn`.

    Parameters
    ----------
    name : {"auto", "numba", "torch"}
        "auto" keeps the current engine: that of an enclosing block, else of the environment
        variable ``SK_HAN_ENGINE``, else Numba if it is installed.
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
    """Load the kernels of training; return the seconds of compilation, or 0 if all were cached."""
    start = perf_counter()
    modules = [kernels(name) for name in _FOR_TRAINING]
    functions = (f for module in modules if module for f in vars(module).values())
    misses = (getattr(getattr(f, "stats", None), "cache_misses", None) for f in functions)
    return perf_counter() - start if any(misses) else 0.0


def warm_up() -> float:
    """Compile all kernels into Numba's cache, for later processes; return the seconds it took."""
    if _REQUESTED.get() == "torch":
        raise RuntimeError("SK_HAN_ENGINE is 'torch', so no kernels are used; unset it.")
    start = perf_counter()
    with using_engine("numba"):
        if None in [kernels(name) for name in _FOR_TRAINING + _OTHERS]:
            raise RuntimeError("No kernels can be compiled here; the warning above says why.")
    return perf_counter() - start


def kernels(name: str, *, worth_loading: bool = True) -> ModuleType | None:
    """Return a module of compiled kernels, or None if PyTorch or NumPy must be used.

    Loading compiles the kernels, or reads them from Numba's cache. If it fails, a warning is issued
    once, and the result is None from then on. For work too small to be ``worth_loading`` Numba, the
    result is None unless Numba is imported already or the engine "numba" is requested.
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
    """Return `sk_han._kernels.gpu`, or None if PyTorch must be used, which calls cuDNN.

    Triton is installed with PyTorch for CUDA. The first call compiles the kernels and tests them on
    this device; if that fails, a warning is issued once.
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
                    "cuDNN computes instead, and a step takes several times as long. Install a "
                    "C compiler for Triton, or set engine='torch' to avoid this warning.",
                    RuntimeWarning,
                )
        return _LOADED["gpu"]


def _load(name: str, requested: str) -> ModuleType | None:
    if find_spec("numba") is None:
        if requested == "numba":
            _warn("numba is not installed", "Install it: pip install numba.")
        return None
    # Numba creates millions of small objects; garbage collection took 1/6 of the compilation time.
    collects = gc.isenabled()
    gc.disable()
    try:
        if import_module("numba").config.DISABLE_JIT:
            raise RuntimeError("NUMBA_DISABLE_JIT switches its compiler off")
        return import_module(f"sk_han._kernels.{name}")
    except Exception as error:
        repair = (
            "If files of Numba's cache are damaged, delete sk_han/_kernels/__pycache__ or "
            "NUMBA_CACHE_DIR."
        )
        # This is Numba's message if it has no folder to write its cache to.
        if "no locator available" in str(error):
            repair = "Set NUMBA_CACHE_DIR to a folder that can be written."
        _warn(
            f"its kernels cannot be compiled or loaded ({type(error).__name__}: {error})",
            "PyTorch or NumPy is used: a fit takes three to four times as long, a prediction up to "
            f"seven times. {repair} engine='torch' avoids this warning.",
            kind=type(error).__name__,
        )
        return None
    finally:
        if collects:
            gc.enable()


def _warn(problem: str, repair: str, *, kind: str = "missing") -> None:
    if kind not in _WARNED:
        _WARNED.add(kind)
        warn_user(f"The engine 'numba' is not used, since {problem}. {repair}", RuntimeWarning)


# More threads than this only wait for each other, and thousands exhaust the memory.
_MOST_PER_CORE = 4
_N_THREADS: ContextVar[int | None] = ContextVar("n_threads", default=None)
# Thread pools by the number of threads that compute, of which the caller is one.
_POOLS: dict[int, ThreadPoolExecutor] = {}


if hasattr(os, "register_at_fork"):
    # A fork copies the pools without their threads, so a child must create its own.
    os.register_at_fork(after_in_child=_POOLS.clear)


def at_most_per_core(number: int, n_cores: int) -> int:
    """Limit a number of threads or processes to four per core.

    The number may come from a model saved on a larger machine, or be absurdly large.
    """
    return min(number, _MOST_PER_CORE * n_cores)


def tasks_at_once() -> int | None:
    """Return the number of threads of the Dask worker that runs this task; None outside Dask."""
    # In a task of its Dask backend, joblib would count the cores of the whole cluster instead. A
    # worker has imported this module, so that a process without it runs no task.
    module = sys.modules.get("distributed.worker")
    if module is None:
        return None
    try:
        n_threads: int = module.get_worker().state.nthreads
    except ValueError:  # "No worker found"
        return None
    return n_threads


@contextmanager
def using_threads(number: int) -> Iterator[None]:
    """Run kernels on this number of threads inside the block."""
    token = _N_THREADS.set(number)
    try:
        yield
    finally:
        _N_THREADS.reset(token)


def n_threads(default: int = 1) -> int:
    """Return the number of threads set by `using_threads`, or the default outside such a block."""
    return _N_THREADS.get() or default


def run_tasks(
    kernel: Callable[..., None], n_tasks: int, *arguments: Any, threads: int | None = None
) -> None:
    """Run all tasks of a kernel, by default on `n_threads` threads.

    ``kernel(counter, n_tasks, *arguments)`` is compiled with ``nogil``. It draws task numbers from
    ``counter[0]`` by `sk_han._kernels.vectors.draw` until the number is `n_tasks`.
    """
    counter = np.zeros(1, dtype=np.int64)
    number = min(threads or n_threads(), n_tasks)
    helpers = []
    if number > 1:
        try:
            pool = _POOLS.get(number) or _POOLS.setdefault(number, ThreadPoolExecutor(number - 1))
            helpers = [pool.submit(kernel, counter, n_tasks, *arguments) for _ in range(number - 1)]
        except RuntimeError:
            # The interpreter is shutting down and starts no thread; this one does all tasks.
            pass
    kernel(counter, n_tasks, *arguments)
    for helper in helpers:
        # A thread that has not started finds no task left, so it need not start.
        if not helper.cancel():
            helper.result()


# Smaller arrays are cheap to allocate, and larger ones are too expensive to keep.
SMALLEST_POOLED, LARGEST_POOLED = 1 << 18, 1 << 28  # bytes
N_POOLED = 12


@dataclass(eq=False, slots=True)
class _Pooled:
    """Memory that can be reused once the array on it is garbage-collected.

    The reference has no callback, because an interrupt raised inside one would be lost.
    """

    memory: NDArray[np.uint8]
    array: weakref.ref[NDArray[np.float32]]


# The most recently used entry is the last. There is no lock: each append, remove, pop and copy of a
# list is atomic.
_POOL: list[_Pooled] = []


def allocate(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an uninitialized array whose memory is reused after the array is garbage-collected.

    Arrays that a backward pass needs later are allocated so: with fresh memory for each batch a
    training step took a fifth longer.
    """
    n_bytes = 4 * math.prod(shape)
    if not SMALLEST_POOLED <= n_bytes <= LARGEST_POOLED:
        return np.empty(shape, dtype=np.float32)
    for pooled in _POOL[:]:
        if n_bytes <= len(pooled.memory) <= 4 * n_bytes and pooled.array() is None:
            try:
                _POOL.remove(pooled)
            except ValueError:
                # Another thread has taken this entry since the list was copied.
                continue
            memory = pooled.memory
            break
    else:
        memory = np.empty(n_bytes + n_bytes // 8, dtype=np.uint8)
    # A NumPy view keeps a reference to the array at the end of its chain of bases. That is `used`,
    # since the base of `used` is a buffer and not an array, so its weak reference tells when the
    # last view is gone.
    used = np.frombuffer(memory.data, dtype=np.float32, count=math.prod(shape))
    _POOL.append(_Pooled(memory, weakref.ref(used)))
    if len(_POOL) > N_POOLED:
        _POOL.pop(0)
    return used.reshape(shape)


Array = NDArray[np.float32]
Positions = NDArray[np.int64]

# With fewer rows per thread, starting a thread costs more than it saves.
_ROWS_A_THREAD = 256
_NONE: Array = np.empty(0, dtype=np.float32)


class Recurred(NamedTuple):
    """States of a GRU, and what `recur_gradients` needs."""

    states: Array  # (T, 2H)
    gates: Array | None  # (2, T, 4H)
    # First token and length of each sequence that is not empty, the shortest first.
    sequences: tuple[Positions, Positions]


class Attended(NamedTuple):
    """Results of attention pooling, and what `attend_gradients` needs."""

    pooled: Array  # (N, H)
    weights: Array  # (T,)
    hidden: Array | None  # (T, A)
    starts: Positions  # (N + 1,) first token of each sequence
    bounds: Positions  # first sequence of each chunk


# The functions below call the kernels of `sk_han._kernels.network`, which must be loaded; `nn` and
# `serving` share them. Kernels access memory without bounds checks, so ids and lengths are checked
# here. Gradients of weights have an additional first axis, one entry for each of n chunks of the
# work, because threads must not add to the same memory; the caller sums over it.


def project(
    inputs: Array,  # (U, E)
    weight: Array,  # (2, G, E)
    bias: Array,  # (2, G)
) -> Array:
    """Compute ``inputs @ weight[d].T + bias[d]`` for both directions ``d``, (2, U, G)."""
    (U, E), (_, G, _) = inputs.shape, weight.shape
    projected, (threads, n) = allocate((2, U, G)), _division(U)
    _run("project", 2 * n, threads, E, G, inputs, weight, bias, projected)
    return projected


def project_gradients(grad: Array, inputs: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Compute the gradients of `project`: of inputs, weight (n, 2, G, E) and bias (n, 2, G)."""
    (U, E), (_, G, _), (threads, n) = inputs.shape, weight.shape, _division(len(inputs))
    gradients = allocate((U, E)), allocate((n, 2, G, E)), allocate((n, 2, G))
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
    # The longest sequences come last, since the kernel takes groups of sequences from the end.
    # Empty ones are left out.
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)][::-1]
    sequences = (np.cumsum(lengths) - lengths)[order], lengths[order]
    threads, n_chunks = _division(T)
    bounds = _chunk_bounds(sequences[1], n_chunks)
    states, gates = allocate((T, 2 * H)), allocate((2, T, 4 * H)) if keep else None
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
    # Each chunk has gradients of all distinct inputs, a large array, so each thread has one task:
    # half as many chunks as threads, since a task is one direction of a chunk.
    bounds = _chunk_bounds(sequences[1], max(1, threads // 2))
    n = len(bounds) - 1
    gradients = (
        allocate((n, 2, n_distinct, 3 * H)),
        allocate((n, 2, H, 3 * H)),
        allocate((n, 2, H)),
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
    bounds = _chunk_bounds(lengths, n_chunks)
    pooled, weights = allocate((len(lengths), H)), allocate((T,))
    hidden = allocate((T, A)) if keep else None
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
    gradients = (allocate((T, H)), allocate((n, A, H)), allocate((n, A)), allocate((n, A)))
    # The kernel adds to this array, which belongs to the caller.
    grad_weights = grad_weights.copy()
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
    """Raise an error unless positions are int64 and lengths sum to the number of tokens."""
    for name, array in positions.items():
        # Kernels are compiled for this type only.
        if array.dtype != np.int64:
            raise TypeError(f"{name} must be of int64; got {array.dtype}.")
    lengths = positions["lengths"]
    if lengths.sum() != n_tokens or lengths.min(initial=0) < 0:
        raise ValueError(
            f"lengths must be at least 0 and add up to {n_tokens} tokens; got {lengths}."
        )


def _chunk_bounds(lengths: Positions, n_chunks: int) -> Positions:
    """Split sequences into chunks of about as many tokens; return the first sequence of each."""
    if n_chunks == 1:
        return np.array([0, len(lengths)])
    ends = np.cumsum(lengths)
    shares = np.arange(1, n_chunks) * (int(lengths.sum()) / n_chunks)
    return np.concatenate([[0], np.searchsorted(ends, shares), [len(lengths)]])


def _division(n_rows: int) -> tuple[int, int]:
    """Return the number of threads worth starting, and of chunks: several a thread, for balance."""
    threads = max(1, min(n_threads(), n_rows // _ROWS_A_THREAD))
    return threads, 1 if threads == 1 else 4 * threads


def _run(name: str, n_tasks: int, threads: int, *arguments: int | NDArray[Any] | None) -> None:
    """Run a kernel on sizes and flattened arrays; None becomes an empty array."""
    flat = [
        _NONE if value is None else value if isinstance(value, int) else np.ravel(value)
        for value in arguments
    ]
    # The module is not looked up by `kernels`: a backward pass may run outside the block that chose
    # the engine, and must use the engine of its forward pass.
    run_tasks(getattr(_LOADED["network"], name), n_tasks, *flat, threads=threads)
