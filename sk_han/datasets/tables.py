"""Reading texts and labels from CSV files."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast, overload

import numpy as np
from numpy.typing import NDArray

# The number of the line in which a document starts, its values in the requested columns, and all.
Row = tuple[int, list[Any], dict[str, Any]]


TAB = "\t"


_DELIMITER_OF = {".csv": ",", ".tsv": TAB, ".jsonl": None}


_CALLED = {",": "comma", TAB: "tab"}


# Rows read at a time, while other threads that read tables wait.
_PORTION = 64


_CSV_LIMIT = threading.Lock()


_NO_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


# How files begin that are no tables of text; an archive has the names of its first files there.
_FOREIGN = {
    rb"(?s)\xd0\xcf\x11\xe0|PK\x03\x04.*xl/": (
        "an Excel file. Save it in Excel as CSV UTF-8, or read it with pandas.read_excel"
    ),
    rb"PK\x03\x04": "a zip archive. Unpack it, and give the table in it",
    rb"PAR1[\0-\x1f]": "a Parquet file. Read it with pandas.read_parquet",
    rb"%PDF-": "a PDF. Give a table with a row for each document",
}


# Labels that are numbers; "007" is a name.
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


class Record(NamedTuple):
    """A document of a table: the line where it starts, text, label, values of other columns."""

    line: int
    text: str
    label: str | int | bool | None
    others: list[Any]
    row: dict[str, Any]  # the values of all columns


@dataclass(frozen=True)
class Table:
    """A file or stream of rows."""

    source: Path | BinaryIO  # a stream is read once, and not closed
    delimiter: str | None  # None for JSON lines
    name: str  # what errors call it
    encoding: str = "utf-8"

    @classmethod
    def at(cls, path: Path, separator: str | None = None, encoding: str = "utf-8") -> Table:
        """Return the table of a file, whose kind its name tells, or the separator if given."""
        suffix = _suffix_of(path)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; give the name of a table in it.")
        if separator is None and suffix not in _DELIMITER_OF:
            if path.is_file():
                with _open_text(cls(path, None, str(path))):
                    pass  # raises an error for kinds of files that are known
            raise ValueError(
                f"{path}: the name must end in .csv, .tsv or .jsonl, or in one of these with .gz "
                "after it, to say what the file holds. Rename the file, or convert it, or give the "
                "separator of its columns, on the command line by --sep."
            )
        if separator is not None:
            check_separator(separator)
            if is_json_lines(path):
                raise ValueError(f"{path}: JSON lines have no separator; leave it out.")
        delimiter = _DELIMITER_OF[suffix] if separator is None else separator
        return cls(path, delimiter, str(path), encoding)


def is_json_lines(path: Path) -> bool:
    """Return whether the name of a file says that it holds JSON lines."""
    return _suffix_of(path) == ".jsonl"


def _suffix_of(path: Path) -> str:
    compressed = path.suffix.lower() == ".gz"
    return Path(path.stem if compressed else path.name).suffix.lower()


def check_separator(separator: str) -> None:
    """Raise ValueError if a separator is not one character that may stand between columns."""
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
        raise ValueError(
            f"separator must be one character, and no quote and no line break; got {separator!r}."
        )


def read_records(
    table: Table, text: Sequence[str], label: str | None = None, others: Sequence[str] = ()
) -> Iterator[Record]:
    """Yield the documents of a table while it is read; columns of text join by a blank line."""
    columns = [*text, *([] if label is None else [label]), *others]
    n_read, previous = 0, None
    with _open_text(table) as lines:
        if table.delimiter is None:
            rows = _json_rows(lines, table.name, columns)
        else:
            rows = _csv_rows(lines, table.name, columns, table.delimiter)
        while portion := _next_portion(rows):
            n_read += len(portion)
            for number, values, row in portion:
                where = f"{table.name}, line {number}"
                pairs = zip(text, values, strict=False)  # label and others follow
                texts = [_check_text(value, f"{where}: {column!r}") for column, value in pairs]
                found, rest = None, values[len(text) :]
                if label is not None:
                    found = _check_label(rest.pop(0), previous, f"{where}: {label!r}")
                    previous = found
                yield Record(number, "\n\n".join(texts), found, rest, row)
    if not n_read:
        raise ValueError(f"{table.name} holds no documents.")


def _next_portion(rows: Iterator[Row]) -> list[Row]:
    """Read rows without the limit on CSV fields, which csv has for the whole process only."""
    with _CSV_LIMIT:
        limit = csv.field_size_limit(2**31 - 1)  # the largest C long on Windows
        try:
            return list(islice(rows, _PORTION))
        finally:
            csv.field_size_limit(limit)


@contextmanager
def _open_text(table: Table) -> Iterator[TextIO]:
    """Open a table, compressed or not."""
    encoding = table.encoding
    try:
        "".encode(encoding)
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding is {encoding!r}; it takes the name of an encoding of text that Python "
            "knows, such as 'utf-8', 'cp1252' or 'utf-16'."
        ) from None
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"  # the same, without the byte order mark that Excel writes
    source = table.source
    binary = _open_bytes(source) if isinstance(source, Path) else source
    lines = io.TextIOWrapper(binary, encoding, newline="")
    try:
        _check_beginning(binary, table)
        yield lines
    except UnicodeDecodeError as error:
        if error.object.startswith(b"\x1f\x8b"):
            raise ValueError(
                f"{table.name} is compressed. Add .gz to its name, or unpack it."
            ) from error
        is_utf_8 = codecs.lookup(encoding).name.startswith("utf-8")
        likely = "cp1252 for a Western language" if is_utf_8 else "utf-8"
        if error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            likely = "utf-16"
        raise ValueError(
            f"{table.name}: byte 0x{error.object[error.start]:02x} is not {error.encoding}. Give "
            f"the encoding that the file was written in, perhaps {likely}, or save it as UTF-8."
        ) from error
    except UnicodeError as error:  # UTF-16 or UTF-32 without the mark that it begins with
        raise ValueError(
            f"{table.name}: {error}. Give the encoding that the file was written in, perhaps utf-8."
        ) from error
    except _NO_GZIP as error:
        raise ValueError(
            f"{table.name} is not a whole gzip file ({error}). Fetch or compress it again; if it "
            "was never compressed, take .gz off its name."
        ) from error
    finally:
        if isinstance(source, Path):
            lines.close()
        else:
            lines.detach()


def _check_beginning(binary: Any, table: Table) -> None:
    """Raise ValueError for a file of another kind."""
    head = binary.peek(1) if hasattr(binary, "peek") else b""
    for beginning, kind in _FOREIGN.items():
        if re.match(beginning, head):
            raise ValueError(f"{table.name} is {kind}.")
    if table.delimiter is not None and re.match(rb'\{\s*"', head):
        raise ValueError(f"{table.name} looks like JSON lines: name it .jsonl, or give --jsonl.")


def _open_bytes(path: Path) -> BinaryIO:
    try:
        compressed = path.suffix.lower() == ".gz"
        return cast(BinaryIO, gzip.open(path) if compressed else path.open("rb"))
    except FileNotFoundError:
        folder = path.parent
        present = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        raise FileNotFoundError(
            f"{path} does not exist.{_did_you_mean(path.name, present)}"
        ) from None


def _csv_rows(lines: TextIO, name: str, columns: list[str], delimiter: str) -> Iterator[Row]:
    records = _csv_records(lines, name, delimiter)
    _, header = next(records, (0, []))
    if not header:
        raise ValueError(f"{name} is empty; it should start with a row of column names.")
    places = [place_of(column, header, name) for column in columns]
    called = _CALLED.get(delimiter, repr(delimiter))
    for number, fields in records:
        if len(fields) != len(header):
            raise ValueError(
                f"{name}, line {number}: expected as many fields as column names, {len(header)}; "
                f"got {len(fields)}. Put quotes around a text with a {called} or a line break in "
                "it."
            )
        row = dict(zip(header, fields, strict=True))
        yield number, [fields[place] for place in places], row


def _csv_records(lines: TextIO, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
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
                f"{name}, line {number}: {error}. Close every quote, and write a quote inside a "
                'quoted text twice: "".'
            ) from error
        if fields:
            yield number, fields


def _json_rows(lines: TextIO, name: str, columns: list[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            record = json.loads(line.rstrip())
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{where} is not JSON: {error.msg} at column {error.colno}. Write one whole "
                "object on each line, as in "
                """{"text": "All well.", "label": "praise"}."""
            ) from error
        except (ValueError, RecursionError) as error:  # numbers too long, lists too deep
            raise ValueError(f"{where} cannot be read: {error}.") from error
        if not isinstance(record, dict):
            raise ValueError(
                f"{where} is a JSON {_kind(record)}. Write one object on each line, without a "
                "list around them."
            )
        keys = list(record)
        yield number, [record[keys[place_of(column, keys, where)]] for column in columns], record


def place_of(column: str, present: list[str], where: str) -> int:
    """Return the position of a column among those present."""
    if present.count(column) == 1:
        return present.index(column)
    if column in present:
        raise ValueError(f"{where} has {present.count(column)} columns {column!r}; rename one.")
    listed = ", ".join(repr(name[:40]) for name in present[:20])
    hint = _did_you_mean(column, present)
    if any(len(name) > 40 or name.isdecimal() for name in present):
        hint = hint or " Is the first line a document? It should name the columns."
    if column in ("text", "label"):  # by default
        keep = ", or by --keep if that names it" * (column == "label")
        hint += f" Name another by {column}, on the command line by --{column}{keep}."
    if len(present) == 1:
        hint = _other_separator(present[0]) or hint
    raise ValueError(f"{where} has no column {column!r}. It has {listed}.{hint}")


def _other_separator(header: str) -> str:
    found = [separator for separator in (TAB, ";", "|", ",") if separator in header]
    if not found:
        return ""
    return (
        f" The columns seem to be separated by {found[0]!r}: in a .csv file it is a comma, in a "
        ".tsv file a tab. Or give the separator, on the command line by --sep."
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


def _check_label(value: Any, previous: Any, where: str) -> str | int | bool:
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{where} is blank. Leave the line out.")
    if type(value) not in (str, int, bool):
        raise ValueError(
            f"{where} is a JSON {_kind(value)}. A label is a string, an integer, or true or false."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{where} is an integer of more than 64 bits. Write it as a string.")
    if previous is not None and type(value) is not type(previous):
        raise ValueError(
            f"{where} is a JSON {_kind(value)}, but the label before is a "
            f"{_kind(previous)}. Write all labels alike."
        )
    return cast("str | int | bool", value)


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels of a table as an array, of integers if all texts are whole numbers."""
    if all(isinstance(label, str) and _WHOLE.fullmatch(label) for label in labels):
        return np.array(list(map(int, labels)), dtype=np.int64)
    return np.array(labels)


