"""How far a command is: a line that changes on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time

__all__ = ["Progress", "tell"]

_SECONDS_ON_TERMINAL = 0.2
_SECONDS_IN_LOG = 30.0


def tell(message: str, *, quiet: bool) -> None:
    """Write a line on standard error."""
    if not quiet:
        print(message, file=sys.stderr, flush=True)


class Progress:
    """Count documents on standard error.

    Parameters
    ----------
    done : str
        What is done with them, such as "Predicted".
    quiet : bool
        Whether nothing is written.
    beside_rows : bool
        Whether rows of results go to standard output; on a terminal these show how far it is.
    """

    def __init__(self, done: str, *, quiet: bool, beside_rows: bool = False) -> None:
        self._done = done
        self._on_terminal = sys.stderr.isatty()
        shown_by_rows = self._on_terminal and beside_rows and sys.stdout.isatty()
        self._quiet = quiet or shown_by_rows
        self._started = self._shown = time.monotonic()
        self._n_documents = 0

    def advance(self, n_documents: int) -> None:
        """Count further documents."""
        self._n_documents += n_documents
        now = time.monotonic()
        every = _SECONDS_ON_TERMINAL if self._on_terminal else _SECONDS_IN_LOG
        if not self._quiet and now - self._shown >= every:
            self._shown = now
            start, end = ("\r", "") if self._on_terminal else ("", "\n")
            print(f"{start}{self._line(now)}", end=end, file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Write the last line."""
        if not self._quiet:
            start = "\r" if self._on_terminal else ""
            print(f"{start}{self._line(time.monotonic())}", file=sys.stderr, flush=True)

    def _line(self, now: float) -> str:
        documents = "document" if self._n_documents == 1 else "documents"
        seconds = now - self._started
        return f"{self._done} {self._n_documents:,} {documents} in {seconds:.1f} s."
