"""Tables of the command line: reading texts and labels, writing results."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from sk_han.cli.program import STANDARD, UsageError
from sk_han.datasets.tables import (
    Record,
    Table,
    check_separator,
    is_json_lines,
    label_array,
    place_of,
    read_records,
)
from sk_han.targets import AnyOfLabels, Target
from sk_han.utils.containers import listed
from sk_han.utils.files import check_replaceable, replacing
from sk_han.utils.messages import counted, warn_user
from sk_han.utils.progress import duration, tell
from sk_han.validation.labels import ClassNames, named

# What the name of an output may end in, of the endings that promise a kind of file.
_ENDINGS = {"table": [".csv", ".tsv", ".txt"], "page": [".html", ".htm"]}
_PROMISES = [*_ENDINGS["table"], *_ENDINGS["page"], ".json", ".jsonl"]
_PROMISES += [".pdf", ".png", ".xls", ".xlsx"]


def check_files(
    inputs: Sequence[str | None], output: str | None, *, kind: str = "page", force: bool = False
) -> None:
    """Raise an error before work begins if files cannot be meant as they are given."""
    given = [name for name in inputs if name is not None]
    if given.count(STANDARD) > 1:
        raise UsageError("standard input (-) can be read once only; give a file for the others.")
    if output in (None, STANDARD):
        return
    output = str(output)
    for name in given:
        if name != STANDARD and os.path.realpath(name) == os.path.realpath(output):
            raise UsageError(f"{output} is read; write to another file.")
    ending = os.path.splitext(output.lower().removesuffix(".gz"))[1]
    if ending in _PROMISES and ending not in _ENDINGS.get(kind, _PROMISES):
        raise UsageError(f"a {kind} is written; name it {_ENDINGS[kind][0]}: {output}.")
    check_replaceable(output, None if force else "--force", by_model=kind == "model")


def check_is_csv(path: str, option: str) -> None:
    """Raise an error if a table with commas would have the name of another kind."""
    if not path.lower().endswith((".csv", ".csv.gz")):
        raise UsageError(f"{option} writes a .csv or .csv.gz; got {path!r}.")


def separator_of(arguments: argparse.Namespace) -> str | None:
    """Return the character between columns that --sep names; None if it is not given."""
    separator = "\t" if arguments.sep in ("tab", r"\t") else arguments.sep
    if separator is not None:
        try:
            check_separator(separator)
        except ValueError as error:
            raise UsageError(f"--sep: {error}") from error
    return None if separator is None else str(separator)


def is_json_table(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a table, or standard input, holds JSON lines."""
    return bool(arguments.jsonl) if name == STANDARD else is_json_lines(Path(name))


def records(
    name: str, arguments: argparse.Namespace, label: str | None = None, others: Sequence[str] = ()
) -> Iterator[Record]:
    """Return the documents of a table, or of standard input, which are read as they are asked."""
    texts = arguments.text or ["text"]
    if getattr(arguments, "label", None) in texts:
        raise UsageError(f"{arguments.label!r} is both --text and --label; give another for one.")
    is_json = is_json_table(name, arguments)
    separator = None if is_json else separator_of(arguments)
    if name != STANDARD:
        table = Table.at(Path(name), separator, arguments.encoding)
    elif sys.stdin is None:
        raise OSError("standard input is closed; give a file.")
    else:
        delimiter = None if is_json else separator or ","
        stream = cast(Any, sys.stdin.buffer)
        table = Table(stream, delimiter, "standard input", arguments.encoding)
    return read_records(table, texts, label, others)


def documents_of(found: Sequence[Record], names: Sequence[str] | None, table: str) -> list[Any]:
    """Return texts or, for a model of columns, rows by the names of the text and the others."""
    if names is None:
        return [record.text for record in found]
    text, *columns = names
    rows = []
    for record in found:
        values, present = [*record.row.values()], [*record.row]
        others = {name: values[place_of(name, present, table)] for name in columns}
        rows.append({text: record.text} | others)
    return rows


