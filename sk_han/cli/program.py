"""The command sk-han: its arguments, and the functions that they call."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import sk_han
from sk_han.utils.messages import in_one_line, visible
from sk_han.utils.progress import tell

STANDARD = "-"  # standard input or output, as a name of a file


_DESCRIPTION = "Classify documents by a Hierarchical Attention Network, and show what it read."


_EPILOG = """\
examples:
  sk-han fit reviews.csv --text review --label stars --hold-out 0.2 -o stars.han
  sk-han evaluate stars.han stars.test.csv
  sk-han predict stars.han new.xlsx --proba --keep id -o predicted.xlsx
  cat new.csv.gz | sk-han predict stars.han - | head
  sk-han audit train.csv --text review --label stars -o audit.html --csv decisions.csv
  sk-han report stars.han stars.test.csv --train stars.train.csv
  sk-han explain stars.han new.csv --rows 50 -o page.html
  sk-han fit news.csv --label topics --separator ";" -o topics.han
  sk-han serve stars.han --port 8000 --threshold 0.8

exit codes: 0 done, 1 an error of data or model, 2 an error of usage, 130 interrupted,
141 nobody reads the output any more
"""


# The commands that learn from a table, and read no model.
LEARNING = ("fit", "audit")


class UsageError(Exception):
    """Arguments that do not go together; the exit code is 2."""


class _Parser(argparse.ArgumentParser):
    """A parser whose messages cannot control the terminal by an argument that they repeat."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(visible(message), file)


# The commands: what each does, and what its option --label is for, if it has one.
_LABELS = {"help": "column of the labels (default: that of the fit, else label)"}
_TRUE = {"help": "column of the true labels: mistakes are marked on the page"}
_COMMANDS: dict[str, tuple[str, dict[str, str] | None]] = {
    "fit": ("learn from labelled documents, and store the model", _LABELS),
    "predict": ("write the label of each document, or all its labels", None),
    "explain": ("show what each word and sentence did", _TRUE),
    "evaluate": ("measure a model on labelled documents", _LABELS),
    "audit": ("find labels of a table that are likely wrong", _LABELS),
    "report": ("show where a model fails, on one page", _LABELS),
    "serve": ("answer over HTTP: a page to paste a text into, and JSON", None),
    "warm-up": (
        "compile the kernels, so that no later process does; for images of containers",
        None,
    ),
}


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
    for name, (summary, label) in _COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(
            name, help=summary, description=description, allow_abbrev=False
        )
        told = command.add_mutually_exclusive_group()
        told.add_argument(
            "-v", "--verbose", action="store_true", help="errors with their traceback"
        )
        if name != "warm-up":
            told.add_argument(
                "-q", "--quiet", action="store_true", help="errors and warnings alone"
            )
            if name == "serve":
                _add_address(command)
                continue
            _add_table(command, name, label)
            _add_own(command, name)
    return parser


def _add_address(command: argparse.ArgumentParser) -> None:
    """Add what is served, and where."""
    add = command.add_argument
    add("model", help="file of a model; when it is replaced, the new model is served")
    reached = "address to listen at (default: 127.0.0.1, which only this machine reaches)"
    add("--host", default="127.0.0.1", metavar="ADDRESS", help=reached)
    port = "port to listen at, 0 for any that is free (default: 8000)"
    add("--port", type=int, default=8000, metavar="N", help=port)
    least = "probability from which on a document is accepted, and not handed over to a person"
    add("--threshold", type=float, metavar="P", help=least)


def _add_table(command: argparse.ArgumentParser, name: str, label: dict[str, str] | None) -> None:
    """Add the arguments of all commands that read a table."""
    add = command.add_argument
    if name not in LEARNING:
        add("model", help="file of a model")
    kinds = "table named .csv, .tsv or .jsonl, perhaps with .gz, .bz2 or .xz appended, or .xlsx"
    add("data", help=f"{kinds}; - is standard input, as .csv if no option says otherwise")
    texts = (
        "column of the texts (default: that of the fit, else text); given again, they are joined"
    )
    add("--text", action="append", metavar="COLUMN", help=texts)
    if label is not None:
        add("--label", metavar="COLUMN", **label)  # type: ignore[arg-type]
    separator = "what stands between several labels of a document (default: ;)"
    if name in LEARNING:
        separator = "documents have several labels, with this between them in their column"
    add("--separator", metavar="S", help=separator)
    add("--sep", metavar="C", help='character between columns, such as ";" or tab')
    add("--jsonl", action="store_true", help="standard input is JSON lines")
    add("--encoding", metavar="NAME", help="of the tables (default: that of the fit, else utf-8)")


