"""The two causes of an early end of training: a callback's request, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StopTraining(Exception):  # noqa: N818  (no error: training is over)
    """Raised by a callback to end training; the current weights are kept."""


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Record the signals of Ctrl-C that arrive within the block; they take effect as usual.

    skorch's callbacks end training by raising KeyboardInterrupt, as Ctrl-C does. The list
    distinguishes the two.
    """
    arrived: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread receives signals, and a handler outside of Python cannot be called.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield arrived
        return

    def note(number: int, frame: Any) -> None:
        arrived.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield arrived
    finally:
        signal.signal(signal.SIGINT, handler)
