"""Reading tables (CSV, TSV, JSON lines, Excel) as DataFrames of pandas, and as texts and labels."""

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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.etree.ElementTree import ParseError

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.containers import listed
from sk_han._utils.files import naming
from sk_han._utils.messages import check_choice, in_one_line, nearest_name, plural, warn_user
from sk_han._validation.cells import is_absent, read_numbers
from sk_han._validation.documents import is_missing
from sk_han._validation.labels import label_of_cell, table_labels

if TYPE_CHECKING:
    from pandas import DataFrame

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_KINDS = [*_SEPARATORS, ".jsonl", ".xlsx"]

# First bytes of compressed files, and byte order marks. The mark of UTF-32 begins with that of
# UTF-16, so it is tried first.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF8: "utf-8-sig"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

# First bytes of files that are not tables of columns, with their kind and the repair. An Excel file
# is a zip archive, which is recognized by the names of the files in it.
_FOREIGN = {
    rb"\xd0\xcf\x11\xe0": "an .xls of old, or has a password. Save it in Excel as .xlsx",
    rb"(?s)PK\x03\x04.*xl/": "an Excel file. Give it in a file whose name ends in .xlsx",
    rb"PK\x03\x04": "a zip archive, or a document of an office program. Unpack it, and give the "
    "table in it, or save the table as .xlsx or .csv",
    rb"PAR1[\0-\x1f]": "a Parquet file. Read it with pandas.read_parquet",
    rb"%PDF-": "a PDF. Give a table with a row for each document",
    rb'\{\s*"': "JSON lines. Name it .jsonl, or give --jsonl",
}


_DAMAGED = EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, ParseError


def table_kind(path: Path) -> str:
    """Return the extension for the kind of a table, such as ".csv", without that of compression."""
    is_compressed = path.suffix.lower() in (".gz", ".bz2", ".xz")
    return Path(path.stem if is_compressed else path.name).suffix.lower()


def read_frames(
    source: Path | BinaryIO,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    *,
    label: str | None = None,
    are_numbers: bool = False,
    rest: list[DataFrame] | None = None,
    size: int | None = None,
    sep: str | None = None,
    quoting: str = "minimal",
    encoding: str = "utf-8",
    sheet: str | None = None,
    kind: str = ".csv",
) -> Iterator[DataFrame]:
    """Yield the rows of a file or stream as they are read, in portions of `size`, or all at once.

    The index has the line in which each row starts, or the row of Excel. Cells of CSV are strings;
    cells of JSON and Excel keep their types, and missing keys of JSON are None. Columns must exist,
    except that JSON may lack optional ones. ``attrs`` has name, kind and encoding of the table.
    Rows whose cell in the column `label` holds no label (with `are_numbers`, no number) are left
    out with a warning, or appended to `rest`.
    """
    import pandas as pd

    name = str(source) if isinstance(source, Path) else "standard input"
    if sep is not None and not re.fullmatch(r'[^"\r\n]', str(sep)):
        raise ValueError(f"sep must be one character, and no quote and no line break; got {sep!r}.")
    check_choice("quoting", quoting, ("minimal", "none"))
    n_rows, header, where, without = 0, None, name, list[Any]()
    is_known = codecs.lookup(encoding).name.startswith("utf-8")
    with _open(source, name) as stream:
        if kind == ".xlsx":
            rows, sheet, where = _excel_rows(stream, name, sheet)
        else:
            encoding = _marked_encoding(stream.peek(6), encoding, name, kind == ".jsonl")
            if sep is None and kind not in _KINDS:
                raise ValueError(
                    f"{name}: the name must end in {', '.join(_KINDS)}, or in one of these and "
                    ".gz, .bz2 or .xz. Rename the file, or give the separator of columns as sep."
                )
            text = io.TextIOWrapper(stream, encoding, newline="")
            rows = _csv_rows(text, name, sep or _SEPARATORS.get(kind, ","), quoting)
            if kind == ".jsonl":
                rows = _json_rows(text, name)
        if kind != ".jsonl":
            _, header = next(rows, (0, None))
            if header is None:
                raise ValueError(f"{where} is empty; it should start with a row of column names.")
            if kind != ".xlsx":
                is_known = is_known or _is_encoded(header, encoding, name)
            _check_columns([*columns, *optional], header, where)
        while portion := list(islice(rows, size)):
            numbers, cells = zip(*portion, strict=True)
            index = pd.Index(numbers, name="row" if kind == ".xlsx" else "line")
            frame = pd.DataFrame(list(cells), index, header, dtype=object)
            if header is None:
                _check_columns(columns, [*frame.columns], f"{name}, line {numbers[0]}")
                frame = frame.reindex(columns=[*dict.fromkeys([*frame.columns, *optional])])
                frame = frame.where(frame.notna(), None)
            elif kind == ".xlsx":
                _check_blank_cells(frame, columns, stream, name, sheet)
            else:
                is_known = is_known or _is_encoded(chain(*cells), encoding, name)
            n_rows += len(frame)
            frame.attrs = {"name": name, "kind": kind, "encoding": encoding}
            if label is not None:
                has_label = [
                    not is_absent(cell) if are_numbers else label_of_cell(cell) is not None
                    for cell in frame[label]
                ]
                without.append(frame[[not has for has in has_label]])
                frame = frame[has_label]
            if len(frame):
                yield frame
    if not n_rows:
        raise ValueError(f"{name} holds no documents.")
    left_out = [line for frame in without for line in frame.index]
    if len(left_out) == n_rows:
        raise ValueError(f"{name}: no row has a {label!r}. Label some, or name another column.")
    if rest is not None:
        rest += without
    elif left_out:
        lines = f"{frame.index.name}{'s' * (len(left_out) > 1)} {listed(left_out, 10, str)}"
        warn_user(
            f"Left {len(left_out):,} of {plural(n_rows)} of {in_one_line(name)} out, without a "
            f"{'number' if are_numbers else 'label'}: {lines}."
        )


