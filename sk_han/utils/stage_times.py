"""Which stage some work is in, and how long each stage took."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from sk_han.utils.progress import rewrites_lines, seconds_of_silence, tell

_LONGEST_SILENCE = 8.0  # seconds
_SHORT = 0.95  # a log has the seconds of longer stages
_BETWEEN_STAGES = "fit"


class Stages:
    """Measure the stages of some work, and tell of them on standard error.

    Each stage is announced, but on a terminal those that have a bar of their own. `seconds` are
    those of each stage that has ended, in the order of their first beginning; a stage that comes
    again adds to it.
    """

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self.verbose = verbose
        self._start = perf_counter()
        self._now = _BETWEEN_STAGES  # the stage, "" of one with a bar
        self._now_start = self._start

    @property
    def total(self) -> float:
        """Seconds since the beginning of all."""
        return perf_counter() - self._start

    @contextmanager
    def __call__(self, name: str, *, has_bar: bool = False) -> Iterator[None]:
        """Measure what is done in the block, which may show a bar where lines can be rewritten."""
        tells = self.verbose > 0 and not (has_bar and rewrites_lines())
        start = perf_counter()
        if tells:
            tell(f"{name} ...", end=_end())
        self._now, self._now_start = name if tells else "", start
        try:
            yield
        finally:
            self._now, self._now_start = _BETWEEN_STAGES, self._start
            seconds = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if tells and (rewrites_lines() or seconds > _SHORT):
            tell(f"{name}: {seconds:.1f} s")

    @contextmanager
    def never_silent(self) -> Iterator[None]:
        """Tell every few seconds how long a stage of the block takes, if nothing else is told."""
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
        while not ended.wait(max(0.1, _LONGEST_SILENCE - seconds_of_silence())):
            if self._now and seconds_of_silence() >= _LONGEST_SILENCE:
                seconds = perf_counter() - self._now_start
                tell(f"{self._now}: {seconds:.0f} s so far", end=_end())


def _end() -> str:
    return "\r" if rewrites_lines() else "\n"
