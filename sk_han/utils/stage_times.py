"""Which stage some work is in, and how long each stage took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from sk_han.utils.progress import rewrites_lines, tell


class Stages:
    """Measure the stages of some work, and tell of them on standard error.

    A line that can be rewritten tells of the beginning too. `seconds` are those of each stage
    that has ended, in the order of their first beginning; a stage that comes again adds to it.
    """

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self.verbose = verbose
        self._start = perf_counter()

    @property
    def total(self) -> float:
        """Seconds since the beginning of all."""
        return perf_counter() - self._start

    @contextmanager
    def __call__(self, name: str, *, tells: bool = True) -> Iterator[None]:
        """Measure what is done in the block, which may tell of its progress itself."""
        tells = tells and self.verbose > 0
        if tells and rewrites_lines():
            tell(f"{name} ...", end="\r")
        start = perf_counter()
        try:
            yield
        finally:
            seconds = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if tells:
            tell(f"{name}: {seconds:.1f} s")
