"""Memory that is used again: fresh pages cost more time than the arithmetic on them."""

from __future__ import annotations

import math
import threading

import torch
from torch import Tensor

__all__ = ["scratch"]


LARGEST_KEPT = 16_000_000  # numbers; 64 MB in single precision


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.by_name: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}


_BUFFERS = _Buffers()


def scratch(name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Give uninitialized memory that the next call of this name gives again.

    The operating system hands out large arrays page by page as they are first touched, which
    took a fifth of a training step. Each thread has its own buffers, which grow to the largest
    shape asked for and stay; giants beyond `LARGEST_KEPT` are given back.

    Parameters
    ----------
    name : str
        What it is used for; the caller must be done with it before it asks again.
    shape : tuple of int
    like : Tensor
        Of the wanted dtype and device.

    Returns
    -------
    Tensor, shape `shape`
    """
    size, key = math.prod(shape), (name, like.dtype, like.device)
    buffer = _BUFFERS.by_name.get(key)
    if buffer is None or len(buffer) < size:
        with torch.inference_mode(False):  # what is made inside could not be written outside
            buffer = torch.empty(size, dtype=like.dtype, device=like.device)
        if size > LARGEST_KEPT:
            return buffer.view(shape)
        _BUFFERS.by_name[key] = buffer
    return buffer[:size].view(shape)
