"""Which engine computes: choice, threads and reused memory."""

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.messages import warn_user

ENGINES = ("auto", "numba", "torch")


_OF_TRAINING = ("projection", "gru_recurrence", "attention", "adamw", "ngrams")


_OTHERS = ("vectors", "sparse", "text", "logistic")


_ON_GPU = "gpu_recurrence"


# The modules by name; None for one that failed to load in this process.
_LOADED: dict[str, ModuleType | None] = {}


_LOCK = RLock()


if hasattr(os, "register_at_fork"):
    # A process forked while another thread loads kernels would wait for that thread for ever.
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


# A failure is told once a process.
_TOLD: set[str] = set()


_DEFAULT = os.environ.get("SK_HAN_ENGINE", "auto")


if _DEFAULT not in ENGINES:
    raise ValueError(f"The environment variable SK_HAN_ENGINE is {_DEFAULT!r}; it takes {ENGINES}.")


_REQUESTED: ContextVar[str] = ContextVar("engine", default=_DEFAULT)


@contextmanager
def using_engine(name: str) -> Iterator[None]:
    """Compute with one of `ENGINES` inside of the block.

    "auto" leaves the engine as it is: that of a block around this one, else that of the environment
    variable ``SK_HAN_ENGINE``, else Numba where it is installed.
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

    Loading compiles the kernels, or reads them from Numba's cache. If this fails, a warning says
    so once, and the result is None from then on. Of work that is not worth the import of Numba it
    is None where Numba is not imported yet, unless the engine "numba" is asked for.
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


def gpu_kernels(try_them: Callable[[ModuleType], None]) -> ModuleType | None:
    """Return the kernels for a GPU, or None where PyTorch shall compute, by cuDNN.

    Triton, which comes with PyTorch for CUDA, compiles the kernels when `try_them` computes with
    them, at the first call. If this fails, a warning says so once.
    """
    if _REQUESTED.get() == "torch":
        return None
    with _LOCK:
        if _ON_GPU not in _LOADED:
            _LOADED[_ON_GPU] = _load_for_gpu(try_them)
        return _LOADED[_ON_GPU]


def loaded(name: str) -> ModuleType:
    """Return what `kernels` found, whichever engine is asked for by now: a backward comes later."""
    module = _LOADED[name]
    assert module is not None
    return module


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
        return import_module(f"sk_han.kernels.{name}")
    except Exception as error:
        _warn(
            f"its kernels cannot be compiled or loaded ({type(error).__name__}: {error})",
            "PyTorch or NumPy computes instead: a fit takes three to four times as long, a "
            f"prediction up to seven times. {_repair(error)} engine='torch' avoids this warning.",
            kind=type(error).__name__,  # several modules fail for one reason, each in its words
        )
        return None
    finally:
        if collects:
            gc.enable()


def _load_for_gpu(try_them: Callable[[ModuleType], None]) -> ModuleType | None:
    if find_spec("triton") is None:
        return None
    try:
        module = import_module(f"sk_han.kernels.{_ON_GPU}")
        try_them(module)
        return module
    except Exception as error:
        warn_user(
            f"Triton cannot compile kernels for the GPU ({type(error).__name__}: {error}). cuDNN "
            "computes instead, and a step of training takes several times as long. Triton needs a "
            "C compiler, such as gcc. engine='torch' avoids this warning.",
            RuntimeWarning,
        )
        return None


def _repair(error: Exception) -> str:
    if "no locator available" in str(error):  # what Numba says where it may write no cache
        return "Set NUMBA_CACHE_DIR to a folder that can be written."
    return (
        "If files of Numba's cache are damaged, delete sk_han/kernels/__pycache__ or "
        "NUMBA_CACHE_DIR."
    )


def _warn(problem: str, repair: str, *, kind: str = "missing") -> None:
    if kind not in _TOLD:
        _TOLD.add(kind)
        warn_user(f"The engine 'numba' is not used, since {problem}. {repair}", RuntimeWarning)


_MOST_PER_CORE = 4  # more wait for each other; thousands take the memory of the machine


_N_THREADS: ContextVar[int | None] = ContextVar("n_threads", default=None)


_POOLS: dict[int, ThreadPoolExecutor] = {}  # by their number of threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)  # a fork copies no threads


def at_most_per_core(number: int, n_cores: int) -> int:
    """Return the number of threads or processes, or four for each core if that is less.

    A model may have been saved on a larger machine, or by someone who asks for a million.
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
    ``counter[0]`` by `sk_han.kernels.vectors.draw`, until it gets `n_tasks`.
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

    No callback of the reference says so: an interrupt that is raised in one is lost.
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
    memory = _free(n_bytes)
    # A view keeps the array at the end of its chain of bases. That is `used`, since the base of
    # `used` is no array, but a view of a buffer.
    used = np.frombuffer(memory.data, dtype=np.float32, count=math.prod(shape))
    _POOL.append(_Pooled(memory, weakref.ref(used)))
    if len(_POOL) > N_POOLED:
        _POOL.pop(0)
    return used.reshape(shape)


def _free(n_bytes: int) -> NDArray[np.uint8]:
    """Take the first free memory that is large enough out of the pool, or make some."""
    for each in _POOL[:]:
        if n_bytes <= len(each.memory) <= 4 * n_bytes and each.array() is None:
            try:
                _POOL.remove(each)
            except ValueError:  # another thread took it
                continue
            return each.memory
    return np.empty(n_bytes + n_bytes // 8, dtype=np.uint8)
