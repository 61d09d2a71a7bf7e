"""fit and audit: learn from a table; store the model, or say which labels are likely wrong."""

from __future__ import annotations

import argparse
import ast
import os
import time
import warnings
from typing import Any

import numpy as np

from sk_han.cli.program import STANDARD, UsageError
from sk_han.cli.tables import (
    LabelColumns,
    cell_of,
    check_files,
    check_is_csv,
    documents_of,
    ids_of,
    is_json_table,
    needing_torch,
    read_labelled,
    records,
    separator_of,
    typed,
    warn_of_joined,
    where_of,
    write_result,
    writing,
)
from sk_han.datasets.tables import Record, label_array
from sk_han.documents.repeated import first_of_same_text
from sk_han.targets import fit_target
from sk_han.utils.files import csv_line
from sk_han.utils.messages import agreeing, counted, in_one_line, warn_user
from sk_han.utils.progress import duration, tell
from sk_han.validation.labels import ClassNames, named

# Parameters that have an option, or need Python.
_ELSEWHERE = {
    "callbacks": "They need Python.",
    "columns": "Use --columns.",
    "random_state": "Use --seed.",
    "text_column": "Use --text and --columns.",
    "tokenizer": "Set its parameters: --set tokenizer__tokens=web.",
    "verbose": "Use --quiet.",
}


def fit(arguments: argparse.Namespace) -> None:
    """Fit a HANClassifier to the documents of a table, and save it."""
    if arguments.output == STANDARD:
        raise UsageError("a model goes to a file, not to standard output.")
    tables = [arguments.data, arguments.validation, arguments.unlabelled]
    check_files(tables, arguments.output, kind="model", force=arguments.force)
    share = _share_held_out(arguments)
    quiet, started = arguments.quiet, time.monotonic()
    model = _classifier(arguments)
    found, labels = _labelled(arguments.data, arguments)
    names = labels.columns if isinstance(labels, LabelColumns) else np.unique(labels).tolist()
    if share is not None:
        found, labels = _without_held_out(found, labels, share, arguments)
    more: dict[str, Any] = {}
    columns = arguments.columns
    text = arguments.text[0] if arguments.text else "text"
    of_table = None if columns is None else [text, *columns]
    if columns is not None:
        model.set_params(text_column=text, columns=columns)
    if arguments.validation is not None:
        validation, more["y_val"] = _labelled(arguments.validation, arguments, names)
        more["X_val"] = documents_of(validation, of_table, arguments.validation)
    if arguments.unlabelled is not None:
        unlabelled = records(arguments.unlabelled, arguments)
        more["X_unlabelled"] = (record.text for record in unlabelled)
    documents: Any = documents_of(found, of_table, arguments.data)
    if of_table is not None:
        cells = {name: [row[name] for row in documents] for name in of_table}
        documents = {name: typed(cells[name]) if name != text else cells[name] for name in cells}
    model.fit(documents, labels, **more)
    model.set_params(verbose=0)  # who loads the file has not asked for a bar

    from sk_han import save

    save(model, arguments.output, overwrite=arguments.force)
    size = os.path.getsize(arguments.output) / 1e6
    seconds = duration(time.monotonic() - started)
    tell(f"Saved {in_one_line(arguments.output)}, {size:.1f} MB, after {seconds}.", quiet=quiet)


def _share_held_out(arguments: argparse.Namespace) -> float | None:
    """Return the share of documents that is held out, checked with the tables of both parts."""
    given = arguments.hold_out
    if given is None:
        return None
    tables = [arguments.data, arguments.validation, arguments.unlabelled]
    for part in _parts_of(arguments):
        check_files(tables, part, kind="table", force=arguments.force)
    try:
        share = float(given)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"--hold-out takes a share between 0 and 1, such as 0.2; got {given!r}.")
    return share


def _parts_of(arguments: argparse.Namespace) -> list[str]:
    """Return the tables of the documents that are learnt from, and of those held out."""
    stem = os.path.splitext(arguments.output)[0]
    return [f"{stem}.train.csv", f"{stem}.test.csv"]