@contextmanager
def _open(source: Path | BinaryIO, name: str) -> Iterator[Any]:
    """Open a file or stream, compressed or not; errors report what is wrong with its bytes."""
    try:
        with naming(name), source.open("rb") if isinstance(source, Path) else source as stream:
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
    except _DAMAGED as error:
        raise ValueError(f"{name} is cut off or damaged ({error}). Fetch it again.") from error


def _marked_encoding(head: bytes, encoding: str, name: str, is_json: bool) -> str:
    """Return the encoding, adapted to a byte order mark; raise a ValueError for foreign files."""
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


def _is_encoded(cells: Iterable[str], encoding: str, name: str) -> bool:
    """Return whether cells confirm an encoding; raise a ValueError if they seem to be UTF-8."""
    text = "".join(cell for cell in cells if not cell.isascii())
    with suppress(UnicodeError):
        if text and (right := text.encode(encoding).decode("utf-8")):
            first = max(next(i for i, c in enumerate(text) if not c.isascii()) - 10, 0)
            # Characters before the first one outside of ASCII are the same in both encodings.
            shown = slice(first, first + 20)
            raise ValueError(
                f"{name} is UTF-8, and not {encoding}: {text[shown]!r} is {right[shown]!r}. Give "
                "the encoding utf-8, on the command line by --encoding."
            )
    return bool(text)


_UNQUOTED = "If no cell is quoted, give quoting='none', on the command line --quoting none."


