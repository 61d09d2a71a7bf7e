"""Commands of a stored model, of which report needs PyTorch."""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from sk_han.cli.program import STANDARD
from sk_han.cli.tables import (
    LabelSets,
    cell_of,
    check_files,
    documents_of,
    ids_of,
    needing_torch,
    read_labelled,
    records,
    sets_of,
    where_of,
    write_result,
    writing,
)
from sk_han.datasets.tables import Record
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.rendering.text import table_lines
from sk_han.serving import Scorer
from sk_han.serving.scorer import check_threshold
from sk_han.utils.containers import listed
from sk_han.utils.files import csv_line
from sk_han.utils.messages import counted, shortened_apart, warn_user
from sk_han.utils.metrics import figures, label_figures, label_shares
from sk_han.utils.progress import Progress, Stages, tell
from sk_han.validation.labels import ClassNames, named, said_of_unknown

_T = TypeVar("_T")

_BATCH_SIZE = 256  # documents read, scored and written at once
_PREDICTION, _ACCEPTED = "prediction", "accepted"
_CLASSES_IN_A_TABLE = 20
_LABEL_WIDTH = 16


def predict(arguments: argparse.Namespace) -> None:
    """Write a row for each document: kept columns, prediction, probabilities."""
    files = [arguments.model, arguments.data]
    check_files(files, arguments.output, kind="table", force=arguments.force)
    scorer = Scorer.load(arguments.model)
    features = getattr(scorer, "feature_names_in_", None)
    sets = sets_of(scorer.target, arguments)
    thresholds: Any = getattr(scorer.target, "thresholds", None)
    labels = [named(label) for label in scorer.classes_.tolist()]
    of_classes = [f"probability_{label}" for label in labels] if arguments.proba else []
    least = arguments.threshold
    if least is not None:
        check_threshold(least, scorer.target)
    header = [*arguments.keep, _PREDICTION, *[_ACCEPTED] * (least is not None), *of_classes]
    rows = records(arguments.data, arguments, others=arguments.keep)
    of_tabs = (arguments.output or "").lower().removesuffix(".gz").endswith(".tsv")
    delimiter = "\t" if of_tabs else ","
    blank: list[int] = []  # the lines of texts without anything to read, which get no label
    with _progress("Predicted", arguments) as progress, writing(arguments.output) as file:
        for number_of_batch, batch in enumerate(_batches(rows)):
            if number_of_batch == 0:  # a table that cannot be read leaves no header behind
                file.write(csv_line(header, delimiter))
            probabilities = scorer.predict_proba(documents_of(batch, features, arguments.data))
            if sets is None:
                decided = [labels[number] for number in probabilities.argmax(axis=1)]
            else:
                decided = [sets.written(row) for row in probabilities >= thresholds]
            for record, label, row in zip(batch, decided, probabilities.tolist(), strict=True):
                kept = [cell_of(value) for value in record.others]
                shown = [f"{probability:.6g}" for probability in row] if of_classes else []
                accepted = [] if least is None else [named(max(row) >= least)]
                if not record.text.strip():
                    blank.append(record.line)
                    label, accepted = "", [] if least is None else [named(False)]
                file.write(csv_line([*kept, label, *accepted, *shown], delimiter))
            file.flush()
            progress.advance(len(batch))
    if blank:
        warn_user(f"{counted(len(blank), 'blank text')} got no label: lines {listed(blank, 10)}.")


