"""fit and audit: learn from a table; store the model, or say which labels are likely wrong."""

from __future__ import annotations

import argparse
import ast
import os
import time
from typing import Any

import numpy as np

from sk_han.cli.arguments import STANDARD, UsageError
from sk_han.cli.several_labels import LabelColumns, read_labelled
from sk_han.cli.tables import check_files, records, writing
from sk_han.utils.progress import tell
from sk_han.utils.visible_text import in_one_line

# Parameters that have an option, or need Python.
_ELSEWHERE = {
    "callbacks": "They need Python.",
    "random_state": "Use --seed.",
    "tokenizer": "Set its parameters: --set tokenizer__tokens=web.",
    "verbose": "Use --quiet.",
}


def fit(arguments: argparse.Namespace) -> None:
    """Fit a HANClassifier to the documents of a table, and save it."""
    if arguments.output == STANDARD:
        raise UsageError("a model goes to a file, not to standard output.")
    tables = [arguments.data, arguments.validation, arguments.unlabelled]
    check_files(tables, arguments.output)
    settings = dict(_setting(given) for given in arguments.settings)
    quiet, started = arguments.quiet, time.monotonic()
    model = _classifier(settings, arguments)
    texts, labels = _labelled(arguments.data, arguments)
    several = isinstance(labels, LabelColumns)
    names = labels.columns if several else np.unique(labels).tolist()
    kind = "labels" if several else "classes"
    tell(f"Read {len(texts):,} documents of {len(names)} {kind}.", quiet=quiet)
    more: dict[str, Any] = {}
    if arguments.validation is not None:
        more["X_val"], more["y_val"] = _labelled(arguments.validation, arguments, names)
    if arguments.unlabelled is not None:
        unlabelled = records(arguments.unlabelled, arguments)
        more["X_unlabelled"] = (record.text for record in unlabelled)
    model.fit(texts, labels, **more)
    model.set_params(verbose=0)  # who loads the file has not asked for a bar

    from sk_han import save

    save(model, arguments.output)
    size = os.path.getsize(arguments.output) / 1e6
    seconds = time.monotonic() - started
    tell(
        f"Saved {in_one_line(arguments.output)}, {size:.1f} MB, after {seconds:.1f} s.", quiet=quiet
    )


def audit(arguments: argparse.Namespace) -> None:
    """Write which labels of a table are likely wrong, as an HTML page or as text."""
    check_files([arguments.data], arguments.output)
    check_files([arguments.data], arguments.csv)
    settings, started = dict(map(_setting, arguments.settings)), time.monotonic()
    model = _classifier(settings, arguments).set_params(verbose=0)
    texts, labels = _labelled(arguments.data, arguments)

    from sk_han import audit_labels

    found = audit_labels(model, texts, labels)
    if arguments.csv is not None:
        found.to_csv(arguments.csv)
    with writing(arguments.output) as file:
        file.write(f"{found}\n" if arguments.output is None else found.to_html())
    seconds = time.monotonic() - started
    tell(f"Audited {len(texts):,} documents in {seconds:.1f} s.", quiet=arguments.quiet)


def _labelled(
    name: str, arguments: argparse.Namespace, names: list[Any] | None = None
) -> tuple[list[str], Any]:
    """Return texts, and a label of each or an indicator; with names, it has these labels."""
    if arguments.separator is not None:
        return read_labelled(name, arguments, names)
    found = list(records(name, arguments, arguments.label))
    return [record.text for record in found], np.array([record.label for record in found])


def _classifier(settings: dict[str, Any], arguments: argparse.Namespace) -> Any:
    """Make the classifier that the arguments ask for, which shows how far it is."""
    try:
        from sk_han import HANClassifier, HierarchicalTokenizer
    except ModuleNotFoundError as error:
        raise ImportError(
            f"fit needs {error.name}, which is not installed: pip install sk-han."
        ) from error
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
    except (ValueError, SyntaxError):
        return name, text
