"""Commands of a stored model, of which suggest and report need PyTorch."""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, TextIO

import numpy as np

from sk_han.cli.arguments import STANDARD, UsageError
from sk_han.cli.several_labels import LabelSets, read_labelled, sets_of, where_of
from sk_han.cli.tables import (
    ClassNames,
    check_files,
    check_page_and_table,
    named,
    records,
    writing,
)
from sk_han.datasets.tables import Record
from sk_han.inspection.results import DocumentExplanation, ExplanationList
from sk_han.serving import Scorer
from sk_han.targets import AnyOfLabels
from sk_han.utils.metrics import figures, label_figures
from sk_han.utils.progress import Progress, tell

_BATCH_SIZE = 256  # documents read, scored and written at once
_PREDICTION = "prediction"
_CLASSES_IN_A_TABLE = 20
_LABEL_WIDTH = 16


def predict(arguments: argparse.Namespace) -> None:
    """Write a row for each document: kept columns, prediction, probabilities."""
    check_files([arguments.model, arguments.data], arguments.output)
    scorer = Scorer.load(arguments.model)
    sets = sets_of(scorer.target, arguments)
    labels = [named(label) for label in scorer.classes_.tolist()]
    of_classes = [f"probability_{label}" for label in labels] if arguments.proba else []
    header = [*arguments.keep, _PREDICTION, *of_classes]
    if len(set(header)) < len(header):
        raise UsageError(f"--keep: two columns of the result have one name: {header}.")
    rows = records(arguments.data, arguments, others=arguments.keep)
    with _progress("Predicted", arguments) as progress, writing(arguments.output) as file:
        writer = csv.writer(file, delimiter=_delimiter(arguments.output), lineterminator="\n")
        for number_of_batch, batch in enumerate(_batches(rows)):
            if number_of_batch == 0:  # a table that cannot be read leaves no header behind
                writer.writerow(header)
            probabilities = scorer.predict_proba([record.text for record in batch])
            if sets is None:
                decided = [labels[number] for number in probabilities.argmax(axis=1)]
            else:
                decided = [sets.written(row) for row in sets.decided(probabilities)]
            for record, label, row in zip(batch, decided, probabilities.tolist(), strict=True):
                kept = [_as_text(value) for value in record.others]
                writer.writerow([*kept, label, *(map(_brief, row) if of_classes else ())])
            file.flush()
            progress.advance(len(batch))


def explain(arguments: argparse.Namespace) -> None:
    """Write explanations of the first documents as an HTML page or as text."""
    check_files([arguments.model, arguments.data], arguments.output)
    scorer = Scorer.load(arguments.model)
    if arguments.label is not None and isinstance(scorer.target, AnyOfLabels):
        raise UsageError("--label marks mistakes of models of one label a document; leave it out.")
    classes = ClassNames(scorer.classes_.tolist())
    asked = {}
    for name in ("target", "against"):
        label = getattr(arguments, name)
        if label is not None:
            number = classes.number(label)
            if number is None:
                raise ValueError(f"--{name}: {classes.no_class(label)}")
            asked[name] = classes.labels[number]
    rows = records(arguments.data, arguments, arguments.label)
    found: list[DocumentExplanation] = []
    y_true: list[Any] = []
    with _progress("Explained", arguments) as progress:
        for batch in _batches(islice(rows, arguments.rows), 16):
            texts = [record.text for record in batch]
            found += scorer.explain(texts, **asked, method=arguments.method)
            if arguments.label is not None:
                numbers = [_number(record, classes, arguments) for record in batch]
                y_true += [classes.labels[number] for number in numbers]
            progress.advance(len(batch))
        explanations = ExplanationList(found, y_true=y_true or None)
        with writing(arguments.output) as file:
            if arguments.output is None:
                file.write(explanations.to_text(max_documents=None) + "\n")
            else:
                file.write(explanations.to_html())


