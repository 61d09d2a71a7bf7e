"""What Ctrl-C does within a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handling_ctrl_c(handle: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Call `handle` at Ctrl-C within the block, with a function that does what it did before.

    Only the main thread receives Ctrl-C.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def handler(number: int, frame: Any) -> None:
        handle(lambda: before(number, frame))

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handler:  # no other one was set meanwhile
            signal.signal(signal.SIGINT, before)
