"""The file that `save` writes: a zip of one JSON text and of NumPy arrays.

Its last bytes, the comment of the zip, are ``sk_han format 2 sha256`` and the SHA-256 of all
bytes before those digits. It detects every changed bit, also in the headers of the zip, which
digests of the entries would not cover. `file_checks` compares them before an entry is read.

Nothing is compressed: word vectors would shrink by a tenth only, and an uncompressed entry cannot
unpack to more bytes than the file has. What a file declares is compared with its size before memory
is taken for it.
"""

from __future__ import annotations

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

from sk_han.storage.file_checks import FORMAT_VERSION, N_DIGITS, check_format, sha256

_DESCRIPTION = "model.json"
_ENTRY = re.compile(r"model\.json|\w+(\.\w+)*\.npy", re.ASCII)
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
    """Write a value that JSON can hold, and arrays of numbers or strings, into an empty file."""
    text = json.dumps(description, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b"sk_han format %d sha256 " % FORMAT_VERSION + b"0" * N_DIGITS
        # JSON escapes would merge two lone surrogates into one character.
        archive.writestr(_entry(_DESCRIPTION), text.encode("utf-8", "surrogatepass"))
        for name, array in arrays.items():
            with archive.open(_entry(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(
                    entry, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False
                )
    digest = sha256(file, file.seek(0, os.SEEK_END) - N_DIGITS)
    file.seek(-N_DIGITS, os.SEEK_END)
    file.write(digest.encode())


def read_archive(file: BinaryIO) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read the value and the arrays, read-only, of a file of `write_archive`.

    A ValueError says what is wrong; a RecursionError, that its JSON text is nested too deeply.
    """
    check_format(file)
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
