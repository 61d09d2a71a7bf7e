"""Reading tables: CSV, TSV, JSON lines and Excel, as DataFrames of pandas and as texts."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import nearest_name

if TYPE_CHECKING:
    from pandas import DataFrame

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_KINDS = [*_SEPARATORS, ".jsonl", ".xlsx"]

# How compressed files begin, and texts of other encodings: that of UTF-32 begins as that of UTF-16.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF8: "utf-8-sig"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

# How files begin that are no tables of columns; an archive has the names of its first files there.
_FOREIGN = {
    rb"\xd0\xcf\x11\xe0": "an .xls of old, or has a password. Save it in Excel as .xlsx",
    rb"(?s)PK\x03\x04.*xl/": "an Excel file. Give it in a file whose name ends in .xlsx",
    rb"PK\x03\x04": "a zip archive. Unpack it, and give the table in it",
    rb"PAR1[\0-\x1f]": "a Parquet file. Read it with pandas.read_parquet",
    rb"%PDF-": "a PDF. Give a table with a row for each document",
    rb'\{\s*"': "JSON lines. Name it .jsonl, or give --jsonl",
}

# Labels that are numbers; "007" is a name.
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


def kind_of(path: Path) -> str:
    """Return the ending that says what a file holds, such as ".csv"."""
    is_compressed = path.suffix.lower() in (".gz", ".bz2", ".xz")
    return Path(path.stem if is_compressed else path.name).suffix.lower()


def read_frames(
    source: Path | BinaryIO,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    *,
    size: int | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    kind: str = ".csv",
) -> Iterator[DataFrame]:
    """Yield the rows of a file or stream in portions of a size, or all at once, as they are read.

    The index holds the line (of Excel: the row) where each starts. Cells of CSV are strings, and
    others as they are there; None is a missing key of JSON. Columns must be present, but optional
    ones may lack in JSON. ``attrs`` has the name, the kind, and the encoding with its mark.
    """
    import pandas as pd

    name = str(source) if isinstance(source, Path) else "standard input"
    if separator is not None and not re.fullmatch(r'[^"\r\n]', str(separator)):
        raise ValueError(
            f"separator must be one character, and no quote and no line break; got {separator!r}."
        )
    n_rows, header = 0, None
    with _opened(source, name) as stream:
        if kind == ".xlsx":
            rows = _excel_rows(stream, name)
        else:
            encoding = _marked_encoding(stream.peek(6), encoding, name, kind == ".jsonl")
            if separator is None and kind not in _KINDS:
                raise ValueError(
                    f"{name}: the name must end in {', '.join(_KINDS)}, or in one of these with "
                    ".gz, .bz2 or .xz after it, to say what the file holds. Rename the file, or "
                    "give the separator of its columns, on the command line by --sep."
                )
            lines = io.TextIOWrapper(stream, encoding, newline="")
            rows = _csv_rows(lines, name, separator or _SEPARATORS.get(kind, ","))
            if kind == ".jsonl":
                rows = _json_rows(lines, name)
        if kind != ".jsonl":
            _, header = next(rows, (0, None))
            if header is None:
                raise ValueError(f"{name} is empty; it should start with a row of column names.")
            _check_columns([*columns, *optional], header, name)
        while portion := list(islice(rows, size)):
            numbers, cells = zip(*portion, strict=True)
            index = pd.Index(numbers, name="row" if kind == ".xlsx" else "line")
            frame = pd.DataFrame(list(cells), index, header, dtype=object)
            if header is None:
                _check_columns(columns, [*frame.columns], f"{name}, line {numbers[0]}")
                frame = frame.reindex(columns=[*dict.fromkeys([*frame.columns, *optional])])
                frame = frame.where(frame.notna(), None)
            frame.attrs = {"name": name, "kind": kind, "encoding": encoding}
            n_rows += len(frame)
            yield frame
    if not n_rows:
        raise ValueError(f"{name} holds no documents.")


@contextmanager
def _opened(source: Path | BinaryIO, name: str) -> Iterator[Any]:
    """Open a file or stream, compressed or not; say what is wrong with its bytes."""
    try:
        with source.open("rb") if isinstance(source, Path) else source as stream:
            head: bytes = stream.peek(6)  # type: ignore[attr-defined]
            module = next((m for magic, m in _COMPRESSIONS.items() if head.startswith(magic)), "")
            yield import_module(module).open(stream) if module else stream
    except UnicodeError as error:
        is_utf_8 = getattr(error, "encoding", "").startswith("utf-8")
        likely = "cp1252 for a Western language" if is_utf_8 else "utf-8"
        raise ValueError(
            f"{name}: {error}. Give the encoding that the file was written in, perhaps {likely}, "
            "or save it as UTF-8."
        ) from error
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{name} is cut off or damaged ({error}). Fetch it again.") from error


def _marked_encoding(head: bytes, encoding: str, name: str, is_json: bool) -> str:
    """Return the encoding, with a byte order mark if it has one; refuse files of other kinds."""
    for beginning, kind in _FOREIGN.items():
        if re.match(beginning, head) and not is_json:
            raise ValueError(f"{name} is {kind}.")
    marked = next((e for mark, e in _MARKS.items() if head.startswith(mark)), encoding)
    plain = marked.removesuffix("-sig")
    if marked != encoding and not codecs.lookup(encoding).name.startswith(plain):
        raise ValueError(
            f"{name} is {plain.upper()}, as its byte order mark says, and not {encoding}. Give the "
            f"encoding {plain}, on the command line by --encoding."
        )
    return marked


def _csv_rows(lines: Any, name: str, separator: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows that are not blank, each with the number of its first line."""
    # pandas.read_csv fills short rows with blanks, takes the first cells of long ones for an index,
    # and waits for 65,536 rows of a pipe before it gives one.
    csv.field_size_limit(2**31 - 1)  # the largest C long on Windows
    # Without `strict`, a quote that is never closed takes the rest of the file without an error.
    reader, number, width = csv.reader(lines, delimiter=separator, strict=True), 1, 0
    try:
        for fields in reader:
            width = width or len(fields)
            is_blank_row = len(fields) > 1 and not any(fields)  # spreadsheets end in some
            if fields and len(fields) != width:
                raise csv.Error(
                    f"expected as many fields as column names, {width}; got {len(fields)}"
                )
            if fields and not is_blank_row:
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{name}, line {number}: {error}. Put quotes around a text with a line break or a "
            f'separator ({separator!r}) in it, write a quote in it twice (""), and close them.'
        ) from error