def explain(arguments: argparse.Namespace) -> None:
    """Write explanations of the first documents as an HTML page or as text."""
    check_files([arguments.model, arguments.data], arguments.output, force=arguments.force)
    scorer = Scorer.load(arguments.model)
    features = getattr(scorer, "feature_names_in_", None)
    sets = sets_of(scorer.target, arguments)
    classes = ClassNames(scorer.classes_.tolist())
    options = {} if arguments.targets is None else {"targets": arguments.targets}
    for name in ("target", "against"):
        label = getattr(arguments, name)
        if label is not None:
            number = classes.checked(label, f"--{name}", "Give one of these.")
            options[name] = classes.labels[number]
    rows = _labelled(sets, classes, arguments)
    found: list[DocumentExplanation] = []
    numbers: list[int] = []  # of the document that each is about
    true: list[Any] = []
    read: list[Record] = []
    with _progress("Explained", arguments) as progress:
        for batch in _batches(islice(rows, arguments.rows), 16):
            texts = documents_of([record for record, _ in batch], features, arguments.data)
            explained = scorer.explain(texts, **options, method=arguments.method)
            found += explained
            numbers += [len(read) + number for number in explained.numbers.tolist()]
            if arguments.label is not None:
                true += [label for _, label in batch]
            read += [record for record, _ in batch]
            progress.advance(len(batch))
        targets = np.array(true) if sets is None else sets.indicator(true)
        y_true = scorer.target.decode(targets)[numbers] if true else None
        ids = ids_of(read, arguments)
        explanations = ExplanationList(found, y_true=y_true, numbers=numbers, ids=ids)
        with writing(arguments.output) as file:
            if arguments.output is None:
                file.write(explanations.to_text(max_documents=None) + "\n")
            else:
                file.write(explanations.to_html())


def serve(arguments: argparse.Namespace) -> None:
    """Answer requests until the process is interrupted or terminated."""
    from sk_han.serving.service import Service

    service = Service(arguments.model, arguments.host, arguments.port, arguments.threshold)
    # By default a process that is the first one of a container ignores the signal that ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    gc.collect()
    gc.freeze()  # a full collection of model and compiler would hold all requests for 0.2 s
    with service:
        tell(
            f"{arguments.model} is served at {service.url}; Ctrl-C ends it.", quiet=arguments.quiet
        )
        service.serve_forever()


def evaluate(arguments: argparse.Namespace) -> None:
    """Print how well the model predicts the labels of a table."""
    check_files([arguments.model, arguments.data], None)
    scorer = Scorer.load(arguments.model)
    features = getattr(scorer, "feature_names_in_", None)
    sets = sets_of(scorer.target, arguments)
    classes = ClassNames(scorer.classes_.tolist()) if sets is None else sets.classes
    classes.grows = True
    scored, targets = [], list[Any]()
    with Progress("Scored", quiet=arguments.quiet) as progress:
        for batch in _batches(_labelled(sets, classes, arguments)):
            targets += [label for _, label in batch]
            documents = documents_of([record for record, _ in batch], features, arguments.data)
            scored.append(scorer.predict_proba(documents))
            progress.advance(len(batch))
    probabilities = np.concatenate(scored)
    _warn_of_unknown(targets, classes, len(scorer.classes_))
    printable = [name if name.isprintable() else repr(name) for name in classes.names]
    names = shortened_apart(printable, _LABEL_WIDTH)
    if sets is None:
        found = figures(probabilities, np.array(targets))
        counts = found.pop("confusion")
        by_label = label_shares(counts.sum(axis=1), counts.sum(axis=0), np.diag(counts))
        of_all = {"classes": classes.labels, "confusion": counts.tolist()}
    else:
        target: Any = scorer.target
        decided, t = probabilities >= target.thresholds, sets.indicator(targets)
        found = label_figures(probabilities, decided, t)
        advice = target.note_on_recall(decided, t[:, : decided.shape[1]])
        tell(advice, quiet=arguments.quiet or not advice)
        by_label, of_all = found.pop("by_label"), {}
    rows = list(zip(*by_label.values(), strict=True))
    of_all["labels"] = [
        {"label": label, **dict(zip(by_label, row, strict=True))}
        for label, row in zip(classes.labels, rows, strict=True)
    ]
    with writing(None) as file:
        if arguments.json:
            file.write(json.dumps(found | of_all) + "\n")
            return
        doubt = "If the model has learnt from these documents, the figures say nothing of new ones."
        tell(doubt, quiet=arguments.quiet)
        for name, value in found.items():
            file.write(f"{name.replace('_', ' '):<18}{_written(value):>9}\n")
        tables: list[Any] = [(["label", *by_label], rows)]
        if sets is None and len(rows) <= _CLASSES_IN_A_TABLE:
            tables.append((["true \\ predicted", *names], of_all["confusion"]))
        elif sets is None:
            tell(f"The confusion of {len(rows)} classes is in --json.", quiet=arguments.quiet)
        for head, values in tables:
            cells = ([name, *map(_written, row)] for name, row in zip(names, values, strict=True))
            file.write("\n" + "\n".join(table_lines(head, cells)) + "\n")


