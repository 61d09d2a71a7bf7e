"""Word vectors in text files of the formats of GloVe and word2vec, read line by line."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.messages import counted, shortened

# Bytes, unpacked: the numbers of 50,000 dimensions. A line without end would fill the memory.
_LONGEST_LINE = 1 << 20
_HEADER = re.compile(r"\d{1,18} \d{1,18}", re.ASCII)  # of numbers that fit into 64 bits

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)

# The first line tells how many numbers a line has: what is no finite number counts as one there.
_LIKE_NUMBER = re.compile(
    rf"{_NUMBER.pattern}|[-+]?(?:nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)


def read_vectors(
    path: str | os.PathLike[str],
) -> Iterator[tuple[str, Callable[[], NDArray[np.float32]]]]:
    """Yield the words of a file, and functions that parse their vectors: only on request.

    A line has a word and its numbers, separated by single spaces. The word may contain spaces, as a
    few in GloVe's files do: numbers are taken from the right. A first line of two integers is
    word2vec's header: the number of words, and of numbers a word. UTF-8, with gzip or without,
    whatever its name.
    """
    path = Path(path)
    lines = _lines(path)
    number, first = next(lines, (0, ""))
    if not first:
        raise ValueError(f"{path} is empty; expected a word and its numbers on each line.")
    n_announced = None
    if _HEADER.fullmatch(first):
        n_announced, embedding_dim = map(int, first.split(" "))
    else:
        embedding_dim = _trailing_numbers(first)
        lines = chain([(number, first)], lines)
    if not embedding_dim:
        raise ValueError(
            f"{path}, line {number}: expected a word and its numbers, separated by single spaces; "
            f"found {shortened(first, 60)!r}."
        )
    n_words = 0
    for number, line in lines:
        where = f"{path}, line {number}"
        word, numbers = _split(line, embedding_dim, where)
        yield word, partial(_parsed, numbers, where)
        n_words += 1
    if n_announced not in (None, n_words):
        raise ValueError(
            f"{path} has {counted(n_words, 'word')}, but its first line announces {n_announced:,}. "
            "Fetch the file again, or correct that line if you shortened the file yourself."
        )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, each with its number."""
    try:
        with _open_bytes(path) as lines:
            read = partial(lines.readline, _LONGEST_LINE + 1)
            for number, line in enumerate(iter(read, b""), start=1):
                if len(line) > _LONGEST_LINE:
                    raise ValueError(
                        f"{path}, line {number} is longer than {_LONGEST_LINE:,} bytes; expected a "
                        "word and its numbers. Is it a text file of word vectors?"
                    )
                text = _decoded(line, f"{path}, line {number}").rstrip(" \r\n")
                if text:
                    yield number, text.removeprefix("\ufeff") if number == 1 else text
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}). Fetch it again.") from error


def _open_bytes(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():  # a pipe would block
        raise ValueError(f"{path} is a folder, pipe or device; expected a file of word vectors.")
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path) if compressed else path.open("rb"))


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: byte 0x{line[error.start]:02x} is not UTF-8. Expected text: unpack a .zip "
            "archive first, and load word2vec's binary format with gensim, whose KeyedVectors "
            "may be given in place of the path."
        ) from None


def _split(line: str, embedding_dim: int, where: str) -> tuple[str, str]:
    """Split a line into the word and its numbers."""
    if line.count(" ") == embedding_dim:
        # Nearly every line. Splitting all its numbers doubled the time of reading a file.
        word, _, numbers = line.partition(" ")
        return word, numbers
    word, *fields = line.rsplit(" ", embedding_dim)
    pieces = word.split(" ")
    one_too_many = len(pieces) > 1 and ("" in pieces or _NUMBER.fullmatch(pieces[-1]))
    if len(fields) < embedding_dim or one_too_many:
        raise ValueError(
            f"{where}: expected a word and {embedding_dim} numbers, as at the start of the file, "
            f"separated by single spaces; found {_trailing_numbers(line)} numbers in "
            f"{shortened(line, 60)!r}. Correct the line or leave it out."
        )
    return word, " ".join(fields)


def _trailing_numbers(line: str) -> int:
    """Count the numbers at the end of a line, without its first field, which is the word."""
    fields = line.split(" ")[1:]
    return sum(1 for _ in takewhile(_LIKE_NUMBER.fullmatch, reversed(fields)))


def _parsed(numbers: str, where: str) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # refused below
            vector = np.array(numbers.split(" "), dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"{where}: {error}. Correct the line or leave it out.") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"{where} holds a number that is not finite. Leave the line out.")
    return vector
