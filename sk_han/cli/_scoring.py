"""The commands that use a saved model, none of which needs PyTorch."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import time
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han._utils.containers import listed
from sk_han._utils.messages import import_optional, plural, warn_user
from sk_han._utils.progress import Stages, rewrites_lines, tell
from sk_han._validation.labels import ClassNames
from sk_han.cli._program import STANDARD, UsageError
from sk_han.cli._tables import (
    LabelSets,
    check_files,
    complete_by_model,
    encode_cells,
    frames,
    kept_ids,
    label_sets,
    select_documents,
    write_result,
    writing,
    writing_rows,
)
from sk_han.datasets._tables import to_numbers
from sk_han.inspection._class_mix import with_priors
from sk_han.inspection._drift import drift as compare
from sk_han.inspection._results.collection import ExplanationList
from sk_han.inspection._results.document import DocumentExplanation
from sk_han.serving import Scorer
from sk_han.serving._scorer import check_threshold, default_coverage

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han.inspection import NumberReport, Report

# Rows are read, predicted and written in batches, so a table larger than memory can be predicted.
_BATCH_SIZE = 256
_CLASS_OPTIONS = "separator", "priors", "threshold", "proba", "target", "against", "targets"


def _load_model(arguments: argparse.Namespace) -> tuple[Scorer, Any, LabelSets | None, ClassNames]:
    """Load a model; return it, its columns, the format of several labels, and the classes."""
    scorer = Scorer.load(arguments.model, encoder=arguments.encoder)
    if scorer.target.is_number:
        for option in _CLASS_OPTIONS:
            if getattr(arguments, option, None):
                raise UsageError(f"--{option} is for classes, and the model predicts a number.")
    complete_by_model(arguments, scorer)
    arguments.number = getattr(arguments, "label", None) if scorer.target.is_number else None
    if getattr(arguments, "priors", None) is not None:
        scorer = with_priors(scorer, arguments.priors)
    sets = label_sets(scorer.target, arguments)
    classes = ClassNames(scorer.classes_.tolist()) if sets is None else sets.classes
    return scorer, getattr(scorer, "feature_names_in_", None), sets, classes


def predict(arguments: argparse.Namespace) -> None:
    """Write a row for each document: kept columns, prediction, and probabilities or interval."""
    files = [arguments.model, arguments.data]
    check_files(files, arguments.output, kind="table", force=arguments.force)
    scorer, features, sets, _ = _load_model(arguments)
    batches = frames(arguments.data, arguments, features=features, size=_BATCH_SIZE)
    # The first batch is read before the output is opened: if that fails, nothing is written.
    first = next(batches)
    n_classes, least = len(scorer.classes_), arguments.threshold
    if least is not None:
        check_threshold(least, scorer.target)
    is_number = scorer.target.is_number
    coverage = default_coverage(scorer.model_, arguments.coverage)
    if is_number and coverage is None:
        tell("The fit held out too few documents for intervals.", quiet=arguments.quiet)
    part = scorer.model_.pool.columns
    kinds = [] if part is None else [coding.kind for coding in part.encoder.codings.values()]
    # Numbers in CSV get the decimal mark of the training table; those in .xlsx have none.
    is_sheet = str(arguments.output).lower().endswith(".xlsx")
    has_comma = arguments.decimal == "," or "decimal comma" in kinds
    format_cell = _format_with_comma if has_comma and not is_sheet else _round
    # Texts without words get no prediction; a warning names their lines.
    blank: list[Any] = []
    with (
        _counting("Predicted", arguments) as advance,
        writing_rows(arguments.output, arguments.sep, first.attrs["encoding"]) as write,
    ):
        for frame in chain([first], batches):
            documents = scorer.model_.read(select_documents(frame, features, arguments))
            are_blank = documents.words_per_document == 0
            options = {"coverage": coverage, "novelty": arguments.novelty}
            result = scorer.predict_frame(documents, threshold=least, **options).astype(object)
            result = result.where(result.notna(), "")
            if is_number:
                result = result.map(format_cell)
                result[are_blank] = ""
            decided = result.to_numpy()[:, : 1 if sets is None else n_classes]
            rest = result.iloc[:, decided.shape[1] :]
            if not (arguments.proba or is_number):
                rest = rest.iloc[:, : (least is not None) + arguments.novelty]
            labels = decided[:, 0] if sets is None else map(sets.format, decided == 1)
            blank += frame.index[are_blank].tolist()
            kept, shares = frame[arguments.keep].to_numpy().tolist(), rest.to_numpy().tolist()
            write([[*arguments.keep, "prediction", *rest.columns]] * (frame is first))
            write(
                [*cells, "" if is_empty else label, *map(format_cell, row)]
                for cells, is_empty, label, row in zip(kept, are_blank, labels, shares, strict=True)
            )
            advance(len(frame))
    if blank:
        lines = f"{first.index.name}{'s' * (len(blank) > 1)} {listed(blank, 10, str)}"
        what = "number" if is_number else "label"
        warn_user(f"{plural(len(blank), 'blank text')} got no {what}: {lines}.")


def _round(value: Any) -> Any:
    return float(f"{value:.6g}") if type(value) is float else value


def _format_with_comma(value: Any) -> Any:
    """Format a number with a decimal comma, as a spreadsheet of that locale reads it."""
    return str(_round(value)).replace(".", ",") if type(value) is float else value


def explain(arguments: argparse.Namespace) -> None:
    """Write explanations of the first documents as an HTML page or as text."""
    check_files([arguments.model, arguments.data], arguments.output, force=arguments.force)
    scorer, features, sets, classes = _load_model(arguments)
    options = {} if arguments.targets is None else {"targets": arguments.targets}
    for name in ("target", "against"):
        label = getattr(arguments, name)
        if label is not None:
            number = classes.lookup(label, f"--{name}", "Give one of these.")
            options[name] = classes.labels[number]
    frame = next(frames(arguments.data, arguments, [arguments.label], features, arguments.rows))
    documents, y_true = select_documents(frame, features, arguments), None
    if arguments.label is not None and scorer.target.is_number:
        y_true, _ = to_numbers(frame, arguments.label, arguments.decimal)
    elif arguments.label is not None:
        true = encode_cells(frame, arguments, classes, sets)
        targets = np.array(true) if sets is None else sets.indicator(true)
        y_true = scorer.target.decode(targets)
    explanations: list[DocumentExplanation] = []
    # The document of each explanation: with several labels, it has one for each predicted label.
    numbers: list[int] = []
    with _counting("Explained", arguments) as advance:
        for start in range(0, len(documents), 16):
            batch = documents[start : start + 16]
            explained = scorer.explain(batch, **options, method=arguments.method)
            explanations += explained
            numbers += (explained.numbers + start).tolist()
            advance(len(batch))
        y_true, ids = None if y_true is None else y_true[numbers], kept_ids(frame, arguments)
        result = ExplanationList(explanations, y_true=y_true, numbers=numbers, ids=ids)
        with writing(arguments.output) as file:
            is_text = arguments.output is None
            file.write(result.to_text(max_documents=None) + "\n" if is_text else result.to_html())


def drift(arguments: argparse.Namespace) -> None:
    """Print how the documents of a table differ from the training documents."""
    check_files([arguments.model, arguments.data], None)
    scorer = Scorer.load(arguments.model, encoder=arguments.encoder)
    complete_by_model(arguments, scorer)
    features = getattr(scorer, "feature_names_in_", None)
    (frame,) = frames(arguments.data, arguments, features=features)
    result = compare(scorer, select_documents(frame, features, arguments))
    with writing(None) as file:
        file.write(f"{result.to_json() if arguments.json else result.to_text()}\n")


def serve(arguments: argparse.Namespace) -> None:
    """Answer requests until the process is interrupted or terminated."""
    for package in ("fastapi", "uvicorn"):
        import_optional(package, "serve", "sk-han serve")
    from sk_han.serving._service import Service, create_app

    options = {"coverage": arguments.coverage, "encoder": arguments.encoder}
    app = create_app(arguments.model, arguments.threshold, **options)
    service = Service(app, arguments.host, arguments.port, arguments.allowed_host)
    # The first process of a container ignores SIGTERM unless it handles it. uvicorn raises the
    # signal again once it has stopped, and this handler then exits at once, since a thread that
    # still computes would keep the process alive.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    # Later collections skip the model and the compiler, which would block all requests for 0.2 s.
    gc.collect()
    gc.freeze()
    tell(f"{arguments.model} is served at {service.url}; Ctrl-C ends it.", quiet=arguments.quiet)
    service.run([service.listener])


def evaluate(arguments: argparse.Namespace) -> None:
    """Write the report of a model on labelled documents, as an HTML page, text or JSON."""
    files = [arguments.model, arguments.data, arguments.train, arguments.baseline]
    kind = "JSON" if arguments.json else "page"
    check_files(files, arguments.output, kind=kind, force=arguments.force)
    started = time.monotonic()
    evaluation = _make_report(arguments)
    if arguments.json:
        names = ("labels", "notes", "scores", "gain", "classes", "confusion", "slices")
        data = evaluation.to_dict()
        with writing(arguments.output) as file:
            file.write(json.dumps({name: data[name] for name in names if name in data}) + "\n")
        return
    measure = evaluation.measure.lower().replace(" ", "_")
    scores = [f"{name} {values[measure]:.3f}" for name, values in evaluation.scores.items()]
    result = f"{measure.replace('_', ' ').capitalize()}: {', '.join(scores)}."
    write_result(evaluation, f"Read {plural(evaluation.n_documents)}", result, started, arguments)


def _make_report(arguments: argparse.Namespace) -> Report | NumberReport:
    """Return the report of a model, with the model of --baseline for comparison if given."""
    from sk_han import report as report_on

    options: dict[str, Any] = {"n_mistakes": arguments.mistakes}
    columns: list[str] = []
    if arguments.baseline is not None:
        other = Scorer.load(arguments.baseline, encoder=arguments.encoder)
        text = arguments.text or (other.table or {}).get("text", ["text"])
        features_of_other = getattr(other, "feature_names_in_", None)
        columns = [*text, *([] if features_of_other is None else features_of_other[1:])]
    scorer, features, sets, classes = _load_model(arguments)
    classes.grows = True

    def read(name: str) -> tuple[DataFrame, Any, Any]:
        (frame,) = frames(name, arguments, [arguments.label, *columns], features)
        if scorer.target.is_number:
            y, _ = to_numbers(frame, arguments.label, arguments.decimal)
            return frame, select_documents(frame, features, arguments), y
        numbers = encode_cells(frame, arguments, classes, sets)
        labels: Any = np.array(classes.names)[numbers] if sets is None else sets.frame(numbers)
        return frame, select_documents(frame, features, arguments), labels

    frame, documents, labels = read(arguments.data)
    if arguments.train is not None:
        _, options["X_train"], options["y_train"] = read(arguments.train)
    named = {"estimator": os.path.basename(arguments.model)}
    if arguments.baseline is not None:
        same = select_documents(frame, features_of_other, argparse.Namespace(text=text))
        # The two models may read different columns of the table, so this baseline ignores X.
        options["baseline"] = SimpleNamespace(
            classes_=other.classes_,
            predict=lambda _: other.predict(same),
            predict_proba=lambda _: other.predict_proba(same),
        )
        name = os.path.basename(arguments.baseline)
        named |= {"baseline_name": name, "baseline_note": f"The baseline is {name}."}
    with Stages(not arguments.quiet)("report"):
        evaluation = report_on(scorer, documents, labels, **options, ids=kept_ids(frame, arguments))
    return replace(evaluation, **named)


def _counting(done: str, arguments: argparse.Namespace) -> Any:
    """Show progress on standard error, unless the rows themselves appear on the terminal."""
    to_standard = arguments.output in (None, STANDARD) and rewrites_lines()
    is_shown = to_standard and sys.stdout is not None and sys.stdout.isatty()
    return Stages(not arguments.quiet and not is_shown)(done, "document")
