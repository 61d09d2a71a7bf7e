"""Read texts and labels from the user's files."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_csv"]

# The number of the line in which a document starts, and its values in the requested columns.
Row = tuple[int, list[Any]]
RowReader = Callable[[TextIO, Path, list[str]], Iterator[Row]]

TAB = "\t"

_SEPARATOR = {",": "comma", TAB: "tab"}

_CSV_LIMIT = threading.Lock()


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: str = ...,
    encoding: str = ...,
) -> tuple[list[str], NDArray[Any]]: ...


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: None,
    encoding: str = ...,
) -> list[str]: ...


def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    encoding: str = "utf-8",
) -> tuple[list[str], NDArray[Any]] | list[str]:
    r"""Load texts and their labels from a table: CSV, TSV or JSON lines.

    Parameters
    ----------
    path : str or path-like
        A file named ``.csv``, ``.tsv`` or ``.jsonl``, or one of these with ``.gz`` appended. A
        CSV or TSV file starts with a row of column names, and has quotes like a spreadsheet's; a
        JSON lines file has an object on each line.
    text : str or list of str, default="text"
        Name of the column, or key, of the texts. Several columns, such as title and body, are
        joined in this order with a blank line between them, where a sentence ends.
    label : str or None, default="label"
        Name of the column, or key, of the labels. None loads the texts alone.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is removed.

    Returns
    -------
    texts : list of str, length n_documents
    labels : ndarray of shape (n_documents,)
        Strings. From JSON lines also integers or booleans, if all labels are. Not returned if
        `label` is None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError
        If `text` is no name and no list of names.
    ValueError
        If the name ends otherwise, the file has no document or lacks a column, or a line is
        invalid. The message names the line and the likely repair.

    Notes
    -----
    Other columns are not kept, and documents may have any size.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_han.datasets import load_csv
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.csv")
    ...     _ = path.write_text('note,kind\n"Out of ink, again.",complaint\nAll well.,praise\n')
    ...     texts, labels = load_csv(path, text="note", label="kind")
    >>> texts
    ['Out of ink, again.', 'All well.']
    >>> labels.tolist()
    ['complaint', 'praise']
    """
    path = Path(path)
    read = _row_reader(path)
    text_columns: list[Any] = list(text) if isinstance(text, (list, tuple)) else [text]
    if not text_columns or not all(isinstance(column, str) for column in text_columns):
        raise TypeError(f"text must be the name of a column, or a list of names; got {text!r}.")
    columns = text_columns if label is None else [*text_columns, label]
    texts: list[str] = []
    labels: list[Any] = []
    with _fields_of_any_size(), _open_text(path, encoding) as lines:
        for number, values in read(lines, path, columns):
            where = f"{path}, line {number}"
            pairs = zip(text_columns, values, strict=False)  # the label is last
            found = [_check_text(value, f"{where}: {column!r}") for column, value in pairs]
            texts.append("\n\n".join(found))
            if label is not None:
                labels.append(_check_label(values[-1], labels, f"{where}: {label!r}"))
    if not texts:
        raise ValueError(f"{path} holds no documents.")
    return texts if label is None else (texts, np.array(labels))


def _row_reader(path: Path) -> RowReader:
    readers: dict[str, RowReader] = {
        ".csv": partial(_csv_rows, delimiter=","),
        ".tsv": partial(_csv_rows, delimiter=TAB),
        ".jsonl": _json_rows,
    }
    suffix = Path(path.stem if _is_compressed(path) else path.name).suffix.lower()
    if suffix not in readers:
        raise ValueError(
            f"{path}: the name must end in .csv, .tsv or .jsonl, or in one of these with .gz "
            "behind, to say what the file holds. Rename the file, or convert it."
        )
    return readers[suffix]


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


@contextmanager
def _fields_of_any_size() -> Iterator[None]:
    """Remove the limit on CSV fields, which the csv module has for the whole process only."""
    with _CSV_LIMIT:
        limit = csv.field_size_limit(2**31 - 1)  # the largest C long on Windows
        try:
            yield
        finally:
            csv.field_size_limit(limit)


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file, compressed or not; an error names the line whose bytes are no text."""
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"  # the same, without the byte order mark that Excel writes
    try:
        with (
            _open_bytes(path) as binary,
            io.TextIOWrapper(binary, encoding, newline="") as lines,
        ):
            yield lines
    except UnicodeDecodeError as error:
        raise ValueError(_where_undecodable(path, encoding, error)) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is not a whole gzip file ({error}). Fetch or compress it again; if it was "
            "never compressed, take .gz off its name."
        ) from error


