"""The commands that learn from a table: fit, cross-validate and audit."""

from __future__ import annotations

import argparse
import ast
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents.repeated import first_of_same_text
from sk_han._rendering.text import table_lines
from sk_han._targets import fit_target
from sk_han._targets.splits import deal_out, hold_out
from sk_han._text.sentence_encoder import check_storable, resolve_encoder
from sk_han._utils.containers import listed, take_rows
from sk_han._utils.files import replacing_together
from sk_han._utils.messages import agreeing, in_one_line, nearest_name, plural, warn_user
from sk_han._utils.progress import Stages, duration, tell
from sk_han._validation.cells import read_column
from sk_han._validation.labels import ClassNames, check_several_groups, label_text
from sk_han.cli._program import STANDARD, UsageError
from sk_han.cli._tables import (
    LabelSets,
    check_files,
    complete,
    encode_cells,
    frames,
    kept_ids,
    label_names,
    select_documents,
    table_options,
    write_result,
    writing,
    writing_rows,
)
from sk_han.datasets._tables import to_labels, to_numbers, to_texts

if TYPE_CHECKING:
    from pandas import DataFrame

# Parameters that --set refuses, since another option sets them or they need Python.
_ELSEWHERE = {
    "callbacks": "They need Python.",
    "columns": "Use --columns, with --decimal, --dayfirst and --monthfirst.",
    "random_state": "Use --seed.",
    "text_column": "Use --text and --columns.",
    "tokenizer": "Set its parameters: --set tokenizer__tokens=web.",
    "verbose": "Use --quiet.",
}


def fit(arguments: argparse.Namespace) -> None:
    """Fit a HANClassifier or HANRegressor to the documents of a table, and save it."""
    import pandas as pd

    if arguments.output == STANDARD:
        raise UsageError("a model goes to a file, not to standard output.")
    complete(arguments)
    tables = [*{arguments.data, arguments.unlabelled}, arguments.validation]
    check_files(tables, arguments.output, kind="model", force=arguments.force)
    for part in _part_files(arguments) if arguments.hold_out is not None else []:
        check_files(tables, part, kind="table", force=arguments.force)
    quiet, started = arguments.quiet, time.monotonic()
    model = _estimator(arguments)
    frame, labels, classes, unlabelled = _load_labelled(arguments.data, arguments)
    parts = [] if arguments.hold_out is None else _parts(frame, labels, arguments)
    more: dict[str, Any] = {}
    features = _set_columns(model, frame, arguments)
    if arguments.validation is not None:
        validation, more["y_val"], *_ = _load_labelled(arguments.validation, arguments, classes)
        more["X_val"] = select_documents(validation, features, arguments)
    if arguments.unlabelled is not None:
        more["X_unlabelled"] = _unlabelled_texts(arguments, unlabelled)
    rows = parts[0] if parts else np.arange(len(frame))
    X = select_documents(frame.iloc[rows], features, arguments)
    # Warnings name documents by the index, which holds the lines of the table.
    if features is None:
        X = pd.Series(X, frame.index[rows])
    model.fit(X, take_rows(labels, rows), **more)
    # Progress is for this command, not for those who load the model.
    model.set_params(verbose=0)

    from sk_han import save

    # The model and the tables of its parts are replaced together or not at all.
    with replacing_together():
        _write_parts(frame, parts, arguments)
        save(model, arguments.output, overwrite=arguments.force, table=table_options(arguments))
    size = os.path.getsize(arguments.output) / 1e6
    seconds = duration(time.monotonic() - started)
    tell(f"Saved {in_one_line(arguments.output)}, {size:.1f} MB, after {seconds}.", quiet=quiet)


def _unlabelled_texts(arguments: argparse.Namespace, rest: DataFrame) -> Iterator[str]:
    """Yield the texts without labels; in the training table these are the rows in `rest`."""
    same = arguments.unlabelled == arguments.data
    for frame in [rest] if same else frames(arguments.unlabelled, arguments, size=10_000):
        yield from to_texts(frame, arguments.text)


