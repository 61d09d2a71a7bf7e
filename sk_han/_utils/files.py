"""Files: atomic replacement, CSV tables, and the state of pickled estimators."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from inspect import signature
from pathlib import Path
from typing import Any, BinaryIO

# The files that a block of `replacing_together` has written: temporary path, final path, and the
# path to which an old file is moved.
_MOVES: ContextVar[list[tuple[Path, Path, Path]] | None] = ContextVar("moves", default=None)


@contextmanager
def replacing_together() -> Iterator[list[tuple[Path, Path, Path]]]:
    """Replace all files that are written in the block when it ends without an error, or none.

    If a file cannot be moved, files moved before are moved back, the new ones are kept under other
    names, and the OSError reports these names. If the process is killed while it moves several
    files, old ones may remain as hidden files with the extension ``.old``. The file that was
    written last is replaced first, when the other old files have been moved out of the way, so a
    reader never finds a new file next to old ones.
    """
    moves: list[tuple[Path, Path, Path]] = []
    token = _MOVES.set(moves)
    try:
        yield moves
        _move(moves)
    finally:
        _MOVES.reset(token)
        for new, *_ in moves:
            _remove(new)


@contextmanager
def naming(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Name the file in an OSError of the block that names none, or only the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno and str(error.filename) in ("None", str(temporary)):
            error.filename = os.fspath(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the one at `path` when the block ends without an error.

    The new file is written next to it under a temporary name, flushed to the disk, and moved in one
    step; until then the old file does not change. The target of a symbolic link is replaced.
    Temporary files of killed processes are removed after an hour. An OSError names the file.
    """
    target = _target(path)
    # The `tempfile` module would create a file that only its owner can read; `open` uses the umask.
    new = target.with_name(f".sk_han-{secrets.token_hex(8)}.tmp")
    with suppress(OSError):
        for left in target.parent.glob(".sk_han-*.tmp"):
            # A file changed within the last hour may belong to a process that is still writing.
            if left.lstat().st_mtime < time.time() - 3600:
                _remove(left)
    moves = _MOVES.get()
    with replacing_together() if moves is None else nullcontext(moves) as moves:
        moves.append((new, target, new.with_suffix(".old")))
        with naming(path, new), open(new, "x+b") as file:
            if mode := _mode(target):
                os.chmod(new, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())


def _move(moves: list[tuple[Path, Path, Path]]) -> None:
    # A file alone is replaced in one step, and there is nothing to move back.
    several = moves if len(moves) > 1 else []
    try:
        for _, target, old in several:
            if _mode(target):
                os.replace(target, old)
        for new, target, _ in reversed(moves):
            os.replace(new, target)
    except BaseException as error:
        for new, path, old in several:
            if not _mode(new):
                os.replace(path, new)
            if _mode(old):
                os.replace(old, path)
        if not isinstance(error, OSError):
            raise
        kept = [
            path.with_name(f"{path.stem}{new.name[7:-4]}{path.suffix}") for new, path, _ in moves
        ]
        for (new, *_), path in zip(moves, kept, strict=True):
            os.rename(new, path)
        reason = f"{error.strerror}; what was written is kept in {', '.join(map(str, kept))}"
        raise OSError(error.errno, reason, str(target)) from error
    for *_, old in moves:
        _remove(old)


def _remove(path: Path) -> None:
    """Remove a temporary file if it exists; that it cannot be removed is not an error."""
    with suppress(OSError):
        path.unlink()


# A file of `save` begins with the length of its header and this entry.
_MODEL = re.compile(rb'(?s).{8}\{"__metadata__":\{"sk_han":')


