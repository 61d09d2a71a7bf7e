"""The part of columns: a linear model of what stands next to the text in a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import accumulate, pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import Coalitions, DocumentArray
from sk_han.options import Choice, InstanceOf
from sk_han.parts.pool import COLUMNS, Part
from sk_han.storage.schema import Array, ByName, Field, Schema, Sizes, strings
from sk_han.targets import Target
from sk_han.utils.containers import Floats, listed
from sk_han.utils.messages import a_kind, counted, in_one_line, warn_user
from sk_han.validation.documents import TableTexts, as_list, check_texts, is_missing

_BINS = 10  # of a number
_LARGEST = 1e300  # infinite numbers become this one
_LONGEST = 200  # characters of a value that count
_UNSEEN = -1  # the row of a value that the fit has not seen
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# What the values of a column are at a fit; the first that holds for all of them.
_TYPES: dict[str, tuple[type, ...]] = {
    "category": (str, bool, np.bool_),
    "number": (Real, Decimal, np.number),
    "date": (date, np.datetime64),
}
_Rows = NDArray[np.int32]


class Coding(NamedTuple):
    """How values of a column become rows of its weights; the first row is for missing values.

    A number has a row for each bin, a category for each value of two documents or more. A date has
    rows for bins of its year, for 12 months and for 7 weekdays.
    """

    kind: str  # of `_TYPES`
    edges: Floats  # (q,), the largest number of each bin but the last
    values: NDArray[Any]  # (v,), sorted strings

    @property
    def n_bins(self) -> int:
        """Number of bins of a number or of years."""
        return 0 if self.kind == "category" else len(self.edges) + 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return 1 + self.n_bins + len(self.values) + (19 if self.kind == "date" else 0)

    @classmethod
    def of(cls, column: Any, name: str) -> Coding:
        """Learn the bins or the values of a column."""
        cells = _cells(column)
        kinds = {type(cell) for cell in cells if not is_missing(cell)}
        kind = next((k for k, of in _TYPES.items() if all(issubclass(t, of) for t in kinds)), None)
        if kind is None:
            raise TypeError(
                f"Column {name!r} holds {listed(sorted(t.__name__ for t in kinds), write=str)}. "
                "Convert it to numbers, strings or dates, or leave it out of columns."
            )
        if kind == "category":
            values, counts = np.unique(_as_strings(cells, name), return_counts=True)
            return cls(kind, np.empty(0), values[(counts > 1) & (values != "")])
        numbers = _as_dates(cells, name)[0] if kind == "date" else _as_numbers(cells, name)
        numbers = numbers[~np.isnan(numbers)]
        edges = np.empty(0)
        if len(numbers):
            ranks = np.linspace(0, 1, _BINS + 1)[1:-1]
            edges = np.unique(np.quantile(numbers, ranks, method="inverted_cdf"))
        return cls(kind, edges[edges < numbers.max(initial=-np.inf)], np.empty(0, dtype="U1"))

    def rows(self, column: Any, name: str) -> _Rows:
        """Return the rows of the values of a column, (D, 1), of dates (D, 3)."""
        cells = _cells(column)
        if self.kind == "category":
            values = _as_strings(cells, name)
            places = np.searchsorted(self.values, values)
            known = np.append(self.values, "")[places] == values
            found = np.where(known, 1 + places, _UNSEEN)
            found[values == ""] = 0
            return found[:, np.newaxis].astype(np.int32)
        numbers, *others = (
            [_as_numbers(cells, name)] if self.kind == "number" else _as_dates(cells, name)
        )
        missing = np.isnan(numbers)
        rows = [1 + np.searchsorted(self.edges, numbers), *(self.n_bins + each for each in others)]
        found = np.stack(rows, axis=1).astype(np.int32)
        found[missing] = [0, *[_UNSEEN] * len(others)]
        return found

    def written(self, rows: _Rows) -> str:
        """Write the value of a document by its rows."""
        names = self.names()
        return ", ".join(names[row] for row in rows[::-1] if row >= 0) or "unseen"

    def names(self) -> list[str]:
        """Return what each row stands for."""
        bounds = [f"{edge:.6g}" for edge in self.edges.tolist()]
        bins = ["any"][: self.n_bins]
        if bounds:
            between = [f"{low} to {high}" for low, high in pairwise(bounds)]
            bins = [f"≤ {bounds[0]}", *between, f"> {bounds[-1]}"]
        if self.kind == "date":
            return ["missing", *(f"year {each}" for each in bins), *_MONTHS, *_WEEKDAYS]
        return ["missing", *bins, *map(str, self.values)]


class ColumnEncoder(NamedTuple):
    """Reads tables: the column of texts, and those whose values become rows of weights."""

    text: str
    codings: Mapping[str, Coding]
    is_choice: bool  # whether a table may have other columns, which are not read

    @classmethod
    def of(cls, X: Any, y: Any, text: str, columns: Sequence[str] | None) -> ColumnEncoder:
        """Learn from a table of training documents with labels y; None takes all columns."""
        table = columns_of(X)
        chosen = [name for name in table if name != text] if columns is None else [*columns]
        lacking = [name for name in (text, *chosen) if name not in table]
        if lacking:
            raise ValueError(
                f"X has no column {listed(lacking)}; its columns are {listed([*table], 20)}."
            )
        if text in chosen:
            raise ValueError(f"columns has {text!r}, which text_column reads; leave it out there.")
        labels = as_list(y) if np.ndim(y) == 1 else None
        for name in chosen:
            if _cells(table[name]) == labels:
                raise ValueError(f"Column {name!r} holds the labels; name the others in columns.")
        codings = {name: Coding.of(table[name], name) for name in chosen}
        return cls(text, codings, columns is not None)

    def read(self, X: Any, name: str = "X") -> TableTexts:
        """Read texts and the values of columns; errors name the column."""
        if isinstance(X, TableTexts):
            return X
        table = columns_of(X, name)
        known = [self.text, *self.codings]
        new = [] if self.is_choice else [each for each in table if each not in known]
        faults = {
            "unseen at fit time": new,
            "seen at fit time, yet now missing": [each for each in known if each not in table],
        }
        if any(faults.values()):  # in the words of scikit-learn
            parts = [
                f"Feature names {what}:\n" + "".join(f"- {each}\n" for each in names)
                for what, names in faults.items()
                if names
            ]
            raise ValueError(
                f"The feature names of {name} should match those that were passed during fit.\n"
                + "".join(parts)
            )
        texts = self.texts(table, name)
        rows = [np.empty((len(texts), 0), dtype=np.int32)]
        for (column, coding), start in zip(self.codings.items(), self.starts, strict=False):
            found = coding.rows(table[column], column)
            if len(found) != len(texts):
                raise ValueError(
                    f"Column {column!r} has {counted(len(found), 'value')} for "
                    f"{counted(len(texts), 'text')}."
                )
            rows.append(np.where(found < 0, _UNSEEN, start + found).astype(np.int32))
        return TableTexts(texts, np.concatenate(rows, axis=1), getattr(X, "index", None))

    def texts(self, X: Any, name: str) -> list[str]:
        """Return the texts of a table, whose other columns may be missing."""
        return check_texts(
            columns_of(X, name)[self.text], name=name, called=f"Column {self.text!r}, row {{}},"
        )

    @property
    def starts(self) -> list[int]:
        """The first row of each column among those of all, the end last."""
        return [*accumulate((each.n_rows for each in self.codings.values()), initial=0)]

    def places(self) -> Iterator[tuple[str, Coding, int, slice]]:
        """Yield name, coding, first row, and place among the rows of a document, of each column."""
        place = 0
        for (name, coding), start in zip(self.codings.items(), self.starts, strict=False):
            width = 3 if coding.kind == "date" else 1
            yield name, coding, start, slice(place, place + width)
            place += width

    def names_of_rows(self) -> list[str]:
        """Return column and value of each row of weights."""
        return [f"{name} = {v}" for name, coding in self.codings.items() for v in coding.names()]

    def written(self, rows: _Rows) -> tuple[str, ...]:
        """Write the value of each column of a document, whose rows are (M,)."""
        return tuple(
            coding.written(np.where(rows[place] < 0, _UNSEEN, rows[place] - start))
            for _, coding, start, place in self.places()
        )


def _check_rows(state: Any, where: str, sizes: Sizes) -> None:
    codings = [Coding(**each) for each in state["columns"].values()]
    if sum(each.n_rows for each in codings) != sizes["r"]:
        raise ValueError(f"its {where}.weights are not those of its columns")


@dataclass(frozen=True, eq=False)
class ColumnModel(Part):
    """A fitted part of columns: each value of a column has a weight for each class or label."""

    encoder: ColumnEncoder
    weights: Floats  # (R, K); those of a column are 0 on average over the training documents
    intercept: Floats  # (K,)

    kind = "columns"
    SCHEMA = Schema(
        (
            Field("text", InstanceOf(str)),
            Field("is_choice", Choice((False, True))),
            Field(
                "columns",
                ByName(
                    Schema(
                        (
                            Field("kind", Choice((*_TYPES,))),
                            Field("edges", Array("float64", "q", rising=True)),
                            Field("values", strings),
                        )
                    )
                ),
            ),
            Field("weights", Array("float64", "r K")),
            Field("intercept", Array("float64", "K")),
        ),
        rules=(_check_rows,),
    )

    def check(self, documents: DocumentArray) -> None:
        """Check that documents come from a table."""
        if documents.columns is None:
            raise TypeError(
                f"This HANClassifier reads tables: X needs the columns "
                f"{listed([self.encoder.text, *self.encoder.codings], 20)}, and has words alone. "
                "Leave a tokenizer or SentenceEmbedder before it out."
            )

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K); without columns all get the intercept."""
        if documents.columns is None:
            return np.tile(self.intercept, (len(documents), 1))
        return self.intercept + self._weights_of(documents.columns).sum(axis=1)

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences, (M, K): they have no columns."""
        return np.tile(self.intercept, (len(coalitions.lengths), 1))

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Return zeros, (T,): no word contributes."""
        return np.zeros(documents.n_words)

    def contributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, by factors (D, K), among the columns, (D, C)."""
        assert documents.columns is not None
        weights = np.einsum("dmk,dk->dm", self._weights_of(documents.columns), factors)
        found = [weights[:, place].sum(axis=1) for *_, place in self.encoder.places()]
        return np.stack(found, axis=1) if found else np.empty((len(documents), 0))

    def row_contributions(
        self, documents: DocumentArray, factors: Floats
    ) -> tuple[NDArray[np.intp], _Rows, Floats]:
        """Return the document, the row of weights, and the contribution of each known value."""
        assert documents.columns is not None
        found = np.einsum("dmk,dk->dm", self._weights_of(documents.columns), factors)
        document, place = np.nonzero(documents.columns >= 0)
        return document, documents.columns[document, place], found[document, place]

    def _weights_of(self, rows: _Rows) -> Floats:
        """Return the weights of rows (D, M), (D, M, K); 0 of unseen values."""
        return np.append(self.weights, np.zeros((1, len(self.intercept))), axis=0)[rows]

    def to_state(self) -> dict[str, Any]:
        """Return the names of the columns, bins and values, and weights."""
        return {
            "text": self.encoder.text,
            "is_choice": self.encoder.is_choice,
            "columns": {name: each._asdict() for name, each in self.encoder.codings.items()},
            "weights": self.weights,
            "intercept": self.intercept,
        }

    @classmethod
    def from_state(cls, state: Any, target: Target, device: str) -> ColumnModel:
        """Restore a part."""
        codings = {name: Coding(**each) for name, each in state["columns"].items()}
        encoder = ColumnEncoder(state["text"], codings, state["is_choice"])
        return cls(encoder, state["weights"].copy(), state["intercept"].copy())


def read_table(X: Any, parts: Mapping[str, Part]) -> Any:
    """Return a table as texts with what a fitted part reads of its columns; any other X as it is.

    Warn of values that the fit has not seen, which have no weights.
    """
    part: Any = parts.get(COLUMNS)
    if part is None or isinstance(X, (TableTexts, DocumentArray)):
        return X
    found: TableTexts = part.encoder.read(X)
    for name, coding, _, place in part.encoder.places():
        if len(coding.values) and (n_unseen := int((found.columns[:, place] < 0).sum())):
            warn_user(
                f"Column {name!r} has {counted(n_unseen, 'value')} that no two training documents "
                "have; they count for no class.",
                once=True,
            )
    return found


def is_table(X: Any) -> bool:
    """Return whether X has named columns, or is a list of dicts."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(row, Mapping) for row in X)
    return isinstance(X, Mapping) or _names_of(X) is not None