def evaluate(arguments: argparse.Namespace) -> None:
    """Print how well the model predicts the labels of a table."""
    check_files([arguments.model, arguments.data], None)
    scorer = Scorer.load(arguments.model)
    sets = sets_of(scorer.target, arguments)
    if sets is not None:
        _evaluate_sets(scorer, sets, arguments)
        return
    classes = ClassNames(scorer.classes_.tolist())
    probabilities, targets = [], []
    with Progress("Scored", quiet=arguments.quiet) as progress:
        for batch in _batches(records(arguments.data, arguments, arguments.label)):
            targets += [_number(record, classes, arguments) for record in batch]
            probabilities.append(scorer.predict_proba([record.text for record in batch]))
            progress.advance(len(batch))
    found = figures(np.concatenate(probabilities), np.array(targets))
    confusion = found.pop("confusion").tolist()
    with writing(None) as file:
        if arguments.json:
            found |= {"classes": classes.labels, "confusion": confusion}
            file.write(json.dumps(found) + "\n")
            return
        _write_figures(file, found, arguments)
        if len(classes.names) <= _CLASSES_IN_A_TABLE:
            file.write("\n" + _table(classes.names, confusion))
        else:
            n_classes = len(classes.names)
            tell(f"The confusion of {n_classes} classes is in --json.", quiet=arguments.quiet)


def suggest(arguments: argparse.Namespace) -> None:
    """Write which documents to label next, as an HTML page or as text."""
    check_page_and_table([arguments.model, arguments.data, arguments.labelled], arguments)
    model = _loaded(arguments)
    from sk_han import suggest as suggest_from

    started = time.monotonic()
    texts = [record.text for record in records(arguments.data, arguments)]
    labelled = None
    if arguments.labelled is not None:
        labelled = [record.text for record in records(arguments.labelled, arguments)]
    found = suggest_from(
        model, texts, arguments.n, X_labelled=labelled, random_state=arguments.seed
    )
    if arguments.csv is not None:
        found.to_csv(arguments.csv)
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    seconds = time.monotonic() - started
    tell(f"Read {len(texts):,} documents in {seconds:.1f} s.", quiet=arguments.quiet)


def report(arguments: argparse.Namespace) -> None:
    """Write the report of a model on labelled documents, as an HTML page or as text."""
    check_files([arguments.model, arguments.data, arguments.train], arguments.output)
    started = time.monotonic()
    model = _loaded(arguments)
    from sk_han import report as report_on

    target = getattr(model, "steps", [(None, model)])[-1][1].pool_.target
    is_several = sets_of(target, arguments) is not None
    classes = ClassNames(model.classes_.tolist())
    texts, labels = _labelled_texts(arguments.data, classes, arguments, is_several)
    train: tuple[Any, Any] = (None, None)
    if arguments.train is not None:
        train = _labelled_texts(arguments.train, classes, arguments, is_several)
    found = report_on(
        model, texts, labels, X_train=train[0], y_train=train[1], n_mistakes=arguments.mistakes
    )
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    seconds = time.monotonic() - started
    tell(f"Read {found.n_documents:,} documents in {seconds:.1f} s.", quiet=arguments.quiet)


def _loaded(arguments: argparse.Namespace) -> Any:
    """Return the model with its network in PyTorch."""
    try:
        from sk_han import load
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{arguments.command} needs {error.name}, which is not installed: pip install sk-han."
        ) from error
    return load(arguments.model)