def check_replaceable(
    path: str | os.PathLike[str], force: str | None = None, *, by_model: bool = False
) -> None:
    """Raise the OSError that `replacing` would raise, as far as it can be foreseen; change nothing.

    With `force`, the name of the option that overwrites files, an existing file is an error too,
    unless it is empty, or a model and about to be replaced `by_model`.
    """
    target = _target(path)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"{path} cannot be written: no permission to write to {target.parent}."
        )
    if force and _mode(target) and target.stat().st_size:
        with naming(path), open(target, "rb") as file:
            if not (by_model and _MODEL.match(file.read(64))):
                raise FileExistsError(
                    f"{path} exists{', and is not a model' * by_model}. Give another name, or "
                    f"{force} to replace it."
                )


def _target(path: str | os.PathLike[str]) -> Path:
    link, target = Path(path), Path(os.path.realpath(Path(path)))
    if stat.S_ISDIR(_mode(target)):
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    # The link itself is checked, because /dev/stdout is a link to a pipe that has no name.
    if (mode := _mode(link)) and not stat.S_ISREG(mode):
        raise OSError(f"{path} is a device or a pipe; give the name of a file.")
    if not stat.S_ISDIR(_mode(target.parent)):
        raise FileNotFoundError(f"There is no folder {target.parent}; make it first.")
    return target


def _mode(path: Path) -> int:
    """Return the mode of a file, or 0 if there is none.

    From Python 3.14 on, `Path.exists` says that there is none if the disk fails.
    """
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def csv_line(cells: Iterable[Any], delimiter: str = ",") -> str:
    """Return a row of a CSV file that every reader splits into the same cells."""
    line = io.StringIO(newline="")
    # With its default line terminator the writer quotes cells that hold "\r" or "\n".
    csv.writer(line, delimiter=delimiter).writerow(cells)
    return line.getvalue()[: -len("\r\n")] + "\n"


# Spreadsheets evaluate cells that begin like this as formulas.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.,]+$)")


def _spreadsheet_cell(cell: Any, decimal: str) -> Any:
    """Escape text that a spreadsheet would evaluate as a formula; round numbers to three digits."""
    if isinstance(cell, float) and not cell.is_integer():
        return f"{cell:.3f}".replace(".", decimal)
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def write_csv(
    path: str | os.PathLike[str],
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    sep: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
) -> None:
    """Write a table for spreadsheets, compressed if its name ends in .gz."""
    cells = ([_spreadsheet_cell(cell, decimal) for cell in row] for row in rows)
    lines = [csv_line(row, sep) for row in (header, *cells)]
    # Excel recognizes UTF-8 by the byte order mark. Lone surrogates cannot be encoded, so they
    # become question marks.
    data = "".join(lines).encode(encoding, errors="replace")
    with replacing(path) as file:
        file.write(gzip.compress(data) if os.fspath(path).lower().endswith(".gz") else data)


# Limit of weights and vectors, far beyond the results of training. Sums of products of two such
# numbers stay within single precision, so that no valid file predicts NaN.
LARGEST_NUMBER = 1e12


class ModelFormatError(ValueError):
    """Raised for a stored model that is damaged, has another format, or is not a model."""


def unpack_state(state: Any, estimator: Any, *, newest: int) -> dict[str, Any]:
    """Check the format of a pickled state; return it with defaults for missing parameters."""
    # scikit-learn checks the versions of its own estimators only.
    name = type(estimator).__name__
    if not isinstance(state, dict) or type(state.get("_state_format")) is not int:
        raise ModelFormatError(
            f"The state of this {name} does not say its format: it is damaged, or was not made by "
            "sk_han. Save it again with the installed sk_han."
        )
    parameters = signature(type(estimator)).parameters.values()
    state = {p.name: p.default for p in parameters if p.default is not p.empty} | state
    format_number = state.pop("_state_format")
    if format_number != newest:
        repair = "Fit it again, or load it with the release that pickled it."
        if format_number > newest:
            repair = "Install a newer sk_han to load it."
        raise ModelFormatError(
            f"This {name} was pickled in state format {format_number}; this release of sk_han "
            f"reads format {newest}. {repair}"
        )
    return state