def cross_validate(arguments: argparse.Namespace) -> None:
    """Write mean and standard deviation of scikit-learn's metrics over the folds.

    Folds are stratified by label. Documents with the same words, or of one group, share a fold.
    """
    complete(arguments)
    files = [*{arguments.data, arguments.unlabelled}]
    check_files(files, arguments.output, kind="table", force=arguments.force)
    model = _estimator(arguments)
    from sklearn import metrics, model_selection

    scorers = metrics.get_scorer_names()
    for name in {*(arguments.metrics or [])} - {*scorers}:
        raise UsageError(f"--metrics: no scorer is {name!r}.{nearest_name(name, scorers)}")
    frame, labels, _, unlabelled = _load_labelled(arguments.data, arguments)
    if arguments.order:
        # scikit-learn's scorers of probabilities sort strings, which would lose the order.
        labels = labels.codes
    elif arguments.ordered:
        labels = np.asarray(labels, dtype=float)
    scoring = arguments.metrics or ["accuracy" if labels.ndim == 1 else "f1_micro", "f1_macro"]
    if arguments.number is not None:
        scoring = arguments.metrics or ["r2", "neg_mean_absolute_error"]
    # scikit-learn's scorers of two classes, such as f1, expect the labels 0 and 1.
    binary = {name.removesuffix("_macro"): name for name in scorers if name.endswith("_macro")}
    if labels.ndim == 1:
        has_two = len({*labels}) == 2
        binary |= {"average_precision": "roc_auc"} if has_two else {"roc_auc": "roc_auc_ovr"}
    for name in binary.keys() & scoring if labels.ndim > 1 or not {*labels} <= {0, 1} else ():
        raise UsageError(f"--metrics: {name} is of labels 0 and 1; give {binary[name]}.")
    groups, n = first_of_same_text(to_texts(frame, arguments.text)), arguments.folds
    if arguments.groups is not None:
        groups = check_several_groups(frame[arguments.groups], len(frame), "folds need several")
    most = len(np.unique(groups))
    if not 2 <= n <= most:
        raise ValueError(f"{most} different texts or groups make 2 to {most} folds; got {n}.")
    order = np.random.RandomState(arguments.seed).permutation(len(frame))
    t: Any = np.asarray(labels) if arguments.number is None else _fifths(labels)
    t = t[:, np.newaxis] == np.unique(t) if t.ndim == 1 else t
    folds = model_selection.PredefinedSplit(deal_out(t, np.full(n, 1 / n), order, groups))
    more, features = dict[str, Any](), _set_columns(model, frame, arguments)
    if arguments.unlabelled is not None:
        texts = [*_unlabelled_texts(arguments, unlabelled)]
        # scikit-learn splits arguments that have an entry for each document, so a blank text is
        # added where there happen to be as many.
        more["X_unlabelled"] = texts + [""] * (len(texts) == len(frame))
    with Stages(not arguments.quiet)("folds"):
        scores = model_selection.cross_validate(
            model.set_params(verbose=0),
            select_documents(frame, features, arguments),
            labels,
            scoring=scoring,
            cv=folds,
            params=more,
            error_score="raise",
        )
    rows = [["metric", "mean", "std", *(f"fold {i + 1}" for i in range(n))]]
    for name, values in ((name, scores[f"test_{name}"]) for name in scoring):
        rows.append([name, *(f"{x:.4f}" for x in (values.mean(), values.std(ddof=1), *values))])
    if arguments.output is None:
        with writing(None) as file:
            file.write("\n".join(table_lines(rows[0], rows[1:])) + "\n")
    else:
        with writing_rows(arguments.output, arguments.sep, frame.attrs["encoding"]) as write:
            write(rows)


def _set_columns(model: Any, frame: DataFrame, arguments: argparse.Namespace) -> list[str] | None:
    """Set the columns that the model reads besides the text; return the names of all it reads."""
    if not arguments.columns:
        return None
    kinds = [{",": "decimal comma", ".": "number"}.get(arguments.decimal)]
    kinds += ["day first"] * arguments.dayfirst + ["month first"] * arguments.monthfirst
    columns = column_kinds(frame, arguments.columns, [*filter(None, kinds)])
    model.set_params(text_column=arguments.text[0], columns=columns)
    return [arguments.text[0], *arguments.columns]


