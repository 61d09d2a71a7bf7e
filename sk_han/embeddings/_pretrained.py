"""Pretrained word vectors: read from files, and aligned with a vocabulary."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sk_han._documents import DocumentArray, normal_form
from sk_han._utils.containers import listed
from sk_han._utils.messages import a_kind, plural, shorten

# Unpacked bytes of a line, enough for 50,000 dimensions. A file without line ends would fill the
# memory.
_LONGEST_LINE = 1 << 20
_HEADER = re.compile(r"\d{1,18} \d{1,18}", re.ASCII)  # of numbers that fit into 64 bits
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)

# NaN and infinity count as numbers when the first line tells how many numbers a line has.
_LIKE_NUMBER = re.compile(
    rf"{_NUMBER.pattern}|[-+]?(?:nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)


def read_vectors(
    path: str | os.PathLike[str],
) -> Iterator[tuple[str, Callable[[], NDArray[np.float32]]]]:
    """Yield the words of a file, each with a function that parses its vector on demand.

    A line has a word and its numbers, separated by single spaces. A word may contain spaces, as
    some in GloVe's files do, so numbers are taken from the right. A first line of two integers is
    word2vec's header: the number of words, and of dimensions. The file is UTF-8, and may be
    compressed with gzip under any name.
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
            f"found {shorten(first, 60)!r}."
        )
    n_words = 0
    for number, line in lines:
        where = f"{path}, line {number}"
        word, numbers = _split(line, embedding_dim, where)
        yield word, partial(_parse, numbers, where)
        n_words += 1
    if n_announced not in (None, n_words):
        raise ValueError(
            f"{path} has {plural(n_words, 'word')}, but its first line announces {n_announced:,}. "
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
                text = _decode(line, f"{path}, line {number}").rstrip(" \r\n")
                if text:
                    yield number, text.removeprefix("\ufeff") if number == 1 else text
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}). Fetch it again.") from error


def _open_bytes(path: Path) -> BinaryIO:
    # Reading from a pipe would block.
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a folder, pipe or device; expected a file of word vectors.")
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path) if compressed else path.open("rb"))


def _decode(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: byte 0x{line[error.start]:02x} is not UTF-8. Unpack a .zip archive first, "
            "or load word2vec's binary format with gensim, and give its KeyedVectors as the path."
        ) from None


def _split(line: str, embedding_dim: int, where: str) -> tuple[str, str]:
    """Split a line into the word and its numbers."""
    if line.count(" ") == embedding_dim and "\t" not in line:
        # Nearly all lines are of this form. Splitting off each number would double the time of
        # reading.
        word, _, numbers = line.partition(" ")
        return word, numbers
    word, *fields = line.rsplit(" ", embedding_dim)
    pieces = word.split(" ")
    one_too_many = len(pieces) > 1 and ("" in pieces or _NUMBER.fullmatch(pieces[-1]))
    if len(fields) < embedding_dim or one_too_many or "\t" in line:
        raise ValueError(
            f"{where}: expected a word and {embedding_dim} numbers, as at the start of the file, "
            f"separated by single spaces; found {_trailing_numbers(line)} numbers in "
            f"{shorten(line, 60)!r}. Correct the line or leave it out."
        )
    return word, " ".join(fields)


def _trailing_numbers(line: str) -> int:
    """Count the numbers at the end of a line, without its first field, which is the word."""
    fields = line.split(" ")[1:]
    return sum(1 for _ in takewhile(_LIKE_NUMBER.fullmatch, reversed(fields)))


