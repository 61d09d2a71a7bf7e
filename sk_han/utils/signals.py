"""Errors that come out of handlers of signals, which interrupt any code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any


def from_signal(error: BaseException) -> bool:
    """Return whether a handler of a signal raised an error, such as a limit by `signal.alarm`."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {_code_of(handler) for handler in handlers if callable(handler)}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def stands_for_one_from_signal(error: BaseException, outer: BaseException | None) -> bool:
    """Return whether an error, or one that was caught before it was raised, is `from_signal`.

    `outer` is what was being handled already when the work began.
    """
    found: BaseException | None = error
    while found is not None and found is not outer:
        if from_signal(found):
            return True
        found = found.__context__
    return False


@contextmanager
def handlers_in_tracebacks() -> Iterator[None]:
    """Let `from_signal` see handlers without Python code, such as `signal.default_int_handler`."""
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        found = {number: signal.getsignal(number) for number in signal.valid_signals()}
        handlers = {n: each for n, each in found.items() if callable(each) and not _code_of(each)}

    def handle(number: int, frame: Any) -> None:
        handlers[number](number, frame)

    try:
        for number in handlers:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is handle:  # no other one was set meanwhile
                signal.signal(number, handler)


def _code_of(handler: object) -> object:
    """Return the code of a function, of a method, or of an object that can be called."""
    found = getattr(handler, "__code__", None)
    return found or getattr(type(handler).__call__, "__code__", None)
