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
from typing import Any

import sk_han
from sk_han.utils.progress import tell

STANDARD = "-"  # standard input or output, as a name of a file


_DESCRIPTION = "Classify documents by a Hierarchical Attention Network, and show what it read."


_EPILOG = """\
examples:
  sk-han fit reviews.csv --text review --label stars -o stars.han
  sk-han evaluate stars.han test.csv --text review --label stars
  sk-han predict stars.han new.csv --text review --proba --keep id -o predicted.csv
  zcat new.csv.gz | sk-han predict stars.han - --text review | head
  sk-han audit train.csv --text review --label stars -o audit.html --csv decisions.csv
  sk-han report stars.han test.csv --text review --label stars -o report.html
  sk-han explain stars.han new.csv --text review --rows 50 -o page.html
  sk-han fit news.csv --label topics --separator ";" -o topics.han

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
        from sk_han.utils.messages import visible

        super()._print_message(visible(message), file)


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
    _fit(_command(commands, "fit", "learn from labelled documents, and store the model", "LABEL"))
    _predict(_command(commands, "predict", "write the label of each document, or all its labels"))
    _explain(_command(commands, "explain", "show what each word and sentence did", "optional"))
    evaluate = _command(commands, "evaluate", "measure a model on labelled documents", "LABEL")
    evaluate.add_argument("--json", action="store_true", help="figures as one line of JSON")
    _command(commands, "audit", "find labels of a table that are likely wrong", "LABEL")
    _report(_command(commands, "report", "show where a model fails, on one page", "LABEL"))
    summary = "compile the kernels, so that no later process does; for images of containers"
    warm_up = commands.add_parser(
        "warm-up",
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        allow_abbrev=False,
    )
    warm_up.add_argument("-v", "--verbose", action="store_true", help="errors with their traceback")
    return parser


def _command(
    commands: argparse._SubParsersAction[_Parser], name: str, summary: str, label: str | None = None
) -> argparse.ArgumentParser:
    """Add a command with what all have: a table, and how much is told."""
    command = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False
    )
    if name not in LEARNING:
        command.add_argument("model", help="file of a model")
    command.add_argument(
        "data",
        help="table named .csv, .tsv or .jsonl, or one of these with .gz appended; - is standard "
        "input, as .csv if no option says otherwise",
    )
    command.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help="column of the texts (default: text); given again, the columns are joined",
    )
    if label is not None:
        command.add_argument(
            "--label",
            metavar="COLUMN",
            default="label" if label == "LABEL" else None,
            help="column of the labels (default: label)"
            if label == "LABEL"
            else "column of the true labels: mistakes are marked on the page",
        )
    command.add_argument(
        "--separator",
        metavar="S",
        help="documents have several labels, with this between them in their column"
        if name in LEARNING
        else "what stands between several labels of a document (default: ;)",
    )
    _results_and_settings(command, name)
    command.add_argument("--sep", metavar="C", help='character between columns, such as ";" or tab')
    command.add_argument("--jsonl", action="store_true", help="standard input is JSON lines")
    command.add_argument("--encoding", default="utf-8", help="of the tables (default: utf-8)")
    told = command.add_mutually_exclusive_group()
    told.add_argument("-q", "--quiet", action="store_true", help="errors and warnings alone")
    told.add_argument("-v", "--verbose", action="store_true", help="errors with their traceback")
    return command


def _results_and_settings(command: argparse.ArgumentParser, name: str) -> None:
    """Add what several commands write, and what those that learn are told."""
    if name in ("audit", "explain", "report"):
        command.add_argument(
            "-o",
            "--output",
            metavar="PAGE",
            help="HTML page to write, - for standard output; without it, text is printed",
        )
    if name == "audit":
        command.add_argument(
            "--csv", metavar="TABLE", help="CSV to write, with an empty column to fill in"
        )
    if name in LEARNING:
        command.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            dest="settings",
            help="a parameter of HANClassifier, such as max_epochs=5, or of its tokenizer, such as "
            "tokenizer__tokens=web; may be given again",
        )
        command.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="seed of all random numbers (default: 0)",
        )


def _fit(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="file of the model")
    command.add_argument(
        "--validation",
        metavar="TABLE",
        help="labelled documents that choose the epoch, instead of a part of the data",
    )
    command.add_argument(
        "--unlabelled", metavar="TABLE", help="further documents, with the same column of texts"
    )
    command.add_argument(
        "--hold-out",
        nargs=2,
        metavar=("SHARE", "TABLE"),
        help="learn nothing from a share of the documents, such as 0.2, and write them to a CSV "
        "with the columns of the table, for evaluate and report; texts of the same words stay "
        "together",
    )


def _predict(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", metavar="TABLE", help="file to write, by default standard output"
    )
    command.add_argument("--proba", action="store_true", help="the probability of each class, too")
    command.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="column of the data to write in front; may be given again",
    )


def _explain(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rows", type=_positive, default=20, metavar="N", help="first documents (default: 20)"
    )
    command.add_argument(
        "--target", metavar="LABEL", help="class that is explained (default: the predicted one)"
    )
    command.add_argument(
        "--against",
        metavar="LABEL",
        help="class that it is compared with (default: all others together)",
    )
    command.add_argument(
        "--targets",
        choices=["predicted"],
        help="with several labels a document: explain each label that it gets",
    )
    command.add_argument(
        "--method",
        default="shapley",
        help="shapley (default), gradient_attention, attention, random",
    )


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--train",
        metavar="TABLE",
        help="what the model learnt from: then it is compared with a linear model of the same",
    )
    command.add_argument(
        "--mistakes",
        type=_positive,
        default=10,
        metavar="N",
        help="worst mistakes that are explained (default: 10)",
    )


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "positive integer"  # argparse names it in its message


_FAILED, _USAGE, _INTERRUPTED, _NOT_READ = 1, 2, 130, 141


# What data, model and machine bring about. Anything else is our mistake, and shows its traceback.
_EXPECTED = (
    ArithmeticError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


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
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # after the message of argparse, or the help
        return int(end.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            _run(arguments)
            _flush()
        except UsageError as error:
            _tell("error", error)
            return _USAGE
        except BrokenPipeError:
            _drop_output()
            return _NOT_READ
        except KeyboardInterrupt:
            _tell("interrupted", "")
            return _finished(_INTERRUPTED)
        except _EXPECTED as error:
            if arguments.verbose:
                from sk_han.utils.messages import visible

                tell(visible(traceback.format_exc()), end="")
            _tell("error", _message(error))
            return _finished(_FAILED)
    return 0


def _run(arguments: argparse.Namespace) -> None:
    if arguments.command in LEARNING:
        from sk_han.cli import fitting

        getattr(fitting, arguments.command)(arguments)
    elif arguments.command == "warm-up":
        from sk_han.kernels.engine import warm_up

        print(f"The kernels are compiled; it took {warm_up():.1f} s.")
    else:
        from sk_han.cli import scoring

        getattr(scoring, arguments.command)(arguments)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) or not str(error):
        return f"{type(error).__name__} {error}".strip()
    return str(error)


def _tell(kind: str, message: object) -> None:
    """Write one line on standard error; names of files and labels cannot control the terminal."""
    from sk_han.utils.messages import in_one_line

    line = in_one_line(message)
    tell(f"sk-han: {kind}{': ' if line else ''}{line}")


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    _tell("warning", message)


def _finished(code: int) -> int:
    """Flush standard output; after a failure there, nothing more is tried at exit."""
    try:
        _flush()
    except OSError:
        _drop_output()
    return code


def _flush() -> None:
    if sys.stdout is not None:  # as after >&-
        sys.stdout.flush()


def _drop_output() -> None:
    """Send the rest of standard output nowhere, so that Python's flush at exit says nothing."""
    with suppress(io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
