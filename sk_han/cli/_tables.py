"""Tables of the command line: reading texts and labels, writing results."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray

from sk_han._targets import AnyOfLabels, Target
from sk_han._utils.containers import listed
from sk_han._utils.files import check_replaceable, csv_line, replacing
from sk_han._utils.messages import import_optional, in_one_line, plural
from sk_han._utils.progress import duration, tell
from sk_han._validation.labels import ClassNames, label_array, labels_in, warn_of_joined
from sk_han.cli._program import STANDARD, UsageError
from sk_han.datasets._tables import (
    cell_places,
    read_frames,
    table_kind,
    to_labels,
    to_texts,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han.serving import Scorer

# The endings that each kind of output may have. Other endings in `_PROMISES` would promise a format
# that is not written; an ending that is not listed promises nothing.
_ENDINGS = {"table": [".csv", ".tsv", ".txt", ".xlsx"], "page": [".html", ".htm"], "CSV": [".csv"]}
_PROMISES = [*_ENDINGS["table"], *_ENDINGS["page"], ".json", ".jsonl"]
_PROMISES += [".pdf", ".png", ".xls"]


def check_files(
    inputs: Sequence[str | None], output: str | None, *, kind: str = "page", force: bool = False
) -> None:
    """Raise an error, before any work, if the names of inputs and output contradict each other."""
    names = [name for name in inputs if name is not None]
    if names.count(STANDARD) > 1:
        raise UsageError("standard input (-) can be read once only; give a file for the others.")
    if output in (None, STANDARD):
        return
    output = str(output)
    for name in names:
        if name != STANDARD and os.path.realpath(name) == os.path.realpath(output):
            raise UsageError(f"{output} is read; write to another file.")
    ending = os.path.splitext(output.lower().removesuffix(".gz"))[1]
    if ending in _PROMISES and ending not in _ENDINGS.get(kind, _PROMISES):
        raise UsageError(f"a {kind} is written; name it {_ENDINGS[kind][0]}: {output}.")
    check_replaceable(output, None if force else "--force", by_model=kind == "model")


# The default separator of several labels in a cell.
_SEPARATOR = ";"

# The options for reading a table, by their names in a saved model, with their defaults.
_OPTIONS: dict[str, Any] = {"text": ["text"], "label": "label", "sep": None, "encoding": "utf-8"}
_OPTIONS |= {"separator": None, "decimal": None}


def complete(arguments: argparse.Namespace, stored: Mapping[str, Any] | None = None) -> None:
    """Complete the options for reading tables with those of a saved model, or the defaults."""
    adopted, column = [], "label"
    arguments.number = getattr(arguments, "number", None)
    if arguments.number is not None:
        for option in ("label", "separator", "ordered", "order"):
            if getattr(arguments, option):
                raise UsageError(f"--{option} is for labels; leave it out, or --number.")
        arguments.label, column = arguments.number, "number"
    for option, default in _OPTIONS.items():
        # explain reads labels only on request. JSON is always in UTF-8 and .tsv has tabs, so these
        # do not depend on the training table.
        if getattr(arguments, option, "") is None and (arguments.command, option) != _OPTIONAL:
            is_other = _kind(arguments.data, arguments) == _OF_KIND.get(option)
            value = default if stored is None or is_other else stored[option]
            setattr(arguments, option, value)
            values = value if isinstance(value, list) else [value]
            # Only options that differ from those of most tables are reported.
            is_usual = value in (default, ".")
            adopted += [f"--{option} {in_one_line(item)!r}" for item in values if not is_usual]
    if getattr(arguments, "separator", None) is not None:
        names = {"": _SEPARATOR, r"\n": "\n", r"\t": "\t"}
        arguments.separator = names.get(arguments.separator, arguments.separator)
    arguments.sep = "\t" if arguments.sep in ("tab", r"\t") else arguments.sep
    if getattr(arguments, "label", None) in arguments.text:
        raise UsageError(f"{arguments.label!r} is both --text and --{column}; give another one.")
    if adopted:
        fitted = f"{in_one_line(arguments.model)} was fitted to a table with {' '.join(adopted)}"
        tell(f"{fitted}: taken here, too.", quiet=arguments.quiet)


_OPTIONAL = "explain", "label"
# The options that a kind of table determines.
_OF_KIND = {"encoding": ".jsonl", "sep": ".tsv"}


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options by which the training table was read, to be saved with the model."""
    return {option: getattr(arguments, option) for option in _OPTIONS}


