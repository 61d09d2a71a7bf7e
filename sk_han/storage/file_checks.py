"""Checks of a file that may be no model, or one made to do harm, before its content is read.

They are of its kind, its format, its digest and the end of its zip. What its entries hold,
`archive` and `schema` check.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sk_han.utils.model_format import ModelFormatError
from sk_han.utils.visible_text import shortened

# Increased when an older release cannot read the file. Golden files of all formats from this one on
# keep loading: no release has written the first.
FORMAT_VERSION = 2

N_DIGITS = 64
_SEAL = re.compile(rb"sk_han format ([1-9]\d{0,8}) sha256 ([0-9a-f]{64})\Z")
_LONGEST_SEAL = 100
# The end of a zip up to its comment: size and start of the directory. That of a zip of more than
# 4 GB stands before it.
_END, _END_OF_LARGE = struct.Struct("<4s8xII2x"), struct.Struct("<40xQQ4s16x")
_END_SIGNATURE, _LARGE_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07"
_LARGEST_DIRECTORY = 1 << 20  # of some 19,000 entries, which are 10 MB in memory

_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


@contextmanager
def model_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file; what the block raises for what it holds becomes a ModelFormatError."""
    _check_kind(Path(path))
    with open(Path(path), "rb") as file:
        try:
            yield file
        except (ValueError, TypeError, OverflowError) as error:
            reason = shortened(str(error).rstrip("."), 1000)  # a value may be as long as the file
            raise ModelFormatError(f"{path} cannot be loaded: {reason}.") from error
        except RecursionError as error:
            raise ModelFormatError(f"{path} cannot be loaded: it is nested too deeply.") from error


def check_format(file: BinaryIO) -> None:
    """Check the last bytes of a file: its format, its digest, and where its entries are listed."""
    size = file.seek(0, os.SEEK_END)
    tail = _read_end(file, size, _LONGEST_SEAL)
    seal = _SEAL.search(tail)
    if size == 0:
        raise ValueError("it is empty")
    if seal is None:
        raise ValueError(
            "it does not end as sk_han.save ends a file: it is cut off, or no such file (a pickle "
            "or joblib file is read by joblib.load, if you trust its source)"
        )
    version = int(seal[1])
    if version == FORMAT_VERSION:
        _check_end(file, size - len(seal[0]))
    if sha256(file, size - N_DIGITS) != seal[2].decode():
        raise ValueError("it is damaged: its SHA-256 is not the one that was stored")
    if version != FORMAT_VERSION:
        is_newer = version > FORMAT_VERSION
        repair = "install a newer sk_han" if is_newer else "no release has written it"
        raise ValueError(
            f"it has format {version}, and this release of sk_han reads format {FORMAT_VERSION}: "
            f"{repair}"
        )


def sha256(file: BinaryIO, size: int) -> str:
    """Return the digest of the first bytes of a file, which is read in pieces."""
    digest = hashlib.sha256()
    file.seek(0)
    while size and (chunk := file.read(min(size, 1 << 20))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _check_kind(path: Path) -> None:
    """Refuse what is no file: to open a pipe would wait for someone who writes to it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # open() has a good error for folders
        raise OSError(
            f"{path} is a {_KINDS.get(stat.S_IFMT(mode), 'device')}; give the name of a file. What "
            "comes through a pipe must be written to a file first."
        )


def _read_end(file: BinaryIO, end: int, length: int) -> bytes:
    """Read the last bytes before a position, zeros before the start of the file."""
    start = max(0, end - length)
    file.seek(start)
    return file.read(end - start).rjust(length, b"\0")


def _check_end(file: BinaryIO, end: int) -> None:
    """Check where the directory of a zip is declared to be, since zipfile reads it at once."""
    data = _read_end(file, end, _END_OF_LARGE.size + _END.size)
    _, n_bytes, start = _END.unpack_from(data, _END_OF_LARGE.size)
    behind = end - _END.size
    *of_large, signature = _END_OF_LARGE.unpack_from(data)
    if signature == _LARGE_SIGNATURE:
        n_bytes, start = of_large
        behind -= _END_OF_LARGE.size
    # zipfile takes the last signature that it finds.
    is_there = data.rfind(_END_SIGNATURE) == _END_OF_LARGE.size and start + n_bytes == behind
    if not is_there:
        raise ValueError("it is damaged: it has no directory where sk_han.save writes one")
    if n_bytes > _LARGEST_DIRECTORY:
        raise ValueError(
            f"it has a directory of {n_bytes:,} bytes, and that of sk_han.save has a few thousand"
        )
