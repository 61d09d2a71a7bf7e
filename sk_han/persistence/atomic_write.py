"""Atomic replacement of a file: it is written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces the one at `path` when the block ends without an error.

    Until then an existing file does not change: the new one is written beside it under another
    name, flushed to the disk, and moved in one step.

    Parameters
    ----------
    path : str or path-like
        A symbolic link is followed: its target is replaced.

    Yields
    ------
    binary file open for reading and writing

    Raises
    ------
    OSError
        If the folder cannot be written to or the disk is full; FileNotFoundError if there is no
        such folder, IsADirectoryError if `path` is a folder.
    """
    target = Path(os.path.realpath(Path(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent}; make it first, for example with "
            f"os.makedirs({str(target.parent)!r})."
        )
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is a device or a pipe; give the name of a file.")
    # open() creates a file with the permissions of the umask; the tempfile module does not.
    unfinished = target.with_name(f".{secrets.token_hex(8)}.tmp")
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
