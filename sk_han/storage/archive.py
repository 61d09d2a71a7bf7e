"""The file that `save` writes: a zip of one JSON text and of NumPy arrays.

Its last bytes, the comment of the zip, are ``sk_han format 2 sha256`` and the SHA-256 of all
bytes before those digits. It detects every changed bit, also in the headers of the zip, which
digests of the entries would not cover.

Nothing is compressed: word vectors would shrink by a tenth only, and an uncompressed entry cannot
unpack to more bytes than the file has. What a file declares is compared with its size before memory
is taken for it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.signals import from_signal

# Increased when an older release cannot read the file. Golden files of all formats from this one on
# keep loading: no release has written the first.
FORMAT_VERSION = 2

_DESCRIPTION = "model.json"
_ENTRY = re.compile(r"model\.json|\w+(\.\w+)*\.npy", re.ASCII)
_N_DIGITS = 64
_SEAL = re.compile(rb"sk_han format ([1-9]\d{0,8}) sha256 ([0-9a-f]{64})\Z")
_LONGEST_SEAL = 100
# The end of a zip up to its comment: size and start of the directory. That of a zip of more than
# 4 GB stands before it.
_END, _END_OF_LARGE = struct.Struct("<4s8xII2x"), struct.Struct("<40xQQ4s16x")
_END_SIGNATURE, _LARGE_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07"
_LARGEST_DIRECTORY = 1 << 26  # of some hundred thousand entries
# A list or object in JSON takes up to 200 bytes here. The shortest that `save` writes in large
# numbers, an entry of a dict, has 8 characters: ["a",12],
_CHARACTERS_PER_BRACKET = 8
_FEW_BRACKETS = 10_000
# np.load would evaluate the header as a Python literal and allocate what it declares.
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][biufU][1-9]\d{0,8})', 'fortran_order': False, "
    rb"'shape': \(([\d, ]{0,200})\), \} *\n",
    re.DOTALL,
)


def write_archive(file: BinaryIO, description: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a value that JSON can hold, and arrays, into an empty file open to read and write.

    Arrays are of numbers, booleans or strings of fixed length. The same content has the same
    bytes, since no time is recorded.
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
    digest = _sha256(file, file.seek(0, os.SEEK_END) - _N_DIGITS)
    file.seek(-_N_DIGITS, os.SEEK_END)
    file.write(digest.encode())


def read_archive(file: BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read the value and the arrays, read-only, of a file of `write_archive`.

    A ValueError says what is wrong with it, to which the caller adds its name; a RecursionError,
    that its JSON text is nested too deeply.
    """
    _check_format(file)
    entries = _entries(file)
    if _DESCRIPTION not in entries:
        raise ValueError(f"it lacks the entry {_DESCRIPTION}")
    description = _parsed(entries.pop(_DESCRIPTION))
    arrays = {name.removesuffix(".npy"): _array(name, entries[name]) for name in entries}
    return description, arrays


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980, the earliest date of a zip
    info.create_system = 3  # the same bytes on every system
    info.external_attr = 0o600 << 16
    return info


def _check_format(file: BinaryIO) -> None:
    """Check the seal of a file."""
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
    if _sha256(file, size - _N_DIGITS) != seal[2].decode():
        raise ValueError("it is damaged: its SHA-256 is not the one that was stored")
    if version != FORMAT_VERSION:
        is_newer = version > FORMAT_VERSION
        repair = "install a newer sk_han" if is_newer else "no release has written it"
        raise ValueError(
            f"it has format {version}, and this release of sk_han reads format {FORMAT_VERSION}: "
            f"{repair}"
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
    if not is_there or n_bytes > _LARGEST_DIRECTORY:
        raise ValueError("it is damaged: it has no directory where sk_han.save writes one")


def _sha256(file: BinaryIO, size: int) -> str:
    """Return the digest of the first bytes of a file, which is read in pieces."""
    digest = hashlib.sha256()
    file.seek(0)
    while size and (chunk := file.read(min(size, 1 << 20))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _entries(file: BinaryIO) -> dict[str, bytes]:
    """Check the directory of a zip, and read its entries."""
    size = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_directory(infos, size)
            return {info.filename: archive.read(info) for info in infos}
    except (MemoryError, OSError):
        raise
    except Exception as error:  # zipfile raises a dozen types for hostile bytes
        if from_signal(error):
            raise
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
        if not 0 <= info.header_offset < size:
            raise ValueError(f"the entry {info.filename!r} is outside of the file")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("the directory declares more bytes than the file has")


def _parsed(text: bytes) -> Any:
    """Return the value of a JSON text, after a check that bounds its memory."""
    most = _FEW_BRACKETS + len(text) // _CHARACTERS_PER_BRACKET
    # Most texts have few brackets even with those inside strings.
    if _n_brackets(text) > most and _n_brackets(_without_strings(text)) > most:
        raise ValueError(
            f"its entry {_DESCRIPTION} has more than {most} lists and objects in {len(text)} "
            "bytes: large data belongs into arrays"
        )
    try:
        return json.loads(text.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except ValueError as error:
        if from_signal(error):
            raise
        raise ValueError(f"its entry {_DESCRIPTION} is no JSON text: {error}") from error


def _n_brackets(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _without_strings(text: bytes) -> bytes:
    pieces = text.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
    return b"".join(pieces[::2])


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