def _warn_of_unknown(targets: Sequence[Any], classes: ClassNames, n_known: int) -> None:
    """Warn of labels that the model does not know; if it knows none, raise a ValueError."""
    unknown = classes.labels[n_known:]
    most = [np.max(of_document, initial=-1) for of_document in targets]
    least = [np.min(of_document, initial=len(classes.labels)) for of_document in targets]
    if unknown and min(least) >= n_known:
        raise ValueError(
            f"None of the labels is a class of the model. They are {listed(unknown)}; the classes "
            f"are {listed(classes.labels[:n_known])}. Are they of another task?"
        )
    if unknown:
        n_with = int(np.count_nonzero(np.array(most) >= n_known))
        warn_user(f"{said_of_unknown(n_with, unknown)} The log loss leaves them out.")


def report(arguments: argparse.Namespace) -> None:
    """Write the report of a model on labelled documents, as an HTML page or as text."""
    tables = [arguments.data, arguments.train]
    check_files([arguments.model, *tables], arguments.output, force=arguments.force)
    started = time.monotonic()
    with needing_torch(arguments.command):
        from sk_han import load
        from sk_han import report as report_on
    model = load(arguments.model)
    classifier = getattr(model, "steps", [(None, model)])[-1][1]
    if not hasattr(classifier, "pool_"):
        raise ValueError(f"{arguments.model} cannot be loaded: it holds no classifier.")
    is_several = sets_of(classifier.pool_.target, arguments) is not None
    classes = ClassNames(model.classes_.tolist())
    documents, labels = _labelled_records(arguments.data, classes, arguments, is_several)
    features = getattr(model, "feature_names_in_", None)
    texts, train = documents_of(documents, features, arguments.data), dict[str, Any]()
    if arguments.train is not None:
        learnt, y_train = _labelled_records(arguments.train, classes, arguments, is_several)
        train = {"X_train": documents_of(learnt, features, arguments.train), "y_train": y_train}
    ids, n_mistakes = ids_of(documents, arguments), arguments.mistakes
    stages = Stages(0 if arguments.quiet else 1, "report")
    with stages.heartbeat(), stages("report"):
        found = report_on(model, texts, labels, **train, n_mistakes=n_mistakes, ids=ids)
    measure = "micro_f1" if is_several else "accuracy"
    scores = [f"{name} {each[measure]:.3f}" for name, each in found.scores.items()]
    result = f"{measure.replace('_', ' ').capitalize()}: {', '.join(scores)}."
    write_result(found, f"Read {counted(found.n_documents)}", result, started, arguments)


def _labelled_records(
    name: str, classes: ClassNames, arguments: argparse.Namespace, is_several: bool
) -> tuple[list[Record], Any]:
    """Return documents and labels of a table, which `report` matches by their values."""
    if is_several:
        return read_labelled(name, arguments, classes.labels, grows=True)
    found = list(records(name, arguments, arguments.label))
    return found, [record.label for record in found]


def _progress(done: str, arguments: argparse.Namespace) -> Progress:
    to_standard = arguments.output in (None, STANDARD)
    return Progress(done, quiet=arguments.quiet, beside_rows=to_standard)


def _batches(rows: Iterator[_T], size: int = _BATCH_SIZE) -> Iterator[list[_T]]:
    while batch := list(islice(rows, size)):
        yield batch


def _labelled(
    sets: LabelSets | None, classes: ClassNames, arguments: argparse.Namespace
) -> Iterator[tuple[Record, Any]]:
    """Yield documents with the number of their class, or those of their labels, if asked for."""
    label = arguments.label
    of_sets = [] if sets is None or label is None else [label]
    for record in records(arguments.data, arguments, None if of_sets else label, of_sets):
        where = where_of(arguments.data, record, arguments)
        if of_sets and sets is not None:
            yield record, sets.numbers(record.others[0], where)
        else:
            yield record, None if label is None else classes.checked(record.label, where)


def _written(figure: float | None) -> str:
    if figure is None:
        return "–"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.4f}"