def _parse(numbers: str, where: str) -> NDArray[np.float32]:
    try:
        # Numbers that overflow become infinite, which is refused below.
        with np.errstate(over="ignore"):
            vector = np.array(numbers.split(" "), dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"{where}: {error}. Correct the line or leave it out.") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"{where} holds a number that is not finite. Leave the line out.")
    return vector


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Mapping[str, NDArray[np.float32]]):
    """Mapping of words to vectors, with coverage of a vocabulary: the result of `load_embeddings`.

    Parameters
    ----------
    rows : mapping of str to int
        Row of the vector of each word.
    vectors : ndarray of float32, shape (n_vectors, embedding_dim)
    n_words : int, default=None
        Number of words of the vocabulary.
    n_known : int, default=None
        Number of these that have a vector.
    running_coverage : float, default=None
        Share of the words of some documents that have a vector, with repetitions.
    """

    rows: Mapping[str, int]
    vectors: NDArray[np.float32]
    n_words: int | None = None
    n_known: int | None = None
    running_coverage: float | None = None

    @property
    def embedding_dim(self) -> int:
        """Size of a vector."""
        return self.vectors.shape[1]

    @property
    def coverage(self) -> float | None:
        """Share of the words of the vocabulary that have a vector; None without a vocabulary."""
        if self.n_words is None or self.n_known is None:
            return None
        return self.n_known / self.n_words

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return self.vectors[self.rows[word]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    # `Mapping` would compare the arrays of items, whose comparison has no single truth value.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __deepcopy__(self, memo: Any) -> Embeddings:
        # Otherwise scikit-learn's `clone` would copy the vectors for each fold and candidate.
        return self

    def __repr__(self) -> str:
        words = plural(len(self), "word")
        if self.coverage is not None:
            words = f"{self.n_known:,} of {self.n_words:,} words ({100 * self.coverage:.1f} %)"
        if self.running_coverage is not None:
            words += f", {100 * self.running_coverage:.1f} % of running words"
        return f"Embeddings({words}, embedding_dim={self.embedding_dim})"


def load_embeddings(
    path: str | os.PathLike[str] | Any,
    vocabulary: Any = None,
    documents: DocumentArray | None = None,
) -> Embeddings:
    r"""Load pretrained word vectors.

    Parameters
    ----------
    path : str, path-like, or gensim KeyedVectors
        A text file in the format of GloVe or word2vec, compressed with gzip or not. Or loaded
        vectors: gensim's ``KeyedVectors``, or a mapping of words to vectors.
    vocabulary : fitted HierarchicalTokenizer or mapping of str to int, default=None
        The words to load, for example ``tokenizer.vocabulary_``; None loads all.
    documents : DocumentArray, default=None
        Documents of ids of this vocabulary, to compute the coverage of running words too.

    Returns
    -------
    Embeddings
        For ``HANClassifier(embedding_init=...)``, which aligns it with the vocabulary that it
        learns from raw text, or for `embedding_matrix`.

    Raises
    ------
    FileNotFoundError, TypeError
        If there is no such file, or the vocabulary is not a mapping.
    ValueError
        If the file or a vector is damaged, in which case the message names the line or the words,
        or if no word of the vocabulary has a vector.

    Notes
    -----
    A word gets its own vector, the first one if there are several. If there is none, a word in
    lower case gets that of the first word that differs only in case ("Paris" for "paris"), and a
    word with capitals that of its lower case. Words are compared in Unicode's form NFC, with "'"
    for other apostrophes. The file is read line by line, and only vectors that are kept are parsed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_han import HierarchicalTokenizer
    >>> from sk_han.embeddings import load_embeddings
    >>> tokenizer = HierarchicalTokenizer()
    >>> documents = tokenizer.fit_transform(["A fine film.", "A fine, fine day."])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.txt")
    ...     _ = path.write_text("fine 0.5 0.25\ndull -0.5 0.0\na 0.0 0.125\n")
    ...     vectors = load_embeddings(path, tokenizer, documents)
    >>> vectors
    Embeddings(2 of 6 words (33.3 %), 50.0 % of running words, embedding_dim=2)
    >>> vectors["fine"].tolist()
    [0.5, 0.25]
    """
    if vocabulary is None and documents is not None:
        raise ValueError("documents hold word ids, whose words only their vocabulary has: give it.")
    if vocabulary is None:
        return _collect(_entries(path), None)
    ids = word_ids(vocabulary)
    embeddings = _collect(_entries(path), {key for word in ids for key in _spellings(word)})
    rows = [row for word, row in ids.items() if _key(word, embeddings) is not None]
    if not rows:
        source = path if isinstance(path, (str, os.PathLike)) else f"the {type(path).__name__}"
        raise ValueError(
            f"No word of the vocabulary has a vector in {source}; check that both are of one "
            f"language and write words alike. First words of the vocabulary: {list(ids)[:5]}."
        )
    coverage = len(ids), len(rows), running_share(documents, np.array(rows))
    return Embeddings(embeddings.rows, embeddings.vectors, *coverage)


def embedding_matrix(
    vectors: Any, vocabulary: Mapping[str, int], embedding_dim: int, random_state: Any = None
) -> NDArray[np.float32]:
    """Return a matrix with the vector of each word in the row of its id.

    Parameters
    ----------
    vectors : mapping of str to array-like of shape (embedding_dim,)
        A dict, or another object that supports ``word in vectors`` and ``vectors[word]``. Other
        spellings of a word are tried as in `load_embeddings`.
    vocabulary : mapping of str to int
        Ids of the words, from 2.
    embedding_dim : int
    random_state : int, RandomState instance or None, default=None
        Source of the random rows of words without a vector, whose standard deviation is that of the
        other rows.

    Returns
    -------
    ndarray of float32, shape (highest id + 1, embedding_dim)

    Raises
    ------
    ValueError
        If no word of the vocabulary has a vector, or one has another size or is not finite.

    Examples
    --------
    >>> from sk_han.embeddings import embedding_matrix
    >>> vectors = {"good": [1.0, 0.0], "bad": [-1.0, 0.0]}
    >>> matrix = embedding_matrix(vectors, {"good": 2, "fine": 3}, 2, random_state=0)
    >>> matrix.shape, matrix[2].tolist()
    ((4, 2), [1.0, 0.0])
    """
    keys = {word: key for word in vocabulary if (key := _key(word, vectors)) is not None}
    missing = vocabulary.keys() - keys.keys()
    for key in getattr(vectors, "key_to_index", vectors if isinstance(vectors, Mapping) else ()):
        if isinstance(key, str) and (word := normal_form(key).lower()) in missing:
            keys.setdefault(word, key)
    if not keys:
        raise ValueError(
            "No word of the vocabulary has a pretrained vector; check that both are of one "
            f"language and write words alike. First words: {list(vocabulary)[:5]}."
        )
    rows = []
    for word, key in keys.items():
        vector = _single(vectors[key])
        if vector.shape != (embedding_dim,):
            raise ValueError(
                f"The pretrained vector of {word!r} has the shape {vector.shape}, but "
                f"embedding_dim={embedding_dim}; set embedding_dim to the size of the vectors."
            )
        rows.append(vector)
    table = np.stack(rows)
    _check_finite(table, list(keys.values()))
    shape, rng = (max(vocabulary.values()) + 1, embedding_dim), check_random_state(random_state)
    matrix = rng.normal(scale=table.std(), size=shape)
    matrix[[vocabulary[word] for word in keys]] = table
    return matrix.astype(np.float32)


def running_share(documents: DocumentArray | None, ids: NDArray[np.int64]) -> float | None:
    """Return the share of all words, with repetitions, that have one of these ids, or None."""
    if documents is None or not documents.n_words:
        return None
    return int(np.isin(documents.word_ids, ids).sum()) / documents.n_words


def _entries(path: Any) -> Iterable[tuple[str, Callable[[], Any]]]:
    """Return pairs of a word and a function that returns its vector."""
    if isinstance(path, (str, os.PathLike)):
        return read_vectors(path)
    # KeyedVectors of gensim are not iterable.
    words = getattr(path, "key_to_index", path)
    if not isinstance(words, Mapping):
        raise TypeError(f"path is {a_kind(path)}; give a path, KeyedVectors, or a mapping.")
    return ((word, partial(path.__getitem__, word)) for word in words)


def word_ids(vocabulary: Any) -> Mapping[str, int]:
    """Return the vocabulary of a fitted tokenizer, or a mapping of words to ids, after a check."""
    if hasattr(vocabulary, "get_params"):
        check_is_fitted(vocabulary)
        vocabulary = getattr(vocabulary, "vocabulary_", vocabulary)
    if not isinstance(vocabulary, Mapping):
        raise TypeError(
            f"vocabulary is {a_kind(vocabulary)}; give a fitted HierarchicalTokenizer or "
            "its vocabulary_, a mapping of words to ids."
        )
    for word, number in vocabulary.items():
        if not isinstance(number, Integral):
            raise TypeError(f"vocabulary maps {word!r} to {number!r}; ids are integers.")
    return vocabulary


def _collect(
    entries: Iterable[tuple[str, Callable[[], Any]]], wanted: Set[str] | None
) -> Embeddings:
    """Collect the vectors of wanted words, and vectors for words that differ only in case."""
    rows: dict[str, int] = {}
    by_lower: dict[str, int] = {}
    data, collected, shape = bytearray(), list[str](), (0,)
    for raw, get_vector in entries:
        word = normal_form(raw)
        lower = word.lower()
        is_new = word not in rows and (wanted is None or word in wanted)
        has_lower = lower in rows or lower in by_lower or lower == word
        is_fallback = not has_lower and (wanted is None or lower in wanted)
        if is_new or is_fallback:
            vector = _single(get_vector())
            shape = shape if collected else vector.shape
            if vector.ndim != 1 or vector.shape != shape:
                raise ValueError(
                    f"The vector of {word!r} has the shape {vector.shape}; expected one row of "
                    f"numbers for each word, all of one length, as {shape} before it."
                )
            data += vector.tobytes()
            if is_new:
                rows[word] = len(collected)
            if is_fallback:
                by_lower[lower] = len(collected)
            collected.append(word)
    vectors = np.frombuffer(data, dtype=np.float32).reshape(len(collected), *shape)
    _check_finite(vectors, collected)
    vectors.flags.writeable = False
    return Embeddings(by_lower | rows, vectors)


def _single(vector: Any) -> NDArray[np.float32]:
    # Numbers that overflow become infinite, which `_check_finite` refuses.
    with np.errstate(over="ignore"):
        return np.asarray(vector, dtype=np.float32)


def _check_finite(vectors: NDArray[np.float32], words: Sequence[str]) -> None:
    """Raise a ValueError if the vector of a word, one per row, is not finite."""
    wrong = [words[row] for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()]
    if wrong:
        raise ValueError(
            f"The pretrained vectors of {listed(wrong, 3)}, {len(wrong):,} of {len(words):,}, "
            "hold NaN, infinity or numbers beyond single precision. Leave them out for random ones."
        )


def _key(word: str, vectors: Any) -> str | None:
    """Return the key under which `vectors` has a vector for a word, or None."""
    return next((key for key in _spellings(word) if key in vectors), None)


def _spellings(word: str) -> tuple[str, str, str]:
    """Return the keys that are tried for a word: as it is, in normal form, and in lower case."""
    normal = normal_form(word)
    return word, normal, normal.lower()
