"""Reused memory: new pages cost more time than the arithmetic on them."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