def _add_own(command: argparse.ArgumentParser, name: str) -> None:
    """Add what a command writes, and the options that few commands have."""
    add = command.add_argument
    match name:
        case "fit":
            add("-o", "--output", metavar="FILE", required=True, help="file of the model")
            others = "columns that are learnt from next to the texts: numbers, values, dates"
            add("--columns", nargs="+", metavar="COLUMN", help=others)
            comma = "columns with decimal commas, as 49,90"
            add("--decimal", choices=[","], help=comma)
            dates = "dates of the columns begin with the day, as 03.04.2025"
            add("--dayfirst", action="store_true", help=dates)
            chosen = "labelled documents that choose the epoch, instead of a part of the data"
            add("--validation", metavar="TABLE", help=chosen)
            further = (
                "further documents, with the same column of texts; of the table itself, the rows "
            )
            further += "without a label"
            add("--unlabelled", metavar="TABLE", help=further)
            held_out = (
                "learn nothing from a share of the documents, such as 0.2, and write both parts "
                "next to the model, for evaluate and report: m.train.csv and m.test.csv for m.han; "
                "texts of the same words stay together"
            )
            add("--hold-out", type=_share, metavar="SHARE", help=held_out)
        case "predict":
            written = "file to write, by default standard output"
            add("-o", "--output", metavar="TABLE", help=written)
            add("--proba", action="store_true", help="the probability of each class, too")
            least = "adds a column: accepted, whether the largest probability reaches this"
            add("--threshold", type=float, metavar="P", help=least)
            kept = "column of the data to write in front; may be given again"
            add("--keep", action="append", default=[], metavar="COLUMN", help=kept)
        case "evaluate":
            add("--json", action="store_true", help="figures as one line of JSON")
        case _:
            page = "HTML page to write, - for standard output; without it, text is printed"
            add("-o", "--output", metavar="PAGE", help=page)
    if name in ("explain", "audit", "report"):
        kept = "column of the data that names documents, instead of their row"
        add("--keep", metavar="COLUMN", help=kept)
    if name != "evaluate":
        force = f"replace a file that exists{' and is not a model' * (name == 'fit')}"
        add("-f", "--force", action="store_true", help=force)
    match name:
        case "explain":
            rows = "first documents (default: 20)"
            add("--rows", type=_positive, default=20, metavar="N", help=rows)
            target = "class that is explained (default: the predicted one)"
            add("--target", metavar="LABEL", help=target)
            against = "class that it is compared with (default: all others together)"
            add("--against", metavar="LABEL", help=against)
            targets = "with several labels a document: explain each label that it gets"
            add("--targets", choices=["predicted"], help=targets)
            methods = "shapley (default), gradient_attention, attention, random"
            add("--method", default="shapley", help=methods)
        case "report":
            train = (
                "what the model learnt from: then it is compared with a linear model of the same"
            )
            add("--train", metavar="TABLE", help=train)
            mistakes = "worst mistakes that are explained (default: 10)"
            add("--mistakes", type=_positive, default=10, metavar="N", help=mistakes)
        case "audit":
            add("--csv", metavar="TABLE", help="CSV to write, with an empty column to fill in")
    if name in LEARNING:
        parameter = (
            "a parameter of HANClassifier, such as max_epochs=5, or of its tokenizer, such as "
            "tokenizer__tokens=web; may be given again"
        )
        add(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            dest="settings",
            help=parameter,
        )
        seed = "seed of all random numbers (default: 0)"
        add("--seed", type=int, default=0, metavar="N", help=seed)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    if not 0 < (share := float(text)) < 1:
        raise ValueError(text)
    return share


# argparse names them in its messages.
_positive.__name__, _share.__name__ = "positive integer", "share between 0 and 1, such as 0.2:"


_FAILED, _USAGE, _INTERRUPTED, _NOT_READ = 1, 2, 130, 141


# What data, model and machine bring about. Anything else is our mistake, and shows its traceback.
_EXPECTED: tuple[type[Exception], ...] = (ArithmeticError, ImportError, LookupError, MemoryError)
_EXPECTED += (OSError, RuntimeError, TypeError, ValueError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if None.

    Returns
    -------
    int
        The exit code: 0; 1 for an error of data or model, told in one line on standard error; 2
        for an error of usage; 130 after Ctrl-C; 141 if nobody reads the output any more.

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
            known = f"see sk-han {arguments.command} --help"
            commands.error(f"unrecognized arguments: {' '.join(unknown)}; {known}")
    except SystemExit as end:  # after the message of argparse, or the help
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
        from sk_han.kernels.engine import warm_up

        print(f"The kernels are compiled; it took {warm_up():.1f} s.")
    else:
        module = import_module(f"sk_han.cli.{'fitting' if name in LEARNING else 'scoring'}")
        getattr(module, name)(arguments)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) or not str(error):
        return f"{type(error).__name__} {error}".strip()
    return str(error)


def _tell(kind: str, message: object) -> None:
    """Write one line on standard error; names of files and labels cannot control the terminal."""
    line = in_one_line(message)
    tell(f"sk-han: {kind}{': ' if line else ''}{line}")


def _flush() -> None:
    if sys.stdout is not None:  # as after >&-
        sys.stdout.flush()


def _drop_output() -> None:
    """Send the rest of standard output nowhere, so that Python's flush at exit says nothing."""
    with suppress(io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