def typed(cells: list[Any]) -> list[Any]:
    """Return the strings of a column as numbers, or as dates, if all of them are; None if blank."""
    if all(isinstance(cell, str) for cell in cells):
        for read in (float, date.fromisoformat):
            with suppress(ValueError):
                return [read(cell) if cell.strip() else None for cell in cells]
    return cells


def ids_of(found: Sequence[Record], arguments: argparse.Namespace) -> list[str] | None:
    """Return the cells of the column that names documents; None if there is none."""
    kept = arguments.keep
    if kept is None:
        return None
    rows = [each.row for each in found]
    return [cell_of(row[[*row][place_of(kept, [*row], arguments.data)]]) for row in rows]


def cell_of(value: Any) -> str:
    """Return a value of a table as a cell of CSV."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def where_of(name: str, record: Record, arguments: argparse.Namespace) -> str:
    """Return where the label of a record stands."""
    return f"{name}, line {record.line}: {arguments.label!r}"


def write_result(
    found: Any, done: str, result: str, started: float, arguments: argparse.Namespace
) -> None:
    """Write a result as an HTML page or as text, and tell what was done, and what came out."""
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    done += f" in {duration(time.monotonic() - started)}. {result}"
    tell(done, quiet=arguments.quiet)


@contextmanager
def needing_torch(command: str) -> Iterator[None]:
    """Say how to install what a command needs besides what a stored model does."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{command} needs {error.name}, which is not installed: pip install sk-han."
        ) from error


