"""Errors that come out of handlers of signals, which interrupt any code."""

from __future__ import annotations

import signal
from traceback import walk_tb


def from_signal(error: BaseException) -> bool:
    """Return whether a handler of a signal raised an error, such as a limit by `signal.alarm`."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {_code_of(handler) for handler in handlers if callable(handler)}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))


def _code_of(handler: object) -> object:
    """Return the code of a function, of a method, or of an object that can be called."""
    found = getattr(handler, "__code__", None)
    return found or getattr(type(handler).__call__, "__code__", None)