def _json_rows(lines: Any, name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if not isinstance(record := json.loads(line), dict):
                raise ValueError(f"a {type(record).__name__}")
        except (ValueError, RecursionError) as error:  # numbers too long, lists too deep
            raise ValueError(
                f"{name}, line {number} is not a JSON object: {error}. Write one whole object on "
                """each line, as in {"text": "All well.", "label": "praise"}."""
            ) from error
        yield number, record


def _excel_rows(stream: Any, name: str) -> Iterator[tuple[int, Any]]:
    import pandas as pd

    options: Any = {"engine": "openpyxl", "header": None, "dtype": object, "na_filter": False}
    try:
        sheet = pd.read_excel(stream, **options)
    except ImportError as error:
        raise ImportError(f'{name} needs openpyxl: pip install "sk-han[excel]".') from error
    for number, cells in enumerate(sheet.to_numpy().tolist(), start=1):
        if any(cell != "" for cell in cells):
            yield number, cells if number > 1 else [*map(str, cells)]


def _check_columns(columns: Sequence[str], present: Sequence[Any], where: str) -> None:
    """Raise ValueError unless each column is present once."""
    names = [*map(str, present)]
    for column in columns:
        if (n := names.count(column)) == 1:
            continue
        if n > 1:
            raise ValueError(f"{where} has {n} columns {column!r}; rename one.")
        hint = nearest_name(column, names)
        if any(len(name) > 40 or name.isdecimal() for name in names):
            hint = hint or " Is the first line a document? It should name the columns."
        if column in ("text", "label"):  # by default
            keep = ", or by --keep if that names it" * (column == "label")
            hint += f" Name another by {column}, on the command line by --{column}{keep}."
        if len(names) == 1 and (other := re.search(r"[\t;|,]", names[0])):
            hint = (
                f" The columns seem to be separated by {other[0]!r}: in a .csv file it is a comma, "
                "in a .tsv file a tab. Or give the separator, on the command line by --sep."
            )
        listed = ", ".join(repr(name[:40]) for name in names[:20])
        raise ValueError(f"{where} has no column {column!r}. It has {listed}.{hint}")


def is_blank(cell: Any) -> bool:
    """Return whether a cell holds nothing: None, or blanks alone."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def places_of(frame: DataFrame, column: str) -> list[str]:
    """Return the place of each cell of a column in its table, for a message."""
    where = f"{frame.attrs['name']}, {frame.index.name}"
    return [f"{where} {line}: {column!r}" for line in frame.index]


def texts_of(frame: DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the texts of a table's rows; columns of text are joined by a blank line."""
    for column in columns:
        for cell, place in zip(frame[column], places_of(frame, column), strict=True):
            if cell is None or isinstance(cell, (list, dict)):
                raise ValueError(
                    f"{place} is {cell!r:.40}, and not a text. Leave the line out or correct it."
                )
    return ["\n\n".join(map(str, cells)) for cells in frame[[*columns]].to_numpy().tolist()]


def labels_of(frame: DataFrame, column: str) -> NDArray[Any]:
    """Return the labels of a table's rows: strings, whole numbers, or booleans of JSON."""
    labels = frame[column].tolist()
    if frame.attrs["kind"] == ".xlsx":  # whose cells of one column may differ in kind
        labels = [str(each).lower() if isinstance(each, bool) else str(each) for each in labels]
    for label, place in zip(labels, places_of(frame, column), strict=True):
        if is_blank(label):
            raise ValueError(f"{place} is blank. Leave the line out.")
        if type(label) not in (str, int, bool) or type(label) is not type(labels[0]):
            raise ValueError(
                f"{place} is {label!r:.40}, and the first label is {labels[0]!r:.40}. Write all as "
                "strings, as integers, or as true and false."
            )
    return np.array(labels) if frame.attrs["kind"] == ".jsonl" else label_array(labels)


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels of a table as an array, of integers if all texts are whole numbers."""
    if all(isinstance(label, str) and _WHOLE.fullmatch(label) for label in labels):
        return np.array(list(map(int, labels)), dtype=np.int64)
    return np.array(labels)


def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    encoding: str = "utf-8",
    separator: str | None = None,
) -> Any:
    r"""Load texts and their labels from a table: CSV, TSV, JSON lines or Excel.

    Parameters
    ----------
    path : str or path-like
        A file named ``.csv``, ``.tsv`` or ``.jsonl``, perhaps with ``.gz``, ``.bz2`` or ``.xz``
        appended, or ``.xlsx``, of which the first sheet is read by ``pip install
        "sk-han[excel]"``. Columns have their names in the first row, and quotes like a
        spreadsheet's; a JSON lines file has an object on each line.
    text : str or list of str, default="text"
        Name of the column, or key, of the texts. Several columns, such as title and body, are
        joined in this order with a blank line between them, where a sentence ends.
    label : str or None, default="label"
        Name of the column, or key, of the labels; a blank one is refused. None loads the texts
        alone.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is removed; one of another encoding is an error.
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
    columns: list[Any] = list(text) if isinstance(text, (list, tuple)) else [text]
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(f"text must be the name of a column, or a list of names; got {text!r}.")
    needed = columns if label is None else [*columns, label]
    table, options = Path(path), {"separator": separator, "encoding": encoding}
    (frame,) = read_frames(table, needed, kind=kind_of(table), **options)  # type: ignore[arg-type]
    texts = texts_of(frame, columns)
    return texts if label is None else (texts, labels_of(frame, label))
