"""The two ways in which training ends early: a callback's wish, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["StopTraining", "interrupts"]


class StopTraining(Exception):  # noqa: N818  (no error: training is over)
    """A callback asks for the end of training; what was learnt so far is kept."""


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """List the signals of Ctrl-C that arrive within the block; they have their effect as ever.

    skorch's callbacks end training by raising KeyboardInterrupt, which Ctrl-C raises too. The list
    tells the one from the other.
    """
    arrived: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Python delivers signals to the main thread alone; others may be handled outside of Python.
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