def _open_bytes(path: Path) -> BinaryIO:
    try:
        return cast(BinaryIO, gzip.open(path) if _is_compressed(path) else path.open("rb"))
    except FileNotFoundError:
        folder = path.parent
        present = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        raise FileNotFoundError(
            f"{path} does not exist.{_did_you_mean(path.name, present)}"
        ) from None


def _where_undecodable(path: Path, encoding: str, error: UnicodeDecodeError) -> str:
    """Read the file again to find the line, since the error counts from the start of a buffer."""
    with _open_bytes(path) as binary:
        content = binary.read()
    if content.startswith(b"\x1f\x8b"):
        return f"{path} is compressed. Add .gz to its name."
    try:
        content.decode(encoding)
    except UnicodeDecodeError as located:
        error = located
    before = error.object[: error.start].decode(encoding, errors="replace")
    return (
        f"{path}, line {before.count(chr(10)) + 1}: byte 0x{error.object[error.start]:02x} is not "
        f"{error.encoding}. Pass the encoding that the file was written in, perhaps "
        'encoding="cp1252", or save it as UTF-8.'
    )


def _csv_rows(lines: TextIO, path: Path, columns: list[str], *, delimiter: str) -> Iterator[Row]:
    records = _csv_records(lines, path, delimiter)
    _, header = next(records, (0, []))
    if not header:
        raise ValueError(f"{path} is empty; it should start with a row of column names.")
    places = [_place(column, header, str(path)) for column in columns]
    for number, fields in records:
        if len(fields) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields, but {len(header)} column names. "
                f"Put quotes around a text with a {_SEPARATOR[delimiter]} or a line break in it."
            )
        yield number, [fields[place] for place in places]


def _csv_records(lines: TextIO, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the number of its first line."""
    # Without `strict`, a quote that is never closed takes the rest of the file without an error.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{path}, line {number}: {error}. Close every quote, and write a quote inside a "
                'quoted text twice: "".'
            ) from error
        if fields:
            yield number, fields


def _json_rows(lines: TextIO, path: Path, columns: list[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line.rstrip())
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{where} is not JSON: {error.msg} at column {error.colno}. Write one whole "
                "object on each line, as in "
                """{"text": "All well.", "label": "praise"}."""
            ) from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{where} is a JSON {_kind(record)}. Write one object on each line, without a "
                "list around them."
            )
        keys = list(record)
        yield number, [record[keys[_place(column, keys, where)]] for column in columns]


def _place(column: str, present: list[str], where: str) -> int:
    """Return the position of a column among those present."""
    if present.count(column) == 1:
        return present.index(column)
    if column in present:
        raise ValueError(f"{where} has {present.count(column)} columns {column!r}; rename one.")
    listed = ", ".join(repr(name[:40]) for name in present[:20])
    hint = _did_you_mean(column, present)
    if len(present) == 1:
        hint = _other_separator(present[0]) or hint
    raise ValueError(f"{where} has no column {column!r}. It has {listed}.{hint}")


def _other_separator(header: str) -> str:
    found = [separator for separator in (TAB, ";", "|", ",") if separator in header]
    if not found:
        return ""
    return (
        f" The columns seem to be separated by {found[0]!r}: in a .csv file it is a comma, in a "
        ".tsv file a tab."
    )


def _did_you_mean(name: str, present: Sequence[str]) -> str:
    by_lower = {candidate.strip().lower(): candidate for candidate in present}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def _check_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(
            f"{where} is a JSON {_kind(value)}, not a string. Leave the line out or correct it."
        )
    return value


def _check_label(value: Any, before: list[Any], where: str) -> str | int | bool:
    if value == "":
        raise ValueError(
            f"{where} is empty. Leave the line out, or load the texts alone with label=None."
        )
    if type(value) not in (str, int, bool):
        raise ValueError(
            f"{where} is a JSON {_kind(value)}. A label is a string, an integer, or true or false."
        )
    if before and type(value) is not type(before[0]):
        raise ValueError(
            f"{where} is a JSON {_kind(value)}, but the label before is a "
            f"{_kind(before[-1])}. Write all labels alike."
        )
    return cast("str | int | bool", value)


def _kind(value: Any) -> str:
    """Return JSON's name for the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
