"""Reused memory: new pages cost more time than the arithmetic on them."""

from __future__ import annotations

import math
import threading
import weakref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["lasting", "scratch"]


LARGEST_KEPT = 16_000_000  # numbers; 64 MB in single precision


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.by_name: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}


_BUFFERS = _Buffers()


def scratch(name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uninitialized memory, the same for each call with this name.

    The operating system assigns the pages of a large array at their first use, which took a fifth
    of a training step. Each thread has its own buffers. They grow to the largest shape requested
    and are kept; buffers beyond `LARGEST_KEPT` are not.

    Parameters
    ----------
    name : str
        Name of the buffer. The caller must not need its content after the next call.
    shape : tuple of int
    like : Tensor
        Its dtype and device are used.

    Returns
    -------
    Tensor, shape `shape`
    """
    size, key = math.prod(shape), (name, like.dtype, like.device)
    buffer = _BUFFERS.by_name.get(key)
    if buffer is None or len(buffer) < size:
        with torch.inference_mode(False):  # an inference tensor cannot be written to outside
            buffer = torch.empty(size, dtype=like.dtype, device=like.device)
        if size > LARGEST_KEPT:
            return buffer.view(shape)
        _BUFFERS.by_name[key] = buffer
    return buffer[:size].view(shape)


SMALLEST_POOLED, LARGEST_POOLED = 1 << 18, 1 << 28  # bytes
N_POOLED = 12

# Memory that no tensor uses. Lists are appended to and popped from in one step for all threads.
_POOL: list[NDArray[np.uint8]] = []


def lasting(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uninitialized memory that is used again after the last tensor on it is gone.

    For what a backward pass needs later: unlike the memory of `scratch` it belongs to the result
    alone. With new memory for each batch a training step took a fifth longer.

    Parameters
    ----------
    shape : tuple of int
    like : Tensor
        Its dtype and device are used.

    Returns
    -------
    Tensor, shape `shape`
    """
    n_bytes = math.prod(shape) * like.element_size()
    if like.device.type != "cpu" or not SMALLEST_POOLED <= n_bytes <= LARGEST_POOLED:
        return like.new_empty(shape)
    memory = _pooled(n_bytes)
    used = memory[:n_bytes]
    # The tensor's storage keeps `used`, and nothing else does.
    weakref.finalize(used, _give_back, memory).atexit = False
    return torch.from_numpy(used).view(like.dtype).view(shape)


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
