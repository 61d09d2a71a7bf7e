"""The file that `save` writes: a zip of one JSON text and of NumPy arrays.

Its last bytes, the comment of the zip, are ``sk_han format 2 sha256`` and the SHA-256 of all
bytes before those digits. It detects every changed bit, also in the headers of the zip, which
digests of the entries would not cover.

Nothing is compressed: word vectors would shrink by a tenth only, and an uncompressed entry cannot
unpack to more bytes than the file has.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMAT_VERSION", "read_archive", "write_archive"]

# Increased when an older release cannot read the file. Golden files of all formats keep loading.
FORMAT_VERSION = 2

_DESCRIPTION = "model.json"
_ENTRY = re.compile(r"model\.json|\w+(\.\w+)*\.npy", re.ASCII)
_N_DIGITS = 64
_SEAL = re.compile(rb"sk_han format ([1-9]\d{0,8}) sha256 ([0-9a-f]{64})\Z")
_LONGEST_SEAL = 100
# np.load would evaluate the header as a Python literal and allocate what it declares.
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][biufU]\d{1,9})', 'fortran_order': False, "
    rb"'shape': \(([\d, ]{0,200})\), \} *\n",
    re.DOTALL,
)


def write_archive(file: BinaryIO, description: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a description and arrays into an empty file open for reading and writing.

    The same content has the same bytes, since no time is recorded.

    Parameters
    ----------
    file : binary file
    description : dict, list, str, int, float, bool or None
        A value that JSON can hold.
    arrays : mapping of str to ndarray
        Numbers, booleans or strings of fixed length.
    """
    text = json.dumps(description, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"sk_han format %d sha256 " % FORMAT_VERSION + b"0" * _N_DIGITS
        # JSON escapes would merge two lone surrogates into one character.
        archive.writestr(_entry(_DESCRIPTION), text.encode("utf-8", "surrogatepass"))
        for name, array in arrays.items():
            with archive.open(_entry(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(
                    entry, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False
                )
    size = file.seek(0, os.SEEK_END) - _N_DIGITS
    file.seek(0)
    digest = hashlib.sha256()
    while size:
        chunk = file.read(min(size, 1 << 20))
        digest.update(chunk)
        size -= len(chunk)
    file.seek(-_N_DIGITS, os.SEEK_END)
    file.write(digest.hexdigest().encode())


def read_archive(file: BinaryIO) -> tuple[int, Any, dict[str, NDArray[Any]]]:
    """Read a file of `write_archive`.

    Parameters
    ----------
    file : binary file

    Returns
    -------
    version : int
        The format, from 1 to `FORMAT_VERSION`.
    description : dict, list, str, int, float, bool or None
    arrays : dict of str to ndarray
        Read-only.

    Raises
    ------
    ValueError
        If the file is empty, of another kind, damaged, or of a newer format. The caller adds its
        name.
    RecursionError
        If the JSON text is nested too deeply.
    """
    version, data = _sealed(file)
    entries = _entries(data)
    text = entries.pop(_DESCRIPTION, None)
    if text is None:
        raise ValueError(f"it lacks the entry {_DESCRIPTION}")
    try:
        description = json.loads(text.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"its entry {_DESCRIPTION} is no JSON text: {error}") from error
    arrays = {name.removesuffix(".npy"): _array(name, entries[name]) for name in entries}
    return version, description, arrays


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980, the earliest date of a zip
    info.create_system = 3  # the same bytes on every system
    info.external_attr = 0o600 << 16
    return info


def _sealed(file: BinaryIO) -> tuple[int, bytes]:
    """Check the seal of a file; return its format and all its bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_SEAL))
    seal = _SEAL.search(file.read(_LONGEST_SEAL))
    if seal is None:
        raise ValueError(
            "it is empty"
            if size == 0
            else "it does not end as sk_han.save ends a file: it is cut off, or no such file (a "
            "pickle or joblib file is read by joblib.load, if you trust its source)"
        )
    file.seek(0)
    data = file.read(size)
    if hashlib.sha256(memoryview(data)[:-_N_DIGITS]).hexdigest().encode() != seal[2]:
        raise ValueError("it is damaged: its SHA-256 is not the one that was stored")
    if int(seal[1]) > FORMAT_VERSION:
        raise ValueError(
            f"it has format {int(seal[1])}, and this release of sk_han reads formats up to "
            f"{FORMAT_VERSION}: install a newer sk_han"
        )
    return int(seal[1]), data


def _entries(data: bytes) -> dict[str, bytes]:
    """Check the directory of a zip, and read its entries."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_directory(infos, len(data))
            return {info.filename: archive.read(info) for info in infos}
    except MemoryError:
        raise
    except Exception as error:  # zipfile raises a dozen types for hostile bytes; no I/O in here
        raise ValueError(f"it is not as sk_han.save writes a zip: {error}") from error


def _check_directory(infos: list[zipfile.ZipInfo], size: int) -> None:
    for name, count in Counter(info.filename for info in infos).items():
        if not _ENTRY.fullmatch(name):
            raise ValueError(f"{name!r} is the name of no entry that belongs there")
        if count > 1:
            raise ValueError(f"the entry {name!r} is there {count} times")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"the entry {info.filename!r} is compressed")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("the directory declares more bytes than the file has")


def _array(name: str, data: bytes) -> NDArray[Any]:
    header = _NPY_HEADER.match(data)
    if header is None:
        raise ValueError(f"its entry {name!r} is no array of numbers or strings")
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(length) for length in re.findall(rb"\d{1,18}", header[2]))
    if math.prod(shape) * dtype.itemsize != len(data) - header.end():
        raise ValueError(
            f"its entry {name!r} declares the shape {shape} of {dtype}, and holds "
            f"{len(data) - header.end()} bytes"
        )
    array: NDArray[Any] = np.ndarray(shape, dtype, buffer=data, offset=header.end())
    return array


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is none of its numbers")