def _csv_rows(lines: Any, name: str, separator: str, quoting: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows that are not blank, each with the number of its first line."""
    # `pandas.read_csv` would fill short rows with blanks, take the first cells of long rows as an
    # index, and wait for 65,536 rows of a pipe before it returns one.
    # This is the largest C long on Windows.
    csv.field_size_limit(2**31 - 1)
    # Without `strict`, a quote that is never closed would swallow the rest of the file silently.
    mode: Any = csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL
    reader = csv.reader(lines, delimiter=separator, quoting=mode, strict=True)
    number, width = 1, 0
    try:
        for fields in reader:
            is_long = reader.line_num > number and separator == "\t"
            if is_long and any("\t" in field for field in fields):
                warn_user(
                    f"{name}, line {number}: a cell goes on to line {reader.line_num} and holds "
                    f"tabs, as if a quotation mark in a text began it. {_UNQUOTED}"
                )
            width = width or len(fields)
            # Files of spreadsheets often end in blank rows.
            is_blank_row = len(fields) > 1 and not any(fields)
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
            f'separator ({separator!r}) in it, write a quote in it twice (""), and close them. '
            f"{_UNQUOTED}"
        ) from error


def _json_rows(lines: Any, name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if not isinstance(record := json.loads(line), dict):
                raise ValueError(f"a {type(record).__name__}")
        except (ValueError, RecursionError) as error:
            # JSON may also fail at numbers that are too long, or lists that are nested too deep.
            raise ValueError(
                f"{name}, line {number} is not a JSON object: {error}. Write one whole object on "
                """each line, as in {"text": "All well.", "label": "praise"}."""
            ) from error
        yield number, record


def _excel_rows(stream: Any, name: str, sheet: str | None) -> tuple[Any, str, str]:
    """Return the rows of a sheet, by default the first, its name, and a name for messages."""
    import pandas as pd

    try:
        book = pd.ExcelFile(stream, engine="openpyxl")
        sheets = book.sheet_names
        if sheet is not None and sheet not in sheets:
            raise LookupError(f"{name} has no sheet {sheet!r}. It has {listed(sheets, 20)}.")
        sheet = sheets[0] if sheet is None else sheet
        options: Any = {"header": None, "dtype": object, "na_filter": False}
        cells = pd.read_excel(book, sheet, **options).to_numpy().tolist()
    except ImportError as error:
        raise ImportError(f'{name} needs openpyxl: pip install "sk-han[excel]".') from error
    # pandas reads an error of Excel, such as #N/A, as NaN, which differs from itself.
    rows = ([None if cell != cell else cell for cell in row] for row in cells)
    numbered = (
        (number, row if number > 1 else [*map(str, row)])
        for number, row in enumerate(rows, start=1)
        if any(cell not in ("", None) for cell in row)
    )
    if others := [other for other in sheets if other != sheet]:
        name += f", sheet {sheet!r} (--sheet, or sheet=, names another: {listed(others)}),"
    return numbered, sheet, name


def _check_blank_cells(
    frame: DataFrame, columns: Sequence[str], stream: Any, name: str, sheet: str | None
) -> None:
    """Raise a ValueError for cells that only look blank: merged cells, formulas without a value."""
    blank = [(column, row) for column in columns for row in frame.index[frame[column] == ""]]
    if blank:
        stream.seek(0)
        cells = import_module("openpyxl").load_workbook(stream)[sheet]
    for column, row in blank:
        cell = cells.cell(row, frame.columns.get_loc(column) + 1)
        merged = [str(r) for r in cells.merged_cells.ranges if cell.coordinate in r]
        if merged or cell.data_type == "f":
            fault = "a formula without a value. Open the file in a spreadsheet, and save it there"
            if merged:
                fault = f"merged with others, {merged[0]}. Write its value into each cell"
            raise ValueError(f"{name}, row {row}: {column!r} is {fault}.")


def _check_columns(columns: Sequence[str], present: Sequence[Any], where: str) -> None:
    """Raise a ValueError unless each column exists exactly once."""
    names = [*map(str, present)]
    for column in columns:
        if (n := names.count(column)) == 1:
            continue
        if n > 1:
            raise ValueError(f"{where} has {n} columns {column!r}; rename one.")
        hint = nearest_name(column, names)
        if any(len(name) > 40 or name.isdecimal() for name in names):
            hint = hint or " Is the first line a document? It should name the columns."
        if {*column.split(",")} <= {*names}:
            hint = (
                " The command line reads labels of one column; in Python give frame[columns] as y."
            )
        # These are the default names, so the user may not have chosen a column.
        if column in ("text", "label"):
            keep = ", or by --keep if that names it" * (column == "label")
            hint += f" Name another by {column}, on the command line by --{column}{keep}."
        if len(names) == 1 and (other := re.search(r"[\t;|,]", names[0])):
            hint = (
                f" The columns seem to be separated by {other[0]!r}: in a .csv file it is a comma, "
                "in a .tsv file a tab. Or give the separator, on the command line by --sep."
            )
        shown = ", ".join(repr(name[:40]) for name in names[:20])
        raise ValueError(f"{where} has no column {column!r}. It has {shown}.{hint}")


def cell_places(frame: DataFrame, column: str) -> list[str]:
    """Return the position of each cell of a column in its table, for messages."""
    where = f"{frame.attrs['name']}, {frame.index.name}"
    return [f"{where} {line}: {column!r}" for line in frame.index]


def to_texts(frame: DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the texts of a table; several columns of text are joined by a blank line."""
    for column in columns:
        for cell, place in zip(frame[column], cell_places(frame, column), strict=True):
            if is_missing(cell) or isinstance(cell, (list, dict)):
                raise ValueError(
                    f"{place} is {cell!r:.40}, and not a text. Leave the line out or correct it."
                )
    return ["\n\n".join(map(str, cells)) for cells in frame[[*columns]].to_numpy().tolist()]


def to_labels(frame: DataFrame, column: str) -> NDArray[Any]:
    """Return the labels of a table's rows: strings, whole numbers or booleans."""
    places, typed = cell_places(frame, column), frame.attrs["kind"] == ".jsonl"
    if "answer" in frame and (frame["answer"] == "reject").any():
        warn_user(
            "Some rows have the answer 'reject', which marks wrong labels in exports of Prodigy. "
            "Take only the rows whose answer is 'accept'."
        )
    return table_labels(frame[column].tolist(), places.__getitem__, typed=typed)


def to_numbers(
    frame: DataFrame, column: str, decimal: str | None
) -> tuple[NDArray[np.float64], str | None]:
    """Return the numbers of a table's rows, (D,), and their mark of decimals."""
    places = cell_places(frame, column)
    return read_numbers(frame[column].tolist(), decimal, places.__getitem__)


def load_csv(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    number: str | None = None,
    decimal: str | None = None,
    sep: str | None = None,
    encoding: str = "utf-8",
    quoting: str = "minimal",
    sheet: str | None = None,
) -> Any:
    r"""Load texts and their labels or numbers from a table: CSV, TSV, JSON lines or Excel.

    Parameters
    ----------
    path : str or path-like
        A file named ``.csv``, ``.tsv`` or ``.jsonl``, perhaps with ``.gz``, ``.bz2`` or ``.xz``
        appended, or ``.xlsx``, which needs ``pip install "sk-han[excel]"``. Columns have their
        names in the first row; a JSON lines file has an object on each line.
    text : str or list of str, default="text"
        Name of the column, or key, of the texts. Several columns, such as title and body, are
        joined in this order with a blank line between them, where a sentence ends.
    label : str or None, default="label"
        Name of the column, or key, of the labels. Rows without a label are left out with a
        warning: a cell that is blank, an error of a spreadsheet, null or an empty list. None loads
        the texts alone.
    number : str or None, default=None
        Name of the column, or key, of numbers that are loaded in place of labels, such as
        ``"€ 1.250,00"`` or ``"12.5"``. Rows whose cell is blank, an error of a spreadsheet or
        ``"n/a"`` are left out with a warning.
    decimal : {".", ","} or None, default=None
        The mark of decimals in `number`. None takes the one that all cells have, and refuses a
        column such as ``"1,250"`` that could have either.
    sep : str or None, default=None
        The character between columns, such as ``";"``. None chooses it by the file's name: a comma
        for ``.csv``, a tab for ``.tsv``. With a separator, the file may have any name.
    encoding : str, default="utf-8"
        Encoding of the file. A byte order mark is removed. A mark of another encoding is an error,
        and so is UTF-8 that is read as another encoding.
    quoting : {"minimal", "none"}, default="minimal"
        Whether quotation marks may enclose a cell, as in a spreadsheet's CSV, or are text, as in
        many ``.tsv`` files.
    sheet : str or None, default=None
        Name of the sheet of an Excel file; None reads the first.

    Returns
    -------
    texts : list of str, length n_documents
    labels : ndarray of shape (n_documents,)
        Strings, integers or booleans. In CSV and Excel they are integers if all are whole numbers
        (``"1.0"`` is 1, ``"007"`` a name), booleans if all are true or false; in JSON lines they
        have their type. A list of one label is this label. With `number` they are float64. Not
        returned if `label` is None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError
        If `text` is not a name or a list of names, or labels of JSON lines differ in type.
    ValueError
        If the file has another extension, no document, or lacks a column, or if a line is invalid,
        or a cell of `number` is not a number. The message names the line and the likely repair.

    Notes
    -----
    Other columns are ignored, and documents may have any length.

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
    if number is not None and label not in ("label", None):
        raise ValueError(f"label is {label!r} and number is {number!r}; give one of them.")
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    label = label if number is None else number
    needed = columns if label is None else [*columns, label]
    table, are_numbers = Path(path), number is not None
    options: dict[str, Any] = {"sep": sep, "quoting": quoting, "encoding": encoding}
    options |= {"label": label, "sheet": sheet, "kind": table_kind(table)}
    (frame,) = read_frames(table, needed, are_numbers=are_numbers, **options)
    texts = to_texts(frame, columns)
    if number is not None:
        return texts, to_numbers(frame, number, decimal)[0]
    return texts if label is None else (texts, to_labels(frame, label))
