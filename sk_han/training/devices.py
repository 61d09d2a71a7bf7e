"""Engine, threads and device that compute."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from joblib import cpu_count

from sk_han.kernels.engine import (
    ENGINES,
    at_most_per_core,
    engine_in_use,
    n_threads,
    tasks_at_once,
    using_engine,
    using_threads,
)
from sk_han.utils.compat import POSITIVE, StrOptions, validate_parameter_constraints

_FORKED_WITHOUT_EXEC = 0x40  # PF_FORKNOEXEC of Linux


def _came_by_fork(imported: Sequence[str]) -> bool:
    """Whether a parent may have used PyTorch before the fork, by the order of imports."""
    if imported.index("sk_han") < imported.index("torch"):
        return False
    try:
        status = Path("/proc/self/stat").read_text("utf-8", "replace")
    except OSError:  # not Linux: elsewhere new processes are not forked, unless one asks for it
        return False
    flags = int(status.rpartition(")")[2].split()[6])
    return bool(flags & _FORKED_WITHOUT_EXEC)


_CONSTRAINTS: dict[str, Any] = {
    "engine": [StrOptions(set(ENGINES))],
    "n_threads": [POSITIVE, None],
}


# The process that imported PyTorch; None for a parent of this one.
_IMPORTED_IN = None if _came_by_fork(list(sys.modules)) else os.getpid()


# joblib reads files of the operating system for it.
_n_cores = cache(cpu_count)


@contextmanager
def computing(engine: str = "auto", threads: int | None = None) -> Iterator[None]:
    """Compute with an engine on a number of threads inside of the block; both are checked.

    By default the number is that of a block around this one, else PyTorch's setting or the number
    of cores that this process may use, whichever is lower, and 1 in a forked process. Tasks that
    a worker of Dask runs at once share the cores. At most four for each core.
    """
    given = {"engine": engine, "n_threads": threads}
    validate_parameter_constraints(_CONSTRAINTS, given, caller_name="the estimator")
    if threads is None:
        own_cores = max(_n_cores() // (tasks_at_once() or 1), 1)
        usual = 1 if _is_forked() else min(torch.get_num_threads(), own_cores)
        threads = n_threads(usual)
    threads = at_most_per_core(threads, _n_cores())
    with using_engine(engine), using_threads(threads), torch_threads(threads):
        try:
            yield
        except RuntimeError as error:
            # Its only sign is the text, which names the allocator and "allocate 82534400 bytes".
            if "DefaultCPUAllocator" not in str(error):
                raise
            found = re.search(r"allocate (\d+) bytes", str(error))
            size = f"{int(found[1]):,} bytes" if found else "what it needs"
            raise MemoryError(
                f"PyTorch could not allocate {size} of memory. Lower batch_size, net_params="
                "{'valid_batch_size': ..., 'module__max_words': ...}, or the size of the network."
            ) from error


@contextmanager
def torch_threads(number: int | None = None, *, of_kernels: bool = False) -> Iterator[None]:
    """Let PyTorch use this number of threads inside of the block, and one in a forked process.

    A fork does not copy the threads of PyTorch's pool, and would wait for them for ever
    (pytorch#17199). Where kernels do the work, threads that wait actively would take their cores.
    """
    before = torch.get_num_threads()
    number = before if number is None else number
    if _is_forked() or (of_kernels and number > 1 and engine_in_use() == "numba"):
        number = 1
    if number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _is_forked() -> bool:
    return os.getpid() != _IMPORTED_IN


def available_devices() -> list[str]:
    """Return the names of the devices of this machine, the CPU first."""
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices


def resolve_device(device: str) -> str:
    """Return a device that is present: for "auto" CUDA if there is one, else the CPU."""
    present = available_devices()
    if device == "auto":
        return "cuda" if "cuda" in present else "cpu"
    if device not in present:
        raise ValueError(
            f"device={device!r} is not available here; this machine has {present}. "
            "device='auto' takes CUDA where there is one, else the CPU."
        )
    return device