def _without_held_out(
    found: list[Record], labels: Any, share: float, arguments: argparse.Namespace
) -> tuple[list[Record], Any]:
    """Write both parts of the documents, with all their columns; return those to learn from."""
    parts, texts = _parts_of(arguments), [record.text for record in found]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit will tell of them
        target, encoded = fit_target(labels, len(texts))
    groups = first_of_same_text(texts)
    random_state = np.random.RandomState(arguments.seed)
    rows, held_out = target.hold_out(encoded, share, random_state, groups)
    if held_out is None:
        few = f"{agreeing(len(texts), 'are')} too few to hold some of each label out"
        if share > 0.5:
            few = f"{agreeing(len(texts), 'leave')} too few of some label to learn from"
        raise ValueError(f"{share:g} of {counted(len(texts))} {few}.")
    rows = np.sort(rows)
    for table, part in zip(parts, (rows, np.sort(held_out)), strict=True):
        written = [
            {name: cell_of(value) for name, value in found[i].row.items()}
            | {arguments.label: _cell(labels, i, arguments)}
            for i in part.tolist()
        ]
        columns = dict.fromkeys(name for row in written for name in row)  # of JSON, each its own
        cells = [columns, *([row.get(name, "") for name in columns] for row in written)]
        delimiter = separator_of(arguments) or ","  # the same options read it
        with writing(table, arguments.encoding) as file:
            file.writelines(csv_line(line, delimiter) for line in cells)
    train, test = map(in_one_line, parts)
    told = f"Held {counted(len(held_out))} out, in {test}; the {len(rows):,} others are in {train}."
    tell(told, quiet=arguments.quiet)
    return [found[row] for row in rows.tolist()], labels[rows]


def _cell(labels: Any, row: int, arguments: argparse.Namespace) -> str:
    """Return the label of a document, or all its labels, as a table has it."""
    if not isinstance(labels, LabelColumns):
        return named(labels[row].item())
    has = np.flatnonzero(labels.values[row])
    return str(arguments.separator).join(named(labels.columns[i]) for i in has.tolist())


def audit(arguments: argparse.Namespace) -> None:
    """Write which labels of a table are likely wrong, as an HTML page or as text."""
    check_files([arguments.data], arguments.output, force=arguments.force)
    if arguments.csv is not None:
        check_is_csv(arguments.csv, "--csv")
        check_files([arguments.data], arguments.csv, kind="table", force=arguments.force)
    started = time.monotonic()
    model = _classifier(arguments).set_params(verbose=0)
    documents, labels = _labelled(arguments.data, arguments)

    from sk_han import audit_labels

    texts, verbose = [record.text for record in documents], 0 if arguments.quiet else 1
    ids = ids_of(documents, arguments)
    found = audit_labels(model, texts, labels, ids=ids, verbose=verbose)
    if arguments.csv is not None:
        found.to_csv(arguments.csv)
    result = f"Labels expected to be wrong: {found.n_expected():,.0f}."
    write_result(found, f"Audited {counted(len(documents))}", result, started, arguments)


def _labelled(
    name: str, arguments: argparse.Namespace, names: list[Any] | None = None
) -> tuple[list[Record], Any]:
    """Return documents, and a label of each or an indicator; with names, of these labels."""
    if arguments.separator is not None:
        return read_labelled(name, arguments, names)
    found = list(records(name, arguments, arguments.label))
    if names is None:
        given = [record.label for record in found]
        labels = np.array(given) if is_json_table(name, arguments) else label_array(given)
        warn_of_joined(np.unique(labels).tolist())
        if all(record.text.isdecimal() for record in found):
            warn_user(
                f"All texts are numbers, such as {found[0].text!r}: is --text the right column?"
            )
        return found, labels
    classes = ClassNames(names)
    numbers = [classes.checked(each.label, where_of(name, each, arguments)) for each in found]
    return found, np.array(names)[numbers]


def _classifier(arguments: argparse.Namespace) -> Any:
    """Make the classifier that the arguments ask for, which shows how far it is."""
    settings = dict(map(_setting, arguments.settings))
    with needing_torch(arguments.command):
        from sk_han import HANClassifier, HierarchicalTokenizer
    model = HANClassifier(tokenizer=HierarchicalTokenizer(), random_state=arguments.seed)
    try:
        model.set_params(**settings)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from error
    return model.set_params(verbose=0 if arguments.quiet else 1)


def _setting(given: str) -> tuple[str, Any]:
    """Return name and value of a setting: a literal of Python, or else a string."""
    name, equals, text = given.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--set takes name=value, such as max_epochs=5; got {given!r}.")
    if name in _ELSEWHERE:
        raise UsageError(f"--set cannot change {name}. {_ELSEWHERE[name]}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, text
