"""Progress of long calls, and the times of their stages."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

from sk_han._utils.messages import plural

_SECONDS_ON_TERMINAL = 0.2
_SECONDS_IN_LOG = 8.0
# In a log, which is not rewritten, only longer stages get a line with their seconds.
_SHORT = 0.95
_last_told = time.monotonic()
_n_replaced = 0  # characters of a line that the next one replaces


def tell(message: object, *, quiet: bool = False, end: str = "\n") -> None:
    """Write to standard error; in a notebook, which shows that as an error, to standard output."""
    global _last_told, _n_replaced
    stream = sys.stdout if in_notebook() else sys.stderr
    # With `file=None`, `print` would write to standard output.
    if quiet or stream is None:
        return
    _last_told = time.monotonic()
    line = str(message).ljust(_n_replaced)
    _n_replaced = len(line) if end == "\r" else 0
    # No work is lost because a log is closed or its disk is full.
    with suppress(OSError, ValueError):
        print(line, end=end, file=stream, flush=True)


def tell_at_times(line: str, *, quiet: bool = False) -> None:
    """Write a line that the next one may replace, if nothing was written for a while."""
    every = _SECONDS_ON_TERMINAL if rewrites_lines() else _SECONDS_IN_LOG
    tell(line, quiet=quiet or time.monotonic() - _last_told < every, end=line_end())


def line_end() -> str:
    """Return the end of a line that another one may replace."""
    return "\r" if rewrites_lines() else "\n"


def rewrites_lines() -> bool:
    """Return whether lines on standard error can be overwritten, as in a terminal or notebook."""
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


class Stages:
    """Measure the stages of some work, and report them on standard error.

    `seconds` are those of each stage that has ended, in the order of their first beginning; a
    stage that comes again adds to it. `limit` is the seconds that all stages may take.
    """

    def __init__(self, verbose: int = 0, limit: float | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.limit = math.inf if limit is None else limit
        self.cuts: list[str] = []  # what was left out to keep to the limit
        self.verbose = verbose
        self._start = perf_counter()

    @property
    def total(self) -> float:
        """Seconds since the beginning."""
        return perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self.limit - self.total

    @contextmanager
    def __call__(self, name: str, what: str = "") -> Iterator[Callable[[int], None]]:
        """Measure what is done in the block; give the function that counts further things.

        With `what`, lines say how much was done, as "Predicted 7 documents in 2 s.", and the last
        one is always written.
        """
        start, n_done, quiet = perf_counter(), 0, not self.verbose

        def line() -> str:
            seconds = duration(perf_counter() - start)
            return f"{name} {plural(n_done, what)} in {seconds}." if what else f"{name}: {seconds}"

        def advance(n: int) -> None:
            nonlocal n_done
            n_done += n
            tell_at_times(line(), quiet=quiet)

        tell(f"{name} ...", quiet=quiet or bool(what), end=line_end())
        try:
            yield advance
        finally:
            seconds = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        tell(line(), quiet=quiet or not (what or rewrites_lines() or seconds > _SHORT))
