"""main: run a command, and turn what goes wrong into a line and an exit code."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sk_han.cli.arguments import LEARNING, UsageError, parser
from sk_han.utils.progress import tell

_FAILED, _USAGE, _INTERRUPTED, _NOT_READ = 1, 2, 130, 141

# What data, model and machine bring about. Anything else is our mistake, and shows its traceback.
_EXPECTED = (
    ArithmeticError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if None.

    Returns
    -------
    int
        The exit code: 0; 1 for an error of data or model, told in one line on standard error; 2
        for an error of usage; 130 after Ctrl-C; 141 if nobody reads the output any more.

    Examples
    --------
    >>> import os, tempfile
    >>> from sk_han.cli import main
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "reviews.csv")
    ...     main(["predict", os.path.join(folder, "no.han"), path, "--text", "review"])
    1
    """
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # after the message of argparse, or the help
        return int(end.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            _run(arguments)
            _flush()
        except UsageError as error:
            _tell("error", error)
            return _USAGE
        except BrokenPipeError:
            _drop_output()
            return _NOT_READ
        except KeyboardInterrupt:
            _tell("interrupted", "")
            return _finished(_INTERRUPTED)
        except _EXPECTED as error:
            if arguments.verbose:
                from sk_han.utils.visible_text import visible

                tell(visible(traceback.format_exc()), end="")
            _tell("error", _message(error))
            return _finished(_FAILED)
    return 0


def _run(arguments: argparse.Namespace) -> None:
    if arguments.command in LEARNING:
        from sk_han.cli import fitting

        getattr(fitting, arguments.command)(arguments)
    elif arguments.command == "warm-up":
        from sk_han.engines.engine_choice import warm_up

        print(f"The kernels are compiled; it took {warm_up():.1f} s.")
    else:
        from sk_han.cli import scoring

        getattr(scoring, arguments.command)(arguments)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) or not str(error):
        return f"{type(error).__name__} {error}".strip()
    return str(error)


def _tell(kind: str, message: object) -> None:
    """Write one line on standard error; names of files and labels cannot control the terminal."""
    from sk_han.utils.visible_text import in_one_line

    line = in_one_line(message)
    tell(f"sk-han: {kind}{': ' if line else ''}{line}")


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    _tell("warning", message)


def _finished(code: int) -> int:
    """Flush standard output; after a failure there, nothing more is tried at exit."""
    try:
        _flush()
    except OSError:
        _drop_output()
    return code


def _flush() -> None:
    if sys.stdout is not None:  # as after >&-
        sys.stdout.flush()


def _drop_output() -> None:
    """Send the rest of standard output nowhere, so that Python's flush at exit says nothing."""
    with suppress(io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