def _names_of(X: Any) -> Any:
    if hasattr(X, "collect"):  # lazy frames of polars
        return None
    return getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow; of the others


def columns_of(X: Any, name: str = "X") -> dict[str, Any]:
    """Return columns by name of a frame (pandas, polars, Arrow), a mapping, or a list of dicts."""
    if isinstance(X, Mapping):
        return dict(X)
    if isinstance(X, (list, tuple)) and is_table(X):
        return {key: [row.get(key) for row in X] for key in dict.fromkeys(k for r in X for k in r)}
    names = _names_of(X)
    if names is None or isinstance(X, DocumentArray):
        raise TypeError(
            f"text_column reads a table, and {name} is {a_kind(X)}. Give a frame of pandas, polars "
            "or Arrow, a mapping of columns, or a list with a dict for each document; a tokenizer "
            "goes into HANClassifier(tokenizer=...), and not before it."
        )
    names = list(names)
    for each in names:
        if not isinstance(each, str) or names.count(each) > 1:
            raise ValueError(
                f"Columns of {name} need names of their own that are strings; got {names}."
            )
    return {each: X[each] for each in names}


def _cells(column: Any) -> list[Any]:
    """Return the values of a column as objects of Python."""
    if str(getattr(column, "dtype", "")) == "category":  # of pandas, perhaps of numbers
        column = [None if is_missing(cell) else str(cell) for cell in column]
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        column = column.astype("datetime64[us]")
    return as_list(column)


