"""The file that `save` writes: safetensors with a description of the model as JSON.

Safetensors (https://github.com/huggingface/safetensors) stores arrays of numbers by name. It runs
no code, and it does not compress, so a file cannot unpack to more than its size. The metadata has
the single key ``sk_han``, since safetensors writes several keys in random order. Its JSON holds the
format, the description, the names of the arrays that are strings (stored as code points, with the
width as last axis), and a SHA-256 of all this and of the arrays, which detects accidental damage,
not attacks. docs/file_format.md describes the file and the arithmetic of the default model.

From 0.1.0 on, each release reads the files of all earlier releases:

- A change is compatible if new entries have a default for files without them. It is breaking if a
  file of the last release would raise an error or give other probabilities: because an entry is
  renamed or dropped, or has another dtype or shape, but also because of another hash function,
  another rule for words or sentences, or other arithmetic. tests/golden and the reader in
  docs/file_format.md detect this.
- The first breaking change after a release raises `FORMAT_VERSION` from N to N + 1; further ones
  before the next release also belong to N + 1. The entries "format" and "versions" keep their
  place, since an older release reads them to name the release that can load the file.
- The same commit adds the reader of N as a module in a folder ``old`` here: one function that
  converts the description and arrays of N into those of N + 1. `read_model`, which both `load` and
  `Scorer.load` call, runs it after verifying the checksum, and then the reader of N + 1. The
  current schema checks the result, so no file evades a check by an old format number. What cannot
  be converted, such as a hash, becomes an entry of the state.
- The files of tests/golden prove it: they move to a folder of N before the change and are never
  written again; tests/golden/make.py writes those of N + 1.
- A reader stays until a major release drops it and names, in its changes, the last release with it.

No reader, folder or table of readers is added before the first one is needed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from sk_han._options import Options
from sk_han._utils.files import ModelFormatError, naming
from sk_han._utils.messages import shorten

Arrays = dict[str, NDArray[Any]]

FORMAT_VERSION = 4
_KEY = "sk_han"
_SEAL_LENGTH = len('{"sha256":"",') + 64

# A list or object of JSON takes up to 200 bytes in memory, so a text of brackets alone would fill
# it. The shortest item that `save` writes often is the entry of a dict, of 8 characters: ["a",12],
_CHARACTERS_PER_BRACKET = 8
_FEW_BRACKETS = 10_000
_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}

_FOREIGN = (
    "it is cut off, or not a file of sk_han.save (a pickle or joblib file is read by joblib.load, "
    "if you trust its source, a table by load_csv; the command line takes the model first)"
)


def write_model(file: BinaryIO, description: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a description of JSON's types, and arrays of numbers or strings, to an empty file."""
    strings = sorted(name for name, array in arrays.items() if array.dtype.kind == "U")
    # The digest covers the dtype of each array, whose byte order is native once the file is read.
    native = {
        name: array.astype(array.dtype.newbyteorder("="), copy=False)
        for name, array in arrays.items()
    }
    numbers = {
        name: _code_points(array) if name in strings else np.asarray(array, order="C")
        for name, array in native.items()
    }
    content = {"format": FORMAT_VERSION, "strings": strings, "description": description}
    file.write(save(numbers, {_KEY: _add_digest(_json(content), numbers)}))
    file.flush()


