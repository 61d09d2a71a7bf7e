"""The two causes of an early end of training: a callback's request, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class StopTraining(Exception):  # noqa: N818  (no error: training is over)
    """Raised by a callback to end training; the current weights are kept."""


@contextmanager
def noting_interrupts(note: Callable[[], bool]) -> Iterator[None]:
    """Call `note` for each Ctrl-C in the block; it returns whether that takes effect as usual."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def handle(number: int, frame: Any) -> None:
        if note():
            handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