def _as_strings(cells: list[Any], name: str) -> NDArray[Any]:
    kinds = (*_TYPES["category"], Integral)
    for row, cell in enumerate(cells):
        if not isinstance(cell, kinds) and not is_missing(cell):
            raise _of_another_type(name, row, cell, "strings")
    return np.array(["" if is_missing(cell) else str(cell)[:_LONGEST] for cell in cells], dtype="U")


def _as_numbers(cells: list[Any], name: str) -> Floats:
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            if cell != "" and not is_missing(cell):
                found[row] = float(cell)
        except (TypeError, ValueError, OverflowError) as error:
            raise _of_another_type(name, row, cell, "numbers") from error
    return found.clip(-_LARGEST, _LARGEST)


def _as_dates(cells: list[Any], name: str) -> list[Any]:
    """Return years, NaN where they are missing, months from 1 on, and weekdays from 13 on."""
    found = np.full(len(cells), "NaT", dtype="datetime64[D]")
    for row, cell in enumerate(cells):
        try:
            if cell != "" and not is_missing(cell):
                if not isinstance(cell, (str, *_TYPES["date"])):
                    raise TypeError
                if isinstance(cell, str) and not re.match(r"\d{4}-\d\d-\d\d", cell):
                    raise ValueError  # NumPy reads "now", and 20240131 as a year
                day: Any = cell.replace(tzinfo=None) if isinstance(cell, datetime) else cell
                found[row] = np.datetime64(day, "D")
        except (TypeError, ValueError) as error:
            raise _of_another_type(name, row, cell, "dates") from error
    days = np.where(np.isnat(found), np.datetime64(0, "D"), found)
    years = np.where(np.isnat(found), np.nan, days.astype("datetime64[Y]").astype(int) + 1970)
    months = days.astype("datetime64[M]").astype(int) % 12
    return [years, 1 + months, 13 + (days.astype(int) + 3) % 7]


def _of_another_type(name: str, row: int, cell: Any, expected: str) -> TypeError:
    return TypeError(
        f"Column {name!r} holds {a_kind(cell)} in row {row}, {in_one_line(repr(cell), 60)}, and "
        f"{expected} in the fit. Convert it."
    )
