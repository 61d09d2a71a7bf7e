"""Reused memory: new pages cost more time than the arithmetic on them."""

from __future__ import annotations

import math
import threading

import torch
from torch import Tensor

from sk_han.engines import memory

LARGEST_KEPT = 16_000_000  # numbers; 64 MB in single precision


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.by_name: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}


_BUFFERS = _Buffers()


def scratch(name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uninitialized memory, the same for each call with this name.

    The operating system assigns the pages of a large array at their first use, which took a fifth
    of a training step. Each thread has its own buffers. They grow to the largest shape requested
    and are kept; buffers beyond `LARGEST_KEPT` are not. Dtype and device are those of `like`.
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


def lasting(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uninitialized memory of a dtype and device, as of `sk_han.engines.memory.lasting`."""
    if like.device.type == "cpu" and like.dtype == torch.float32:
        return torch.from_numpy(memory.lasting(shape))
    return like.new_empty(shape)
