"""Atomic replacement of a file: it is written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the one at `path` when the block ends without an error.

    Until then an existing file does not change: the new one is written beside it under another
    name, flushed to the disk, and moved in one step. The target of a symbolic link is replaced.
    """
    target = _target(path)
    # open() creates a file with the permissions of the umask; the tempfile module does not.
    unfinished = target.with_name(f".sk_han-{secrets.token_hex(8)}.tmp")
    try:
        with open(unfinished, "x+b") as file:
            if target.exists():
                os.chmod(unfinished, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError of `replacing`, as far as it can be told before; change nothing."""
    folder = _target(path).parent
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write to {folder}.")


def _target(path: str | os.PathLike[str]) -> Path:
    given, target = Path(path), Path(os.path.realpath(Path(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    # What was given is asked: /dev/stdout is a link to a pipe that has no name.
    if given.exists() and not given.is_file():
        raise OSError(f"{path} is a device or a pipe; give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}; make it first.")
    return target