def complete_by_model(arguments: argparse.Namespace, scorer: Scorer) -> None:
    """Complete the options by those of a saved model, and by its columns of texts if several."""
    part = scorer.model_.pool.columns
    texts = [] if part is None else [*part.encoder.text_columns]
    if len(texts) > 1:
        if arguments.text not in (None, texts):
            raise UsageError(f"The model reads the texts {listed(texts)}; leave --text out.")
        arguments.text = texts
    complete(arguments, scorer.table)


def _kind(name: str, arguments: argparse.Namespace) -> str:
    """Return the kind of a table or of standard input as a file ending, such as ".csv"."""
    return table_kind(Path(name)) if name != STANDARD else ".jsonl" if arguments.jsonl else ".csv"


def frames(
    name: str,
    arguments: argparse.Namespace,
    columns: Sequence[str | None] = (),
    features: Sequence[str] | None = None,
    size: int | None = None,
    rest: list[DataFrame] | None = None,
) -> Iterator[DataFrame]:
    """Yield the rows of a table or of standard input, in frames of `size` rows, read on demand.

    If the columns include that of single labels, rows without a label are appended to `rest`
    instead; explain refuses them. The text column may have another name than in `features`. The
    index holds the line of each row and, with --keep, the name of the document.
    """
    import pandas as pd

    if name == STANDARD and sys.stdin is None:
        raise OSError("standard input is closed; give a file.")
    kept = getattr(arguments, "keep", None) if name == arguments.data else None
    kept = [kept] if isinstance(kept, str) else kept or []
    kind = _kind(name, arguments)
    is_second_json = kind == ".jsonl" and name != arguments.data
    label = getattr(arguments, "label", None)
    if label not in columns or arguments.separator is not None or arguments.command == "explain":
        label = None
    for frame in read_frames(
        Path(name) if name != STANDARD else cast(Any, sys.stdin.buffer),
        [*arguments.text, *filter(None, columns), *kept],
        [name for name in ([] if features is None else features[1:]) if name not in arguments.text],
        label=label,
        are_numbers=arguments.number is not None,
        rest=rest,
        size=size,
        sep=arguments.sep,
        quoting=arguments.quoting,
        encoding="utf-8" if is_second_json else arguments.encoding,
        sheet=arguments.sheet,
        kind=kind,
    ):
        if kept:
            ids = [f"{line} ({cell_text(cell)[:40]!r})" for line, cell in frame[kept[0]].items()]
            frame = frame.set_index(pd.Index(ids, name=frame.index.name))
        yield frame


def select_documents(
    frame: DataFrame, features: Sequence[str] | None, arguments: argparse.Namespace
) -> Any:
    """Select the texts or, for a model of columns, a frame of the text column and the others."""
    n_texts = len(arguments.text)
    if n_texts > 1 and features is not None and [*features[:n_texts]] == arguments.text:
        return frame[[*features]]  # the model joins them
    texts = to_texts(frame, arguments.text)
    if features is None:
        return texts
    documents = frame[[*features[1:]]]
    documents.insert(0, features[0], texts)
    return documents


def kept_ids(frame: DataFrame, arguments: argparse.Namespace) -> list[str] | None:
    """Return the names of documents in the column of --keep, or None without it."""
    return None if arguments.keep is None else frame[arguments.keep].map(cell_text).tolist()


def cell_text(value: Any) -> str:
    """Format a value of a table as a cell of CSV."""
    if isinstance(value, (list, dict, bool)):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def write_result(
    result: Any, done: str, outcome: str, started: float, arguments: argparse.Namespace
) -> None:
    """Write a result as an HTML page or as text, and report what was done and its outcome."""
    with writing(arguments.output) as file:
        file.write(f"{result}\n" if arguments.output is None else result.to_html())
    done += f" in {duration(time.monotonic() - started)}. {outcome}"
    tell(done, quiet=arguments.quiet)


@contextmanager
def writing_rows(
    path: str | None, separator: str | None, encoding: str
) -> Iterator[Callable[[Iterable[Sequence[Any]]], None]]:
    """Open a table for writing; the context is a function that writes rows."""
    if not str(path).lower().endswith(".xlsx"):
        if str(path).lower().removesuffix(".gz").endswith(".tsv"):
            separator = "\t"
        with writing(path, encoding) as file:

            def write(rows: Iterable[Sequence[Any]]) -> None:
                file.writelines(csv_line(map(cell_text, row), separator or ",") for row in rows)
                file.flush()

            yield write
        return
    import_optional("openpyxl", "excel", f"Writing {path}")
    import pandas as pd

    sheet: list[Sequence[Any]] = []
    with replacing(str(path)) as binary:
        yield sheet.extend
        cells = pd.DataFrame(sheet, dtype=object).map(_excel_cell)
        # If a write failed, the ZipFile of the workbook would later write to the closed file.
        workbook = io.BytesIO()
        with pd.ExcelWriter(workbook, engine="openpyxl") as book:
            cells.to_excel(book, index=False, header=False)
            for cell in chain(*book.book.active.iter_rows()):
                # A text that begins with "=" would become a formula, which Excel executes.
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type
        binary.write(workbook.getvalue())