def read_model(path: str | os.PathLike[str]) -> tuple[Any, Arrays]:
    """Read the description and the arrays of a file that `write_model` wrote.

    A ValueError says what is wrong with the file; a RecursionError is raised where its JSON is
    nested too deeply.
    """
    try:
        # The file is opened once, since another one may replace it, and not mapped into memory,
        # where SIGBUS would kill this process if the disk failed or another process truncated it.
        with naming(path), open(path, "rb") as file:
            size, length = os.fstat(file.fileno()).st_size, int.from_bytes(file.read(8), "little")
            if size == 0:
                raise ValueError("it is empty")
            header = file.read(length) if length <= size else b""
            if f'"{_KEY}"'.encode() not in header:  # so the rest, perhaps gigabytes, is not read
                with safe_open(os.fspath(path), "np"):
                    raise ValueError("it is a safetensors file of another program")
            file.seek(0)
            arrays: Arrays = load(file.read())
    # A KeyError is raised for dtypes that NumPy lacks, such as bfloat16.
    except (SafetensorError, KeyError) as error:
        raise ValueError(_FOREIGN) from error
    text = json.loads(header).get("__metadata__", {}).get(_KEY)
    if text is None:
        raise ValueError("it is a safetensors file of another program")
    content = _parse_json(text)
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError(f"its metadata {_KEY!r} do not describe a model")
    if content["format"] != FORMAT_VERSION:
        writer = "the release that wrote it"
        match content.get("description"):
            case {"versions": {"sk_han": str(release)}}:
                writer = f"sk_han {release}, which wrote it"
        raise ValueError(
            f"it has format {content['format']!r}, and this release of sk_han reads format "
            f"{FORMAT_VERSION}: fit and save again, or install {writer}"
        )
    if content.keys() != {"format", "sha256", "strings", "description"}:
        raise ValueError(f"its metadata have the entries {sorted(content)}")
    if text != _add_digest("{" + text[_SEAL_LENGTH:], arrays):
        raise ValueError("it is damaged: its SHA-256 is not the one that was stored")
    for name in content["strings"]:
        arrays[name] = _strings(name, arrays)
    return content["description"], arrays


@contextmanager
def model_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Check that a path is a file; convert errors of its content into a ModelFormatError."""
    # Python's own errors for a folder, a missing or an unreadable file are clear, so open() raises
    # them here, outside of the block whose errors are converted.
    with naming(path), open(_check_regular(Path(path)), "rb"):
        pass
    try:
        yield Path(path)
    except (ValueError, TypeError, OverflowError) as error:
        # An error may quote a value of the file, which can be as long as the file.
        reason = shorten(str(error).rstrip("."), 1000)
        raise ModelFormatError(f"{path} cannot be loaded: {reason}.") from error
    except RecursionError as error:
        raise ModelFormatError(f"{path} cannot be loaded: it is nested too deeply.") from error


def pack_words(vocabulary: Mapping[str, int], name: str) -> Arrays:
    """Encode a vocabulary as three arrays: the UTF-8 of all words, their ends, and their ids."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in vocabulary]
    return {
        f"{name}.words": np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}.ends": np.cumsum([len(word) for word in encoded], dtype=np.int64),
        f"{name}.ids": np.array([*vocabulary.values()], dtype=np.int64),
    }


def unpack_words(arrays: Arrays, name: str) -> dict[str, int]:
    """Decode a vocabulary that `pack_words` encoded, and remove its arrays from `arrays`."""
    words, ends, ids = (
        pop_array(arrays, f"{name}.{part}", dtype)
        for part, dtype in (("words", "uint8"), ("ends", "int64"), ("ids", "int64"))
    )
    if len(ends) != len(ids) or not len(ends) or ends[-1] != len(words) or ends[0] < 0:
        raise ValueError(f"the words and ids of its {name} do not belong together")
    if np.any(ends[1:] < ends[:-1]):
        raise ValueError(f"its {name}.ends does not rise")
    text, bounds = words.tobytes(), [0, *ends.tolist()]
    spelled = [text[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)]
    vocabulary = dict(zip(spelled, ids.tolist(), strict=True))
    if len(vocabulary) < len(spelled):
        raise ValueError(f"its {name} has a word twice")
    return vocabulary


def pop_array(arrays: Arrays, name: str, dtype: str | None = None) -> NDArray[Any]:
    """Remove an array from those of a file and return it; arrays that remain are superfluous."""
    if name not in arrays:
        raise ValueError(f"it lacks the array {name!r}")
    array = arrays.pop(name)
    if dtype is not None and (array.dtype != np.dtype(dtype) or array.ndim != 1):
        raise ValueError(f"its array {name!r} is not a vector of {dtype}")
    return array


