"""The documents and labels of a scenario, and the containers that a user hands them over in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

_CUES = ["good", "bad", "odd", "new", "red", "wet", "big", "sad"]
_FILLERS = ["the", "a", "meal", "day", "sun", "film", "came", "late", "we", "and", "very", "it"]
_SCRIPTS = ["这部电影很好。", "فيلم جميل", "Прекрасно!", "नमस्ते", "😀😀", "e\u0301tude", "ｆｕｌｌ"]
_MARKUP = ["<b>it</b>", '"we"', "a,b;c", "a\tb", "'s", "{x}", "&amp;", "$1.50", "#tag", "C++"]


# How many documents each class has.
CLASSES: dict[str, list[int]] = {
    "two": [10, 10],
    "three": [7, 7, 7],
    "one": [8],
    "one with a document": [9, 1],
    "one with four documents": [20, 4],
    "some with two to three documents": [20, 12, 3, 2],
    "many": 22 * [2],
    "two documents": [1, 1],
    "conflicting": [27, 27],
}


def _drawn(n: int, n_labels: int, share: float) -> Callable[[np.random.Generator], np.ndarray]:
    """Each label has two documents or more, and some documents have none."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        has = rng.random((n, n_labels)) < share
        for label in range(n_labels):
            has[[label % (n - 1), (label + 3) % (n - 1)], label] = True
        has[-1] = False
        return has

    return draw


def _none_and_all(rng: np.random.Generator) -> np.ndarray:
    """The second of four labels has no document, and the third has all."""
    has = _drawn(20, 4, 0.4)(rng)
    has[:, 1], has[:, 2] = False, True
    return has


def _rare(rng: np.random.Generator) -> np.ndarray:
    """One label has half of the documents, each other a document or two; most have none."""
    has = np.zeros((24, 5), dtype=bool)
    has[:12, 0] = True
    has[[0, 13, 13, 14, 1, 15], [1, 2, 3, 3, 4, 4]] = True
    return has


# Which of several labels the documents have, (D, L).
SEVERAL: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "several labels": _drawn(24, 4, 0.3),
    "two labels": _drawn(16, 2, 0.5),
    "labels of no document and of all": _none_and_all,
    "rare labels": _rare,
    "many labels": _drawn(40, 33, 0.03),  # more than 30, which share a vector of a document
}


def _plain(rng: np.random.Generator, cue: str) -> str:
    def sentence() -> str:
        return " ".join([cue, *rng.choice(_FILLERS, size=int(rng.integers(2, 6)))]) + "."

    return " ".join(sentence() for _ in range(int(rng.integers(1, 4))))


def _some_empty(rng: np.random.Generator, cue: str) -> str:
    return str(rng.choice(["", "  \n", "!!!", *3 * [_plain(rng, cue)]]))


def _long(rng: np.random.Generator, cue: str) -> str:
    """A few have a sentence of 70 words, or 30 sentences."""
    if rng.random() < 0.9:
        return _plain(rng, cue)
    words = " ".join([cue, *rng.choice(_FILLERS, size=70)])
    return words + "." if rng.random() < 0.5 else ". ".join(words.split()[:30])


def _with(extras: list[str]) -> Callable[[np.random.Generator, str], str]:
    def document(rng: np.random.Generator, cue: str) -> str:
        return f"{_plain(rng, cue)} {rng.choice(extras)} {rng.choice(extras)}"

    return document


# How a document of a class is written, whose cue word is given.
DOCUMENTS: dict[str, Callable[[np.random.Generator, str], str]] = {
    "plain": _plain,
    "some empty": _some_empty,
    "a word": lambda rng, cue: cue,
    "other scripts": _with(_SCRIPTS),
    "marks and markup": _with(_MARKUP),
    "long": _long,
    "upper case and lines": lambda rng, cue: _plain(rng, cue).upper().replace(". ", ".\r\n\r\n"),
}


