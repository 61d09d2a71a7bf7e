"""Base class of results: rendering, serialization and read-only arrays."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._rendering.blocks import Block
from sk_han._rendering.html import page
from sk_han._rendering.text import format_lines
from sk_han._utils.files import replacing

Extent = Literal["page", "notebook", "terminal"]
_SURROGATES = re.compile("[\ud800-\udfff]")
# Expected shape and dtype of an array; None stands for any length or dtype.
Shape = tuple[tuple[int | None, ...], type[np.generic] | None]
# Kinds of dtypes that may be converted to the expected dtype.
_KINDS: dict[type[np.generic], str] = {np.int64: "iu", np.float64: "fiu", np.bool_: "b"}


class Result(ABC):
    """Base class of results: data that is rendered as a page or as text, and serialized as JSON."""

    __slots__ = ()

    def to_dict(self) -> Any:
        """Return all data as dicts, lists, strings and numbers, which JSON can represent.

        Labels of other types are converted by `str`, and numbers that are not finite become None.
        Lone surrogates become U+FFFD, so that offsets still count the same characters.
        """
        return _plain_fields(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | Any:
        """Return `to_dict` as JSON; with a path, write it to the file and return None.

        Parameters
        ----------
        path : path-like, optional
            File to write. It is ASCII with other characters escaped, so its encoding is never in
            doubt.
        """
        return write_or_return(json.dumps(self.to_dict(), allow_nan=False), path)

    def to_text(self, *, width: int | None = None) -> str:
        """Return the result as lines of text, as `print` shows it.

        Parameters
        ----------
        width : int, optional
            Number of columns of a line; by default that of the terminal.
        """
        return format_lines(self._blocks("terminal"), width=width)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, full_page: bool = True
    ) -> str | Any:
        """Return the result as HTML; with a path, write it to the file and return None.

        It has no scripts and loads no files. A page is light or dark as the reader's system is.

        Parameters
        ----------
        path : path-like, optional
            File to write, in UTF-8.
        full_page : bool, default=True
            Whether it is a whole page, or a fragment of one.
        """
        return self._render_page(path, full_page)

    def _render_page(
        self, path: str | os.PathLike[str] | None, full_page: bool, **options: Any
    ) -> str | Any:
        """Return a page or a fragment, or write it to a file."""
        blocks = self._blocks("page" if full_page else "notebook", **options)
        return write_or_return(page(blocks, full_page=full_page), path)

    @abstractmethod
    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        """Return the blocks of a page, of a notebook, or the short form for a terminal."""

    def _repr_html_(self) -> str | Any:
        return self._render_page(None, full_page=False)

    def __str__(self) -> str:
        return self.to_text()


class ReadOnlyResult(Result):
    """A result with read-only arrays, also in its copies and pickles."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # children are dataclasses
            value = getattr(self, field.name)
            if value is not None and str(field.type).startswith("NDArray"):
                object.__setattr__(self, field.name, read_only(np.asarray(value)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


def plain(value: Any) -> Any:
    """Convert nested data to types of JSON; see `Result.to_dict`."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        # A JSON parser would join two adjacent surrogates to one character, which shifts offsets.
        return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    if value is None or isinstance(value, int):
        return value
    if dataclasses.is_dataclass(value):
        return _plain_fields(value)
    if hasattr(value, "_asdict"):  # a NamedTuple
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    return str(value)


def _plain_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as plain values."""
    return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy, which several results may share."""
    copied = array.copy()
    copied.setflags(write=False)
    return copied


def freeze(result: Any, shapes: Mapping[str, Shape]) -> None:
    """Replace arrays of a frozen dataclass, unless they are None, by checked read-only ones."""
    for name, (shape, dtype) in shapes.items():
        value = getattr(result, name)
        if value is not None:
            object.__setattr__(result, name, _frozen(value, name, shape, dtype))


def _frozen(
    value: ArrayLike, name: str, shape: tuple[int | None, ...], dtype: type[np.generic] | None
) -> NDArray[Any]:
    """Return a read-only array, after checking its dtype and shape, where None stands for any.

    It is a copy, unless the array is read-only and owns its data: many results share class names.
    """
    is_frozen = type(value) is np.ndarray and value.base is None and not value.flags.writeable
    array = np.asarray(value) if is_frozen else np.array(value)
    if array.size == 0 and shape[0] in (None, 0):
        array = np.empty((0, *(length or 0 for length in shape[1:])), dtype=dtype)
    elif dtype is not None and array.dtype.kind not in _KINDS[dtype]:
        raise TypeError(f"{name} must hold {dtype.__name__}; got dtype {array.dtype}.")
    if len(shape) != array.ndim or any(
        wanted not in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); got {array.shape}.")
    array = array.astype(dtype or array.dtype, copy=False)
    if dtype is np.float64 and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers; got {array[~np.isfinite(array)][0]}.")
    array.setflags(write=False)
    return array


def write_or_return(content: str, path: str | os.PathLike[str] | None) -> str | None:
    """Return the content; with a path, write it to the file in UTF-8 and return None.

    Notebooks display the result of a cell's last line, which would be 100,000 characters of a page.
    """
    if path is None:
        return content
    # A device, such as /dev/stdout, cannot be replaced by a new file.
    target = Path(path)
    is_stream = target.exists() and not target.is_file() and not target.is_dir()
    with target.open("wb") if is_stream else replacing(target) as file:
        file.write(content.encode("utf-8"))
    return None