@contextmanager
def writing(path: str | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open the output: standard output, in UTF-8, or a file that is whole or not there.

    What the encoding lacks, as UTF-8 lacks the lone surrogates that JSON lines may hold, becomes a
    question mark.
    """
    if path in (None, STANDARD):
        if sys.stdout is None:
            raise OSError("standard output is closed; give a file by -o.")
        if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
            sys.stdout.reconfigure(encoding="utf-8", newline="", errors="replace")
        yield sys.stdout
        return
    path = str(path)
    with replacing(path) as file:
        if path.lower().endswith(".gz"):
            compressed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
            with io.TextIOWrapper(cast(Any, compressed), encoding, "replace", newline="") as text:
                yield text
            return
        text = io.TextIOWrapper(file, encoding, "replace", newline="")
        try:
            yield text
        finally:
            text.detach()


_SEPARATOR = ";"  # of a model of several labels, if none is given


@dataclass(frozen=True)
class LabelColumns:
    """An indicator with names, as `fit` takes it of a DataFrame; pandas is no dependency."""

    columns: list[Any]
    values: NDArray[np.bool_]  # (D, L)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (D, L)."""
        return self.values.shape

    def to_numpy(self) -> NDArray[np.bool_]:
        """Return the values."""
        return self.values

    def __getitem__(self, rows: NDArray[np.int64]) -> LabelColumns:
        return LabelColumns(self.columns, self.values[rows])


@dataclass(frozen=True)
class LabelSets:
    """How the sets of a model's labels are read from cells and written into them."""

    classes: ClassNames
    separator: str

    def __post_init__(self) -> None:
        for name in self.classes.names:
            _check_whole(name, self.separator)
            if not name.strip():
                raise ValueError(f"the label {name!r} is blank, and a blank cell has no label.")

    def numbers(self, cell: Any, where: str) -> list[int]:
        """Return the numbers of the labels of a cell."""
        labels = _labels_of(self.separator, cell, where, self._as_named)
        for label in labels:
            joined = None if label in self._as_named else _joined_by(label, self._as_named)
            if joined is not None:
                raise ValueError(
                    f"{where}: {label[:40]!r} is not a label of the model, but {listed(joined[1])} "
                    f"are. Give --separator {joined[0]!r}."
                )
        return [self.classes.checked(label, where) for label in labels]

    @cached_property
    def _as_named(self) -> dict[str, str]:
        """The name of each label with and without blanks around it."""
        names = self.classes.names
        return {name.strip(): name for name in names} | {name: name for name in names}

    def indicator(self, numbers: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Return a row for each set of numbers, (D, L)."""
        t = np.zeros((len(numbers), len(self.classes.names)), dtype=bool)
        for row, of_document in zip(t, numbers, strict=True):
            row[list(of_document)] = True
        return t

    def written(self, row: NDArray[np.bool_]) -> str:
        """Return the labels of a document as a cell."""
        return self.separator.join(self.classes.names[number] for number in np.flatnonzero(row))


def sets_of(target: Target, arguments: argparse.Namespace) -> LabelSets | None:
    """Return how sets of labels are written; None for a model of one label a document."""
    given = arguments.separator
    if isinstance(target, AnyOfLabels):
        return LabelSets(ClassNames(target.names.tolist()), _label_separator(given))
    if given is not None:
        raise UsageError(
            "--separator is for models of several labels a document, and this one gives each "
            "document one of its classes. Leave it out, or fit a model with --separator."
        )
    return None


def _label_separator(given: str | None) -> str:
    """Return a separator of labels that is not empty."""
    separator = _SEPARATOR if given is None else given
    if not separator:
        raise UsageError(f"--separator stands between labels, such as ';'; got {separator!r}.")
    return separator


def _labels_of(
    separator: str, cell: Any, where: str, known: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return the labels of a cell: none of an empty one, those of a list of JSON.

    Blanks around a label of a cell do not count, but for a known label that has some.
    """
    if cell is None:
        return []
    if isinstance(cell, str):
        parts = [part if part in known else part.strip() for part in cell.split(separator)]
        return [known.get(part, part) for part in parts if part]
    values = cell if isinstance(cell, list) else [cell]
    if not all(type(value) in (str, int, bool) for value in values):
        raise ValueError(f"{where} holds {cell!r}; labels are a string, or a list of strings.")
    names = [named(value) for value in values]
    for name in names:
        _check_whole(name, separator, f"{where}: ")
    return names


def read_labelled(
    name: str, arguments: argparse.Namespace, names: list[Any] | None = None, *, grows: bool = False
) -> tuple[list[Record], LabelColumns]:
    """Return the documents of a table and the indicator of their labels: those named, or all.

    With `grows` labels that are not named come behind those that are.
    """
    separator = _label_separator(arguments.separator)
    found = list(records(name, arguments, others=[arguments.label]))
    cells = [record.others[0] for record in found]
    places = [where_of(name, record, arguments) for record in found]
    if names is None:
        pairs = zip(cells, places, strict=True)
        of_cells = [_labels_of(separator, *pair) for pair in pairs]
        names = sorted(label_array([*set().union(*of_cells)]).tolist())
        warn_of_joined(names)
        if len(names) < 2 or all(len(labels) == 1 for labels in of_cells):
            raise ValueError(
                f"{name}: {arguments.label!r} has {counted(len(names), 'label')}, and no cell has "
                f"several between separators {separator!r}. Is another separator meant, that "
                "between columns, --sep, or a single label a document, without --separator?"
            )
    sets = LabelSets(ClassNames(names), separator)
    sets.classes.grows = grows
    numbers = [sets.numbers(cell, place) for cell, place in zip(cells, places, strict=True)]
    return found, LabelColumns(sets.classes.labels, sets.indicator(numbers))


def warn_of_joined(names: Sequence[Any]) -> None:
    """Warn of a label that is others in one cell, joined by a separator that was not given."""
    known = set(map(named, names))
    for name in sorted(known):
        if joined := _joined_by(name, known):
            warn_user(
                f"{name[:40]!r} is taken for one label, and {listed(joined[1])} are labels too. If "
                f"these are several labels of a document, give --separator {joined[0]!r}."
            )
            return


def _joined_by(name: str, known: Collection[str]) -> tuple[str, list[str]] | None:
    """Return a separator at which a name consists of known labels, and these."""
    for separator in ";|,\t ":
        parts = [part.strip() for part in name.split(separator)]
        if len(parts) > 1 and all(part in known for part in parts):
            return separator, parts
    return None


def _check_whole(label: str, separator: str, where: str = "") -> None:
    if separator in label:
        raise ValueError(
            f"{where}the label {label!r} holds the separator {separator!r}; give another one by "
            "--separator."
        )