def column_kinds(
    frame: DataFrame, names: Sequence[str], kinds: Sequence[str]
) -> dict[str, str | None] | list[str]:
    """Return `columns` for a HANClassifier: names, with one of `kinds` where all cells fit it."""
    if not kinds:
        return [*names]
    columns: dict[str, str | None] = dict.fromkeys(names)
    for name, kind in product(names, kinds):
        # A TypeError means that a cell is not of the kind.
        with suppress(TypeError):
            if not read_column(frame[name], name, kind).missing.all():
                columns[name] = kind
    return columns


def _fifths(y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the quintile of each number, (D,), by which splits are stratified."""
    return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)


def _part_files(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the tables for the training and the held-out documents."""
    stem = os.path.splitext(arguments.output)[0]
    return [f"{stem}.train.csv", f"{stem}.test.csv"]


def _parts(frame: DataFrame, labels: Any, arguments: argparse.Namespace) -> list[NDArray[np.int64]]:
    """Return the rows of the training and of the held-out documents."""
    share = arguments.hold_out
    texts = to_texts(frame, arguments.text)
    with warnings.catch_warnings():
        # The fit issues these warnings again.
        warnings.simplefilter("ignore")
        strata = labels if arguments.number is None else _fifths(labels)
        target, encoded = fit_target(strata, len(texts))
    groups = first_of_same_text(texts)
    random_state = np.random.RandomState(arguments.seed)
    rows, held_out = hold_out(target.strata(encoded), share, random_state, groups)
    if held_out is None:
        few = f"{agreeing(len(texts), 'are')} too few to hold some of each label out"
        if share > 0.5:
            few = f"{agreeing(len(texts), 'leave')} too few of some label to learn from"
        raise ValueError(f"{share:g} of {plural(len(texts))} {few}.")
    train, test = map(in_one_line, _part_files(arguments))
    line = f"Held {plural(len(held_out))} out, in {test}; the {len(rows):,} others are in {train}."
    tell(line, quiet=arguments.quiet)
    return [np.sort(rows), np.sort(held_out)]


def _write_parts(
    frame: DataFrame, parts: list[NDArray[np.int64]], arguments: argparse.Namespace
) -> None:
    """Write the tables of both parts, or nothing without --hold-out."""
    cells = frame[arguments.label]
    # JSON lines may hold lists of labels, which CSV joins.
    if arguments.separator is not None:
        join = arguments.separator.join
        cells = cells.map(lambda cell: join(map(label_text, cell)) if type(cell) is list else cell)
    frame = frame.assign(**{arguments.label: cells})
    for place, rows in zip(_part_files(arguments), parts, strict=False):
        with writing_rows(place, arguments.sep, frame.attrs["encoding"]) as write:
            write([frame.columns, *frame.iloc[rows].to_numpy().tolist()])


def audit(arguments: argparse.Namespace) -> None:
    """List the labels of a table that are likely wrong, as an HTML page or as text."""
    complete(arguments)
    check_files([arguments.data], arguments.output, force=arguments.force)
    if arguments.csv is not None:
        check_files([arguments.data], arguments.csv, kind="CSV", force=arguments.force)
        if os.path.realpath(arguments.csv) == os.path.realpath(arguments.output or ""):
            raise UsageError(f"{arguments.csv} is both -o and --csv; give another name for one.")
    started = time.monotonic()
    model = _estimator(arguments).set_params(verbose=0)
    frame, labels, *_ = _load_labelled(arguments.data, arguments)

    from sk_han import audit_labels

    texts, verbose = to_texts(frame, arguments.text), 0 if arguments.quiet else 1
    ids = kept_ids(frame, arguments)
    result = audit_labels(model, texts, labels, ids=ids, verbose=verbose)
    outcome = "Labels are ranked, the most doubtful first."
    if result.is_calibrated:
        outcome = f"Labels expected to be wrong: {result.n_expected():,.0f}."
    # The CSV is written together with a page, but on its own next to standard output, whose reader
    # may leave early.
    with replacing_together() if arguments.output not in (None, STANDARD) else nullcontext():
        if arguments.csv is not None:
            marks = {"sep": arguments.sep or ",", "decimal": arguments.decimal or "."}
            encoding = frame.attrs["encoding"]
            # Excel recognizes UTF-8 by its byte order mark.
            encoding = "utf-8-sig" if encoding == "utf-8" else encoding
            result.to_csv(arguments.csv, **marks, encoding=encoding)
        write_result(result, f"Audited {plural(len(frame))}", outcome, started, arguments)


def _load_labelled(
    name: str, arguments: argparse.Namespace, classes: ClassNames | None = None
) -> tuple[DataFrame, Any, ClassNames | None, DataFrame]:
    """Read a table; return its rows, their labels, the classes, and the rows without a label.

    Labels must be among `classes`, if given; several labels are an indicator, in which a document
    may have none. For --number the labels are numbers, without classes, and `arguments.decimal` is
    set to their decimal mark.
    """
    import pandas as pd

    column, separator = arguments.label, arguments.separator
    others = [getattr(arguments, "groups", None), *(getattr(arguments, "columns", None) or [])]
    is_read = name == arguments.data == getattr(arguments, "unlabelled", None)
    rest: list[DataFrame] = []
    (frame,) = frames(name, arguments, [column, *others], rest=rest if is_read else None)
    without = rest[0] if rest else frame[:0]
    if classes is None:
        texts = to_texts(frame, arguments.text)
        if all(map(str.isdecimal, texts)):
            warn_user(f"All texts are numbers, such as {texts[0]!r}: is --text the right column?")
        if arguments.number is not None:
            y, arguments.decimal = to_numbers(frame, column, arguments.decimal)
            return frame, y, None, without
        if separator is not None:
            classes = ClassNames(label_names(frame, arguments))
        else:
            classes = ClassNames(np.unique(to_labels(frame, column)).tolist())
    sets = None if separator is None else LabelSets(classes, separator)
    numbers = encode_cells(frame, arguments, classes, sets)
    if sets is not None:
        return frame, sets.frame(numbers), classes, without
    labels: Any = np.array(classes.labels)[numbers]
    if arguments.order:
        by_name = dict(zip(classes.names, classes.labels, strict=True))
        if lacking := [name for name in classes.names if name not in arguments.order]:
            raise UsageError(f"--order lacks {listed(lacking)}; name all labels, the lowest first.")
        order = [by_name[name] for name in arguments.order if name in by_name]
        labels = pd.Categorical(labels, order, ordered=True)
    return frame, labels, classes, without


def _estimator(arguments: argparse.Namespace) -> Any:
    """Create the estimator with the parameters of the arguments; it shows progress."""
    settings = dict(map(_setting, arguments.settings))
    from sk_han import HANClassifier, HANRegressor, HierarchicalTokenizer

    kind: Any = HANClassifier if arguments.number is None else HANRegressor
    model = kind(tokenizer=HierarchicalTokenizer(), random_state=arguments.seed)
    params = model.get_params()
    for name in settings:
        if name not in params and (hint := nearest_name(name, params)):
            raise UsageError(f"--set: {kind.__name__} has no parameter {name!r}.{hint}")
    try:
        model.set_params(**settings)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from error
    if arguments.ordered or arguments.order:
        model.set_params(ordered=True)
    if arguments.encoder is not None:
        check_storable(resolve_encoder(arguments.encoder))
        model.set_params(encoder=arguments.encoder)
    return model.set_params(verbose=0 if arguments.quiet else 1)


def _setting(argument: str) -> tuple[str, Any]:
    """Return the name and value of a setting; the value is a Python literal, or else a string."""
    name, equals, text = argument.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--set takes name=value, such as max_epochs=5; got {argument!r}.")
    if name in _ELSEWHERE:
        raise UsageError(f"--set cannot change {name}. {_ELSEWHERE[name]}")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, text