def _excel_cell(cell: Any) -> Any:
    """Return a cell in which "?" replaces the characters that Excel cannot store."""
    if isinstance(cell, (bool, int, float, date)):
        return cell
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\uffff]", "?", cell_text(cell))
    if len(text) > 32_767:
        raise ValueError(f"{in_one_line(text, 40)!r} is too long for Excel. Write a .csv instead.")
    return text


@contextmanager
def writing(path: str | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open the output: standard output in UTF-8, or a file that appears once it is complete.

    Characters that the encoding lacks become question marks; UTF-8 lacks lone surrogates, which
    JSON lines may hold.
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
        is_compressed = path.lower().endswith(".gz")
        binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else file
        text = io.TextIOWrapper(cast(Any, binary), encoding, "replace", newline="")
        try:
            yield text
        finally:
            text.detach()
            if is_compressed:
                binary.close()


@dataclass(frozen=True)
class LabelSets:
    """Converts between cells of several labels and label numbers or indicators."""

    classes: ClassNames
    separator: str

    def __post_init__(self) -> None:
        for name in self.classes.names:
            _check_whole(name, self.separator)

    def numbers(self, cell: Any, where: str) -> list[int]:
        """Return the numbers of the labels in a cell."""
        names = labels_in(cell, self.separator, where)
        for name in names:
            _check_whole(name, self.separator, f"{where}: ")
        return [self.classes.lookup(name, where) for name in names]

    def indicator(self, numbers: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Return the indicator of sets of label numbers, (D, L)."""
        t = np.zeros((len(numbers), len(self.classes.names)), dtype=bool)
        for row, labels in zip(t, numbers, strict=True):
            row[list(labels)] = True
        return t

    def frame(self, numbers: Sequence[Sequence[int]]) -> DataFrame:
        """Return the indicator as a frame whose columns are named by labels."""
        import pandas as pd

        return pd.DataFrame(self.indicator(numbers), columns=self.classes.labels)

    def format(self, row: NDArray[np.bool_]) -> str:
        """Format the labels of a document, a row of the indicator, as a cell."""
        return self.separator.join(self.classes.names[number] for number in np.flatnonzero(row))


def label_sets(target: Target, arguments: argparse.Namespace) -> LabelSets | None:
    """Return the format of several labels; None for a model of one label per document."""
    if isinstance(target, AnyOfLabels):
        arguments.separator = arguments.separator or _SEPARATOR
        return LabelSets(ClassNames(target.names.tolist()), arguments.separator)
    if arguments.separator is not None:
        raise UsageError(
            "--separator is for models of several labels per document, and this one gives each "
            "document one of its classes. Leave it out, or fit a model with --separator."
        )
    return None


def label_names(frame: DataFrame, arguments: argparse.Namespace) -> list[Any]:
    """Return the distinct labels of a table whose documents have several labels."""
    separator, column = arguments.separator, arguments.label
    pairs = zip(frame[column], cell_places(frame, column), strict=True)
    of_cells = [labels_in(cell, separator, where) for cell, where in pairs]
    texts = sorted(set().union(*of_cells))
    names: list[Any] = sorted(label_array(texts).tolist())
    if len(names) < 2 or all(len(labels) == 1 for labels in of_cells):
        warn_of_joined(texts)
        raise ValueError(
            f"{frame.attrs['name']}: {column!r} has {plural(len(names), 'label')}, and no cell "
            f"has several between separators {separator!r}. Give another --separator, the one "
            "between columns as --sep, or leave it out for a single label per document."
        )
    return names


def encode_cells(
    frame: DataFrame, arguments: argparse.Namespace, classes: ClassNames, sets: LabelSets | None
) -> list[Any]:
    """Encode the label column: the number of each row's class, or the numbers of its labels."""
    column = arguments.label
    if sets is None:
        cells, encode = to_labels(frame, column).tolist(), cast(Any, classes.lookup)
    else:
        cells, encode = frame[column].tolist(), sets.numbers
    return [encode(*pair) for pair in zip(cells, cell_places(frame, column), strict=True)]


def _check_whole(label: str, separator: str, where: str = "") -> None:
    if separator in label:
        raise ValueError(
            f"{where}the label {label!r} holds the separator {separator!r}; give another one by "
            "--separator."
        )
