"""Atomic replacement of a file: it is written completely or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# Nobody writes at one file for so long; a younger one may belong to a process that does.
_ABANDONED_AFTER = 24 * 3600  # seconds


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the one at `path` when the block ends without an error.

    Until then an existing file does not change: the new one is written beside it under another
    name, flushed to the disk, and moved in one step. The target of a symbolic link is replaced.
    What a killed process has left of a file of this name is deleted after a day.
    """
    target = _target(path)
    _delete_unfinished(target)
    # open() creates a file with the permissions of the umask; the tempfile module does not.
    unfinished = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
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


def _prefix(target: Path) -> str:
    """Return the start of the names of unfinished files, short for a target of any length."""
    return f".sk_han-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _delete_unfinished(target: Path) -> None:
    """Delete unfinished files of the target that this user has written, from an age in seconds."""
    ours = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{16}\.tmp")
    # A folder that cannot be listed, or a file that is gone meanwhile, is no reason to fail.
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if not ours.fullmatch(entry.name):
                continue
            found = entry.stat(follow_symlinks=False)
            is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
            is_old = time.time() - found.st_mtime > _ABANDONED_AFTER
            if stat.S_ISREG(found.st_mode) and is_own and is_old:
                os.unlink(entry.path)
