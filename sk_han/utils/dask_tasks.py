"""Whether Dask runs this code, and what its task may take of the machine."""

from __future__ import annotations

import sys


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