def _check_regular(path: Path) -> Path:
    """Refuse pipes and devices: opening a pipe would block until another process writes to it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(
            f"{path} is a {_KINDS.get(stat.S_IFMT(mode), 'device')}; give the name of a file. "
            "Write what comes through a pipe to a file first."
        )
    return path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _add_digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Insert a SHA-256 of a JSON object and of the arrays as the first entry of the object."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return f'{{"sha256":"{digest.hexdigest()}",{text[1:]}'


def _code_points(array: NDArray[Any]) -> NDArray[np.uint32]:
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    return codes.reshape(*array.shape, array.dtype.itemsize // 4)


def _strings(name: Any, arrays: Arrays) -> NDArray[Any]:
    codes = arrays.get(name) if isinstance(name, str) else None
    if codes is None or codes.dtype != np.uint32 or codes.ndim < 1 or codes.shape[-1] == 0:
        raise ValueError(f"its array {name!r} does not hold strings")
    strings: NDArray[Any] = codes.view(f"U{codes.shape[-1]}")[..., 0]
    return strings


def _parse_json(text: str) -> Any:
    """Parse a JSON text after checking that its value cannot take much more memory."""
    most = _FEW_BRACKETS + len(text) // _CHARACTERS_PER_BRACKET
    # Brackets inside strings are harmless, but removing the strings takes time. Most texts have so
    # few brackets that both kinds together stay below the limit.
    if _count_brackets(text) > most and _count_brackets(_without_strings(text)) > most:
        raise ValueError(
            f"its description has more than {most} lists and objects in {len(text)} characters: "
            "large data belongs in arrays"
        )
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"its description is not JSON: {error}") from error


def _count_brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def _without_strings(text: str) -> str:
    pieces = text.replace(r"\\", "").replace(r"\"", "").split('"')
    return "".join(pieces[::2])


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


_KEYS = (str, int, float, NoneType, np.bool_, np.number)
_SPECIAL_FLOATS = ("nan", "inf", "-inf")
_SURROGATE = re.compile("[\ud800-\udfff]")


def to_plain(value: Any) -> Any:
    """Encode a plain value in JSON's types; `from_plain` decodes it."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        # str() of a member of an Enum would return its name, not its value.
        text = str.__str__(value)
        has_surrogates = not text.isascii() and _SURROGATE.search(text)
        return {"code_points": [*map(ord, text)]} if has_surrogates else text
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, Options):
        return {"options": value.to_plain()}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, _KEYS):
                raise TypeError(f"a key that is a {type(key).__qualname__} is not a plain value")
            if _is_long(key):
                raise TypeError("a key that is an integer beyond 64 bits is not a plain value")
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} is not a plain value")


def from_plain(data: Any) -> Any:
    """Decode a value that `to_plain` encoded."""
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"tuple": list(items)} if len(data) == 1:
            return tuple(from_plain(item) for item in items)
        case {"dict": list(pairs)} if len(data) == 1:
            return _decode_dict(pairs)
        case {"options": dict(options)} if len(data) == 1:
            return Options.from_plain(options)
        case {"float": str(name)} if len(data) == 1 and name in _SPECIAL_FLOATS:
            return float(name)
        case {"code_points": list(codes)} if len(data) == 1:
            return "".join(map(chr, codes))
    raise ValueError(f"an object with the keys {sorted(data)} stands where a value should")


def _is_long(key: Any) -> bool:
    """Return whether a key is an integer beyond 64 bits.

    Python hashes integers modulo 2**61 - 1, so a crafted file could give many long ones one hash,
    and building the dict would take quadratic time.
    """
    return isinstance(key, int) and not -(2**63) <= key < 2**64


def _decode_dict(pairs: list[Any]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("an entry of a dict is not a pair of key and value")
        key, value = pair
        # The keys of a vocabulary are strings, and this loop is the cost of loading it.
        if type(key) is not str:
            key = from_plain(key)
            if not isinstance(key, _KEYS) or _is_long(key):
                raise ValueError(f"a dict has a key that is a {type(key).__name__} or too large")
        if key in result:
            raise ValueError(f"a dict has the key {repr(key)[:40]} twice")
        result[key] = value if type(value) is int else from_plain(value)
    return result
