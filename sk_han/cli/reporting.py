"""report: a page on where a stored model fails."""

from __future__ import annotations

import argparse
import time
from typing import Any

from sk_han.cli.several_labels import read_labelled, sets_of
from sk_han.cli.tables import ClassNames, check_files, named, records, writing
from sk_han.utils.progress import tell


def report(arguments: argparse.Namespace) -> None:
    """Write the report of a model on labelled documents, as an HTML page or as text."""
    check_files([arguments.model, arguments.data, arguments.train], arguments.output)
    try:
        from sk_han import load
        from sk_han import report as report_on
    except ModuleNotFoundError as error:
        raise ImportError(
            f"report needs {error.name}, which is not installed: pip install sk-han."
        ) from error
    started = time.monotonic()
    model = load(arguments.model)
    target = getattr(model, "steps", [(None, model)])[-1][1].pool_.target
    is_several = sets_of(target, arguments) is not None
    classes = ClassNames(model.classes_.tolist())
    texts, labels = _labelled(arguments.data, classes, arguments, is_several)
    train: tuple[Any, Any] = (None, None)
    if arguments.train is not None:
        train = _labelled(arguments.train, classes, arguments, is_several)
    found = report_on(
        model, texts, labels, X_train=train[0], y_train=train[1], n_mistakes=arguments.mistakes
    )
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    seconds = time.monotonic() - started
    tell(f"Read {found.n_documents:,} documents in {seconds:.1f} s.", quiet=arguments.quiet)


def _labelled(
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
