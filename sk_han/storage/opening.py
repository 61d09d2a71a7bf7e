"""Opening a file that may be no model, or one made to do harm."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sk_han.utils.model_format import ModelFormatError
from sk_han.utils.signals import from_signal

_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


@contextmanager
def model_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to read a model from it in the block.

    What the block raises for what the file holds becomes a ModelFormatError. What is a pipe, a
    socket or a device is an OSError.
    """
    _check_kind(Path(path))
    with open(Path(path), "rb") as file:
        try:
            yield file
        except (ValueError, TypeError, OverflowError) as error:
            if from_signal(error):
                raise
            reason = _shortened(str(error).rstrip("."))
            raise ModelFormatError(f"{path} cannot be loaded: {reason}.") from error
        except RecursionError as error:
            raise ModelFormatError(f"{path} cannot be loaded: it is nested too deeply.") from error


def _check_kind(path: Path) -> None:
    """Refuse what is no file: to open a pipe would wait for someone who writes to it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # open() has a good error for folders
        raise OSError(
            f"{path} is a {_KINDS.get(stat.S_IFMT(mode), 'device')}; give the name of a file. What "
            "comes through a pipe must be written to a file first."
        )


def _shortened(message: str) -> str:
    """Cut the middle out of a message that shows a value as long as the file."""
    return message if len(message) <= 1000 else f"{message[:700]} ... {message[-200:]}"
