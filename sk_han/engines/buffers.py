"""Reused memory: new pages cost more time than the arithmetic on them."""

from __future__ import annotations

import math
import weakref

import numpy as np
from numpy.typing import NDArray

SMALLEST_POOLED, LARGEST_POOLED = 1 << 18, 1 << 28  # bytes
N_POOLED = 12

# Memory that no array uses. Lists are appended to and popped from in one step for all threads.
_POOL: list[NDArray[np.uint8]] = []


def lasting(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return uninitialized memory that is used again after the last array on it is gone.

    For what a backward pass needs later: the memory belongs to the result alone. With new memory
    for each batch a training step took a fifth longer.
    """
    n_bytes = 4 * math.prod(shape)
    if not SMALLEST_POOLED <= n_bytes <= LARGEST_POOLED:
        return np.empty(shape, dtype=np.float32)
    memory = _pooled(n_bytes)
    # A view keeps the array at the end of its chain of bases. That is `used`, since the base of
    # `used` is no array, but a view of a buffer.
    used = np.frombuffer(memory.data, dtype=np.float32, count=math.prod(shape))
    weakref.finalize(used, _give_back, memory).atexit = False
    return used.reshape(shape)


def _pooled(n_bytes: int) -> NDArray[np.uint8]:
    """Take the first memory that is large enough out of the pool, or make some."""
    for _ in range(len(_POOL)):
        try:
            memory = _POOL.pop(0)
        except IndexError:  # another thread took it
            break
        if n_bytes <= len(memory) <= 4 * n_bytes:
            return memory
        _POOL.append(memory)
    return np.empty(n_bytes + n_bytes // 8, dtype=np.uint8)


def _give_back(memory: NDArray[np.uint8]) -> None:
    _POOL.append(memory)
    if len(_POOL) > N_POOLED:
        _POOL.pop(0)
