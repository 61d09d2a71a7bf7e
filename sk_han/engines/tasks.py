"""Threads that run the tasks of a kernel, drawn from a counter.

A thread that the operating system gives to another program draws fewer tasks; the others do the
rest. Nothing waits in a loop for work. PyTorch's own threads divide work into equal parts and
wait actively, which was ten times slower beside a program that occupies one of two cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

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
    ``counter[0]`` by `sk_han.engines.kernels.compiling.draw`, until it gets `n_tasks`.
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
