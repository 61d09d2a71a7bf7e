"""Progress of long calls, and the times of their stages."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

from sk_han._utils.messages import counted

_SECONDS_ON_TERMINAL = 0.2
_SECONDS_IN_LOG = 30.0
_last_told = time.monotonic()
_n_replaced = 0  # characters of a line that the next one replaces


def tell(message: object, *, quiet: bool = False, end: str = "\n") -> None:
    """Write on standard error, or in a notebook, which would show that as an error, as output."""
    global _last_told, _n_replaced
    stream = sys.stdout if in_notebook() else sys.stderr
    if quiet or stream is None:  # `print` would take standard output
        return
    _last_told = time.monotonic()
    line = str(message).ljust(_n_replaced)
    _n_replaced = len(line) if end == "\r" else 0
    # No work is lost because a log is closed or its disk is full.
    with suppress(OSError, ValueError):
        print(line, end=end, file=stream, flush=True)


def seconds_since_message() -> float:
    """Return the seconds since the last message."""
    return time.monotonic() - _last_told


def rewrites_lines() -> bool:
    """Return whether what is written on standard error can be replaced: a terminal, a notebook."""
    # A replacement of standard error may have no method other than `write`.
    with suppress(AttributeError, ValueError):  # ValueError: it is closed
        if sys.stderr.isatty():
            return True
    return in_notebook()


def in_notebook() -> bool:
    """Return whether the process is that of a notebook."""
    # IPython is not a dependency; a notebook has loaded it.
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and type(get_shell()).__name__ == "ZMQInteractiveShell"


def duration(seconds: float) -> str:
    """Return seconds in the unit that a reader would use."""
    if 0 < seconds < 0.001:
        return "below 1 ms"
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


class Progress:
    """Count things on standard error within a ``with`` block, as `done` (such as "Predicted").

    If rows of results go to standard output, on a terminal these show how far it is.
    """

    def __init__(
        self, done: str, *, quiet: bool, what: str = "document", beside_rows: bool = False
    ) -> None:
        self._done, self._what = done, what
        self._on_terminal = rewrites_lines()
        shown_by_rows = (
            beside_rows
            and self._on_terminal
            and sys.stdout is not None  # it is closed
            and sys.stdout.isatty()
        )
        self._quiet = quiet or shown_by_rows
        self._started = self._shown = time.monotonic()
        self._n_done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Write the last line; an error starts a new line on a terminal."""
        if kind is None:
            self._write(end="\n")
        elif self._on_terminal and self._shown > self._started and not self._quiet:
            tell("")

    def advance(self, n: int) -> None:
        """Count further things."""
        self._n_done += n
        every = _SECONDS_ON_TERMINAL if self._on_terminal else _SECONDS_IN_LOG
        if time.monotonic() - self._shown >= every:
            self._write(end="" if self._on_terminal else "\n")

    def _write(self, end: str) -> None:
        if self._quiet:
            return
        self._shown = time.monotonic()
        line = f"{self._done} {counted(self._n_done, self._what)} in "
        line += f"{duration(self._shown - self._started)}."
        tell(f"\r{line:<79}" if self._on_terminal else line, end=end)


_LONGEST_SILENCE = 8.0  # seconds
_SHORT = 0.95  # a log has the seconds of longer stages


class Stages:
    """Measure the stages of some work, and report them on standard error.

    `seconds` are those of each stage that has ended, in the order of their first beginning; a
    stage that comes again adds to it. Between stages the work is called as a `whole`.
    """

    def __init__(self, verbose: int = 0, whole: str = "fit") -> None:
        self.seconds: dict[str, float] = {}
        self.verbose = verbose
        self._start = perf_counter()
        self._whole = self._now = whole  # the stage
        self._now_start = self._start

    @property
    def total(self) -> float:
        """Seconds since the beginning."""
        return perf_counter() - self._start

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Measure what is done in the block."""
        start = perf_counter()
        tell(f"{name} ...", quiet=not self.verbose, end=line_end())
        self._now, self._now_start = name, start
        try:
            yield
        finally:
            self._now, self._now_start = self._whole, self._start
            seconds = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if self.verbose and (rewrites_lines() or seconds > _SHORT):
            tell(f"{name}: {duration(seconds)}")

    @contextmanager
    def heartbeat(self) -> Iterator[None]:
        """Report every few seconds how long a stage takes, if there is no other message."""
        if not self.verbose:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._tell_until, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _tell_until(self, ended: threading.Event) -> None:
        while not ended.wait(max(0.1, _LONGEST_SILENCE - seconds_since_message())):
            if seconds_since_message() >= _LONGEST_SILENCE:
                seconds = perf_counter() - self._now_start
                tell(f"{self._now}: {seconds:.0f} s so far", end=line_end())


def line_end() -> str:
    """Return the end of a line that another one may replace."""
    return "\r" if rewrites_lines() else "\n"
