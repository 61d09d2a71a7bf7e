"""The user's tables on the command line: what is read and written."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from sk_han.cli.arguments import STANDARD, UsageError
from sk_han.datasets.tables import Record, Table, check_separator, is_json_lines, read_records
from sk_han.utils.atomic_write import check_replaceable, replacing
from sk_han.utils.containers import listed
from sk_han.utils.progress import tell

_SHOWN = 20
_IN_A_TABLE = "Correct it, leave the line out, or fit a model to documents of this class, too."


def check_files(inputs: Sequence[str | None], output: str | None) -> None:
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
    check_replaceable(output)


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


def records(
    name: str, arguments: argparse.Namespace, label: str | None = None, others: Sequence[str] = ()
) -> Iterator[Record]:
    """Return the documents of a table, or of standard input, which are read as they are asked."""
    return read_records(_table(name, arguments), arguments.text or ["text"], label, others)


def _table(name: str, arguments: argparse.Namespace) -> Table:
    separator = None if _holds_json_lines(name, arguments) else separator_of(arguments)
    if name != STANDARD:
        return Table.at(Path(name), separator, arguments.encoding)
    if sys.stdin is None:
        raise OSError("standard input is closed; give a file.")
    delimiter = None if arguments.jsonl else separator or ","
    return Table(cast(Any, sys.stdin.buffer), delimiter, "standard input", arguments.encoding)


def _holds_json_lines(name: str, arguments: argparse.Namespace) -> bool:
    return bool(arguments.jsonl) if name == STANDARD else is_json_lines(Path(name))


class ClassNames:
    """The classes of a model, of one type, as tables write them: a table in CSV has only text."""

    def __init__(self, labels: list[Any]) -> None:
        self.labels = labels
        self.names = [named(label) for label in labels]
        values = [_as_number(name) for name in self.names]
        # In CSV numbers are text, too; "007" is none.
        pairs = zip(self.names, values, strict=True)
        are_written = all(_is_nan(name) or str(value) == name for name, value in pairs)
        of_text = are_written and len({*values}) == len(values)
        self._are_numbers = type(labels[0]) in (int, float) or of_text
        self._numbers = {self._value(name): number for number, name in enumerate(self.names)}

    def number(self, label: Any) -> int | None:
        """Return the number of the class with a label, None if there is none.

        "True" of pandas and "true" of JSON are one boolean, "1.0" and "1" one number.
        """
        of_text = self._numbers.get(str(label))  # "True" was text where the model learnt it
        return self._numbers.get(self._value(named(label)), of_text)

    def checked(self, label: Any, where: str, repair: str = _IN_A_TABLE) -> int:
        """Return the number of the class with a label, which stands somewhere in the input."""
        number = self.number(label)
        if number is None:
            known = listed(self.names, _SHOWN, lambda name: repr(name[:40]))
            raise ValueError(
                f"{where}: {named(label)!r} is no class of the model; it has {known}. {repair}"
            )
        return number

    def _value(self, name: str) -> Any:
        """Return what a name is compared by."""
        if type(self.labels[0]) is bool:
            return name.lower()
        number = _as_number(name) if self._are_numbers else None
        return name if number is None else number


def _is_nan(name: str) -> bool:
    return name.strip().lower().lstrip("+-") == "nan"


def _as_number(name: str) -> float | None:
    """Return the number that a name is, as Python writes it; none is NaN, which equals nothing."""
    if name.isascii() and "_" not in name and not _is_nan(name):
        for number in (int, float):
            with suppress(ValueError):
                return number(name)
    return None


def named(label: Any) -> str:
    """Return a label as text, as JSON and CSV write it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def cell_of(value: Any) -> str:
    """Return a value of a table as a cell of CSV."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def where_of(name: str, record: Record, arguments: argparse.Namespace) -> str:
    """Return where the label of a record stands."""
    return f"{name}, line {record.line}: {arguments.label!r}"


def write_result(found: Any, said: str, started: float, arguments: argparse.Namespace) -> None:
    """Write a result as an HTML page or as text, and tell what took so long."""
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    tell(f"{said} in {time.monotonic() - started:.1f} s.", quiet=arguments.quiet)


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