def documents_of(kind: str, classes: str, seed: int) -> tuple[list[str], list[int]]:
    """Return texts and the numbers of their classes, in a drawn order."""
    rng = np.random.default_rng(seed)
    targets = [number for number, n in enumerate(CLASSES[classes]) for _ in range(n)]
    cues = [_cue(target) for target in targets]
    texts = [DOCUMENTS[kind](rng, cue) for cue in cues]
    texts[0] = f"{cues[0]} day. The good and the bad came."  # a vocabulary, whatever is drawn
    if classes == "conflicting":
        texts[0] = texts[-1] = conflicting
    order = rng.permutation(len(texts)).tolist()
    return [texts[i] for i in order], [targets[i] for i in order]


def documents_with_labels(kind: str, labels: str, seed: int) -> tuple[list[str], np.ndarray]:
    """Return texts and which labels they have, bool of shape (D, L), in a drawn order."""
    rng = np.random.default_rng(seed)
    has = SEVERAL[labels](rng)
    cues = [" ".join(_cue(label) for label in np.flatnonzero(row)) or "plain" for row in has]
    texts = [DOCUMENTS[kind](rng, cue) for cue in cues]
    texts[0] = f"{cues[0]} day. The good and the bad came."
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], has[order]


def _cue(number: int) -> str:
    return _CUES[number % len(_CUES)] + ("" if number < len(_CUES) else str(number))


# How many distinct numbers the documents have; None for one each.
NUMBERS: dict[str, int | None] = {"numbers": None, "few numbers": 3, "one number": 1}


def documents_with_numbers(kind: str, numbers: str, seed: int) -> tuple[list[str], list[float]]:
    """Return texts and their numbers, in a drawn order; a number follows from the cue word."""
    rng = np.random.default_rng(seed)
    n_distinct = NUMBERS[numbers]
    grades = [i % (n_distinct or len(_CUES)) for i in range(24)]
    texts = [DOCUMENTS[kind](rng, _cue(grade)) for grade in grades]
    texts[0] = "good day. The good and the bad came."
    noise = 0.0 if n_distinct else rng.normal(size=len(grades))
    values = (10 + 2.5 * np.array(grades) + noise).tolist()  # above 0, for scale="log"
    order = rng.permutation(len(texts)).tolist()
    return [texts[i] for i in order], [values[i] for i in order]


conflicting = "The good and the bad day came late and we had a meal."

# The label of each number of a class.
_NAMES = ["pos", "neg", "so-so", "none"]
_ODD = ["", " ", "a,b", 'q"q', "line\nline", "<b>&", "é", "电影", "x" * 300, "None", "nan", "-1"]
LABELS: dict[str, Callable[[int], Any]] = {
    "names": lambda n: _NAMES[n] if n < len(_NAMES) else f"class {n}",
    "digits": lambda n: str(n + 1),
    "whole numbers": lambda n: n,
    "negative numbers": lambda n: n - 2,
    "booleans": lambda n: n % 2 == 1,
    "whole floats": lambda n: float(n + 1),
    "odd names": lambda n: _ODD[n] if n < len(_ODD) else f"{_ODD[n % len(_ODD)]}{n}",
    "large numbers": lambda n: 2**40 + n,
}

_INDEX_OF: dict[str, Callable[[int], Any]] = {
    "usual": lambda n: pd.RangeIndex(n),
    "backwards": lambda n: pd.RangeIndex(n, 0, -1),
    "all the same": lambda n: pd.Index([7] * n),
    "names": lambda n: pd.Index([f"row {i}" for i in range(n)]),
    "dates": lambda n: pd.date_range("2020-01-01", periods=n),
    "levels": lambda n: pd.MultiIndex.from_arrays([[i % 2 for i in range(n)], range(n)]),
}
INDEXES = list(_INDEX_OF)


def _series(values: list[Any], index: str, dtype: Any = None) -> pd.Series:
    return pd.Series(values, index=_INDEX_OF[index](len(values)), dtype=dtype, name="column")


