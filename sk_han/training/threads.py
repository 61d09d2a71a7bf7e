"""PyTorch's threads in a forked process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["threads_of_this_process"]

# The process that imported this module, and PyTorch with it as a rule. A process that has PyTorch
# alone, and whose forked child imports this module, is not recognized (docs/user_guide.md).
_IMPORTED_IN = os.getpid()


@contextmanager
def threads_of_this_process() -> Iterator[None]:
    """Use one thread in a forked process, and PyTorch's setting in others.

    A fork does not copy the threads of PyTorch's pool, and the forked process would wait for them
    for ever (pytorch#17199). The setting of the process is restored afterwards.
    """
    n_threads = torch.get_num_threads()
    if os.getpid() == _IMPORTED_IN or n_threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