def _kind(value: Any) -> str:
    """Return JSON's name for the type of a value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: str = ...,
    encoding: str = ...,
    separator: str | None = ...,
) -> tuple[list[str], NDArray[Any]]: ...


@overload
def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = ...,
    label: None,
    encoding: str = ...,
    separator: str | None = ...,
) -> list[str]: ...


def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    encoding: str = "utf-8",
    separator: str | None = None,
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
        Name of the column, or key, of the labels; a blank one is refused. None loads the texts
        alone.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is removed.
    separator : str or None, default=None
        The character between columns, such as ``";"``. None takes that of the file's name: a comma
        for ``.csv``, a tab for ``.tsv``. A file of columns may have any name if it is given.

    Returns
    -------
    texts : list of str, length n_documents
    labels : ndarray of shape (n_documents,)
        Strings, or integers if all labels of a CSV are whole numbers (not ``"007"``). From JSON
        lines strings, integers or booleans, as they are there. Not returned if `label` is None.

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
    table = Table.at(Path(path), separator, encoding)
    columns: list[Any] = list(text) if isinstance(text, (list, tuple)) else [text]
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(f"text must be the name of a column, or a list of names; got {text!r}.")
    texts: list[str] = []
    labels: list[Any] = []
    for record in read_records(table, columns, label):
        texts.append(record.text)
        labels.append(record.label)
    if label is None:
        return texts
    return texts, np.array(labels) if table.delimiter is None else label_array(labels)