def _objects(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


# Of texts, and the name of an index for those that have one.
CONTAINERS_OF_TEXTS: dict[str, Callable[[list[str], str], Any]] = {
    "list": lambda texts, index: texts,
    "tuple": lambda texts, index: tuple(texts),
    "array of objects": lambda texts, index: _objects(texts),
    "array of unicode": lambda texts, index: np.array(texts),
    "array of NumPy strings": lambda texts, index: np.array(texts, dtype=np.dtypes.StringDType()),
    "column of an array": lambda texts, index: _objects(texts)[:, None],
    "bytes": lambda texts, index: [text.encode() for text in texts],
    "Series": lambda texts, index: _series(texts, index),
    "Series of objects": lambda texts, index: _series(texts, index, object),
    "Series of Python strings": lambda texts, index: _series(texts, index, "string[python]"),
    "Series of Arrow strings": lambda texts, index: _series(texts, index, "string[pyarrow]"),
    "Series of Arrow": lambda texts, index: _series(texts, index, pd.ArrowDtype(pa.string())),
    "Series of categories": lambda texts, index: _series(texts, index, "category"),
    "Index": lambda texts, index: pd.Index(texts),
    "array of pandas": lambda texts, index: pd.array(texts, dtype="string"),
    "frame": lambda texts, index: _series(texts, index).to_frame(),
    "polars": lambda texts, index: pl.Series(texts),
    "polars categories": lambda texts, index: pl.Series(texts, dtype=pl.Categorical),
    "polars frame": lambda texts, index: pl.DataFrame({"text": texts}),
    "Arrow": lambda texts, index: pa.array(texts),
    "Arrow in chunks": lambda texts, index: pa.chunked_array([texts[:1], texts[1:]]),
    "Arrow dictionary": lambda texts, index: pa.array(texts).dictionary_encode(),
}

_NULLABLE = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}


def _nullable(labels: list[Any], index: str) -> pd.Series:
    return _series(labels, index, _NULLABLE[type(labels[0])])


# As of texts.
CONTAINERS_OF_LABELS: dict[str, Callable[[list[Any], str], Any]] = {
    "array": lambda labels, index: np.array(labels),
    "list": lambda labels, index: labels,
    "tuple": lambda labels, index: tuple(labels),
    "array of objects": lambda labels, index: _objects(labels),
    "Series": lambda labels, index: _series(labels, index),
    "Series of objects": lambda labels, index: _series(labels, index, object),
    "Series of categories": lambda labels, index: _series(labels, index, "category"),
    "Series of ordered categories": lambda labels, index: _series(
        labels, index, pd.CategoricalDtype([*dict.fromkeys(labels)], ordered=True)
    ),
    "polars Enum": lambda labels, index: pl.Series(labels, dtype=pl.Enum([*dict.fromkeys(labels)])),
    "nullable": _nullable,
    "Series of Arrow": lambda labels, index: _nullable(labels, index).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "Index": lambda labels, index: pd.Index(labels),
    "polars": lambda labels, index: pl.Series(labels),
    "Arrow": lambda labels, index: pa.array(labels),
    "frame": lambda labels, index: _series(labels, index).to_frame(),
}


def _with_zeros(values: np.ndarray) -> sparse.csr_matrix:
    """Store zeros, too."""
    n, n_labels = values.shape
    columns, starts = np.tile(np.arange(n_labels), n), np.arange(0, values.size + 1, n_labels)
    return sparse.csr_matrix((values.ravel().astype(np.int64), columns, starts), values.shape)


# Of an indicator and the names of its columns, and as of texts.
INDICATORS: dict[str, Callable[[np.ndarray, list[Any], str], Any]] = {
    "indicator": lambda values, names, index: values.astype(np.int64),
    "indicator of booleans": lambda values, names, index: values,
    "indicator of floats": lambda values, names, index: values.astype(np.float64),
    "sparse indicator": lambda values, names, index: sparse.csr_matrix(values, dtype=np.int8),
    "sparse indicator with zeros": lambda values, names, index: _with_zeros(values),
    "indicator frame": lambda values, names, index: pd.DataFrame(
        values.astype(int), columns=names, index=_INDEX_OF[index](len(values))
    ),
    "polars indicator frame": lambda values, names, index: pl.DataFrame(
        values.astype(np.int8), schema=names
    ),
}