def _evaluate_sets(scorer: Scorer, sets: LabelSets, arguments: argparse.Namespace) -> None:
    """Print how well the model predicts the sets of labels of a table."""
    probabilities, numbers = [], []
    with Progress("Scored", quiet=arguments.quiet) as progress:
        for batch in _batches(records(arguments.data, arguments, others=[arguments.label])):
            for record in batch:
                where = where_of(arguments.data, record, arguments)
                numbers.append(sets.numbers(record.others[0], where))
            probabilities.append(scorer.predict_proba([record.text for record in batch]))
            progress.advance(len(batch))
    p = np.concatenate(probabilities)
    found = label_figures(p, sets.decided(p), sets.indicator(numbers))
    by_label = found.pop("by_label")
    with writing(None) as file:
        if arguments.json:
            found["labels"] = [
                {"label": label, **dict(zip(by_label, values, strict=True))}
                for label, *values in zip(sets.classes.labels, *by_label.values(), strict=True)
            ]
            file.write(json.dumps(found) + "\n")
            return
        _write_figures(file, found, arguments)
        shown = [_in_a_cell(name) for name in sets.classes.names]
        width = max(len(name) for name in ["label", *shown])
        heads = "".join(f"{name:>11}" for name in by_label)
        file.write(f"\n{'label':<{width}}{heads}\n")
        for name, *values in zip(shown, *by_label.values(), strict=True):
            cells = (f"{v:,}" if isinstance(v, int) else f"{v:.4f}" for v in values)
            file.write(f"{name:<{width}}{''.join(f'{cell:>11}' for cell in cells)}\n")


def _write_figures(file: TextIO, found: dict[str, Any], arguments: argparse.Namespace) -> None:
    doubt = "If the model has learnt from these documents, the figures say nothing of new ones."
    tell(doubt, quiet=arguments.quiet)
    for name, value in found.items():
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        file.write(f"{name.replace('_', ' '):<18}{shown:>9}\n")


def _labelled_texts(
    name: str, classes: ClassNames, arguments: argparse.Namespace, is_several: bool
) -> tuple[list[str], Any]:
    """Return texts and labels of a table; a label of CSV is text, and a class may be a number."""
    if is_several:
        found, indicator = read_labelled(name, arguments, classes.labels)
        return found, indicator.values
    texts, labels = [], []
    for record in records(name, arguments, arguments.label):
        number = classes.number(record.label)
        if number is None and not isinstance(classes.labels[0], str):
            where = f"{name}, line {record.line}: {arguments.label!r}"
            raise ValueError(f"{where}: {classes.no_class(record.label)}")
        texts.append(record.text)
        labels.append(named(record.label) if number is None else classes.labels[number])
    return texts, labels


def _progress(done: str, arguments: argparse.Namespace) -> Progress:
    to_standard = arguments.output in (None, STANDARD)
    return Progress(done, quiet=arguments.quiet, beside_rows=to_standard)


def _batches(rows: Iterator[Record], size: int = _BATCH_SIZE) -> Iterator[list[Record]]:
    while batch := list(islice(rows, size)):
        yield batch


def _number(record: Record, classes: ClassNames, arguments: argparse.Namespace) -> int:
    """Return the number of a record's class."""
    number = classes.number(record.label)
    if number is None:
        where = where_of(arguments.data, record, arguments)
        raise ValueError(f"{where}: {classes.no_class(record.label)}")
    return number


def _table(labels: list[str], confusion: list[list[int]]) -> str:
    """Return the confusion as plain text: a row for each true class."""
    names = [_in_a_cell(label) for label in labels]
    corner = "true \\ predicted"
    first = max(len(name) for name in [corner, *names])
    widths = [max(len(name), 6) for name in names]
    rows = [names, *([str(count) for count in counts] for counts in confusion)]
    lines = []
    for name, row in zip([corner, *names], rows, strict=True):
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([f"{name:<{first}}", *cells]) + "\n")
    return "".join(lines)


def _in_a_cell(label: str) -> str:
    shown = label if label.isprintable() else repr(label)
    return shown if len(shown) <= _LABEL_WIDTH else shown[: _LABEL_WIDTH - 1] + "…"


def _delimiter(path: str | None) -> str:
    return "\t" if (path or "").lower().removesuffix(".gz").endswith(".tsv") else ","


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _brief(probability: float) -> str:
    return f"{probability:.6g}"
