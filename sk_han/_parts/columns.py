"""The part of columns: a linear model of the other columns of a table with a text column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import Coalitions, DocumentArray
from sk_han._options import Choice, InstanceOf
from sk_han._parts.pool import Part
from sk_han._storage.schema import Array, ByName, Field, ListOf, Schema, Sizes, strings
from sk_han._targets import Target
from sk_han._utils.containers import Floats, listed
from sk_han._utils.messages import a_kind, nearest_name, plural, warn_user
from sk_han._validation.cells import (
    DATES,
    EMPTY,
    KINDS,
    NUMBERS,
    Column,
    format_value,
    read_column,
)
from sk_han._validation.documents import as_list, check_texts, is_missing, row_names

# Maximum number of bins of a numeric column, and the row number that stands for values not seen in
# the fit.
_BINS, _UNSEEN = 10, -1
_BREAK = "\n\n"  # between the fields of a text
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_Rows = NDArray[np.int32]


class Coding(NamedTuple):
    """Encoding of the values of a column as rows of weights; the first row is for missing values.

    A numeric column has a row for each bin, a category for each value of two documents or more, and
    a date for bins of its year, 12 months and 7 weekdays.
    """

    kind: str  # one of `KINDS`, or `EMPTY`
    edges: Floats  # (q,), upper edges of all bins but the last
    # Sorted values of a category, (v,). For a few whole numbers, each of which has its own bin, it
    # only holds the last number, so that the last bin can be named.
    values: NDArray[Any]

    @property
    def is_date(self) -> bool:
        """Whether a value is encoded as three rows: year, month and weekday."""
        return self.kind in DATES

    @property
    def n_bins(self) -> int:
        """Number of bins of a number or of years."""
        return len(self.edges) + 1 if self.kind in (*NUMBERS, *DATES) else 0

    @property
    def width(self) -> int:
        """Number of rows of one value."""
        return 3 if self.is_date else 1

    @property
    def exclusive(self) -> slice:
        """The one-hot block: each value that was seen in the fit sets exactly one of these rows."""
        return slice(0, 1 + (self.n_bins or len(self.values)))

    @property
    def offered(self) -> list[str]:
        """The values that a form suggests: those of a category."""
        return [] if self.n_bins else self.values.tolist()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.exclusive.stop + 19 * self.is_date

    @classmethod
    def from_column(cls, column: Column) -> Coding:
        """Learn the bins or values of a column."""
        present = column.values[~column.missing]
        values, counts = np.unique(present, return_counts=True)
        if column.kind not in (*NUMBERS, *DATES):
            both = ["False", "True"]
            kept = both if column.kind == "boolean" else values[counts > 1]
            return cls(column.kind, np.empty(0), np.array(kept, dtype=np.str_))
        if column.kind in DATES:
            present = present.astype("datetime64[Y]").astype(int) + 1970.0
            values = np.unique(present)
        if 0 < len(values) <= _BINS and np.all(values == np.floor(values)):
            return cls(column.kind, values[:-1], np.array([format_value(values[-1])]))
        edges = np.empty(0)
        if len(present):
            ranks = np.linspace(0, 1, _BINS + 1)[1:-1]
            edges = np.unique(np.quantile(present, ranks, method="inverted_cdf"))
        edges = edges[edges < present.max(initial=-np.inf)]
        return cls(column.kind, edges, np.empty(0, dtype="U1"))

    def rows(self, column: Column) -> _Rows:
        """Encode the values of a column as rows, (D, 1), or (D, 3) for dates."""
        values, missing = column.values, column.missing
        if not self.n_bins:
            # Another table may hold 1 and 0 in place of booleans, or the reverse.
            for value, alias in (("True", "1"), ("False", "0")):
                for absent, present in ((value, alias), (alias, value)):
                    if present in self.values and absent not in self.values:
                        values = np.where(values == absent, present, values)
            places = np.searchsorted(self.values, values)
            is_known = np.append(self.values, "")[places] == values
            rows = [np.where(is_known, 1 + places, _UNSEEN)]
        elif self.is_date:
            days = np.where(missing, np.datetime64(0, "D"), values)
            years = days.astype("datetime64[Y]").astype(int) + 1970
            months = self.n_bins + 1 + days.astype("datetime64[M]").astype(int) % 12
            weekdays = self.n_bins + 13 + (days.astype(int) + 3) % 7
            rows = [1 + np.searchsorted(self.edges, years), months, weekdays]
        else:
            rows = [1 + np.searchsorted(self.edges, values)]
        coded = np.stack(rows, axis=1).astype(np.int32)
        coded[missing] = [0, *[_UNSEEN] * (len(rows) - 1)]
        return coded

    def format(self, rows: _Rows, value: Any) -> str:
        """Format the value of a document, with its bins in brackets."""
        names = self.names()
        bins = ", ".join(names[row] for row in rows[::-1] if row >= 0) or "unseen"
        shown = format_value(value)
        return bins if shown in ("", bins) or bins == f'"{shown}"' else f"{shown} ({bins})"

    def names(self) -> list[str]:
        """Return the distinct names of the rows."""
        if not self.n_bins:
            others = ("missing", "unseen")
            return ["missing", *(f'"{v}"' if v in others else v for v in self.values.tolist())]
        bounds = _format_distinctly(self.edges)
        if len(self.values):
            bins = [*bounds, *self.values.tolist()]
        elif bounds:
            between = [f"{low} to {high}" for low, high in pairwise(bounds)]
            bins = [f"≤ {bounds[0]}", *between, f"> {bounds[-1]}"]
        else:
            bins = ["any"]
        if self.is_date:
            return ["missing", *(f"year {years}" for years in bins), *_MONTHS, *_WEEKDAYS]
        return ["missing", *bins]

    def describe(self, values: NDArray[Any]) -> str:
        """Describe the values of training documents, and how many of them have a row."""
        column = Column(self.kind, values)
        n_values, n_missing = len(np.unique(values[~column.missing])), int(column.missing.sum())
        facts = [self.kind, plural(n_values, "value")]
        if self.n_bins:
            facts.append(plural(self.n_bins, "bin"))
        elif n_values > len(self.values):
            facts.append(f"{len(self.values):,} of two documents or more")
        return ", ".join([*facts, *[f"{n_missing:,} missing"] * bool(n_missing)])


def _format_distinctly(numbers: Floats) -> list[str]:
    """Format sorted numbers with as few digits as keep them distinct, whole numbers in full."""
    if np.all(numbers == np.floor(numbers)) and np.all(np.abs(numbers) < 1e15):
        return [str(int(number)) for number in numbers.tolist()]
    for digits in range(6, 18):
        texts = [f"{number:.{digits}g}" for number in numbers.tolist()]
        if len({*texts}) == len(texts):
            break
    return texts


class ReadTable(NamedTuple):
    """The texts of a table, and its other columns encoded as rows of weights."""

    texts: Any
    rows: Any = None  # (D, M) of int32, as `DocumentArray.columns`
    values: Sequence[NDArray[Any]] = ()  # of each column (D,), as in a `Column`
    # For each document, start in the text and name of each of its fields, if texts have several.
    fields: Sequence[list[tuple[int, str]]] = ()


class ColumnEncoder(NamedTuple):
    """Encodes a table: its text columns, and the columns whose values become rows of weights."""

    text_columns: tuple[str, ...]
    codings: Mapping[str, Coding]
    # Whether columns were chosen by name, so that a table may have others, which are not read.
    is_choice: bool

    @classmethod
    def from_table(
        cls,
        X: Any,
        y: Any,
        text_columns: tuple[str, ...],
        columns: Sequence[str] | Mapping[str, str | None] | None,
    ) -> ColumnEncoder:
        """Learn the codings from a table with labels y; None for `columns` takes all."""
        if not text_columns:
            raise ValueError("text_column is an empty list; name the columns of the texts.")
        table = to_columns(X, chosen=None if columns is None else [*text_columns, *columns])
        chosen = [name for name in table if name not in text_columns]
        chosen = chosen if columns is None else [*columns]
        _check_present([*text_columns, *chosen], X, table)
        for text in text_columns:
            if text in chosen:
                raise ValueError(
                    f"columns has {text!r}, which text_column reads; leave it out there."
                )
        kinds, row = columns if isinstance(columns, Mapping) else {}, row_names(X)
        labels = [format_value(label) for label in as_list(y)] if np.ndim(y) == 1 else []
        codings = {}
        for name in chosen:
            if kinds.get(name) not in (None, *KINDS):
                raise ValueError(
                    f"columns[{name!r}] is {kinds[name]!r}; give one of {listed(KINDS, 9)} or None."
                )
            # A lone surrogate in a name raises an error here, since no file could hold it.
            name.encode()
            column = read_column(table[name], name, kinds.get(name), row)
            is_full = 0 < len(column.values) == len(labels) and not column.missing.any()
            if is_full and all(map(eq, map(format_value, column.values), labels)):
                raise ValueError(f"Column {name!r} holds the labels; name the others in columns.")
            codings[name] = Coding.from_column(column)
        return cls(text_columns, codings, columns is not None)

    def encode(self, X: Any, name: str = "X") -> ReadTable:
        """Return texts with the rows and values of columns; errors name the column."""
        expected = [*self.text_columns, *self.codings]
        # In a list of dicts, a key that a dict lacks is a missing value.
        is_rows = isinstance(X, (list, tuple))
        table = to_columns(X, name, expected if self.is_choice and not is_rows else None)
        if is_rows:
            _refuse_misspelt(X, expected, name)
            table = dict.fromkeys(expected, [None] * len(X)) | table
        new = [] if self.is_choice else [column for column in table if column not in expected]
        faults = {
            "unseen at fit time": new,
            "seen at fit time, yet now missing": [
                column for column in expected if column not in table
            ],
        }
        # The message is that of scikit-learn's own estimators.
        if any(faults.values()):
            parts = [
                f"Feature names {what}:\n" + "".join(f"- {column}\n" for column in names)
                for what, names in faults.items()
                if names
            ]
            raise ValueError(
                f"The feature names of {name} should match those that were passed during fit.\n"
                + "".join(parts)
                + "".join(nearest_name(column, expected)[1:] for column in new[:1])
            )
        row = row_names(X)
        texts, fields = read_texts(table, self.text_columns, name, row)
        rows, values = [np.empty((len(texts), 0), dtype=np.int32)], []
        for (column, coding), start in zip(self.codings.items(), self.starts, strict=False):
            read = read_column(table[column], column, coding.kind, row)
            if len(read.values) != len(texts):
                raise ValueError(
                    f"Column {column!r} has {plural(len(read.values), 'value')} for "
                    f"{plural(len(texts), 'text')}."
                )
            coded = coding.rows(read)
            rows.append(np.where(coded < 0, _UNSEEN, start + coded).astype(np.int32))
            values.append(read.values)
        return ReadTable(texts, np.concatenate(rows, axis=1), values, fields)

    def texts(self, X: Any, name: str) -> list[str]:
        """Return the texts of a table, whose other columns may be missing."""
        table = to_columns(X, name, self.text_columns)
        _check_present(self.text_columns, X, table, name)
        return read_texts(table, self.text_columns, name, row_names(X))[0]

    @property
    def starts(self) -> list[int]:
        """The first row of each column in the rows of all columns, and their number at the end."""
        return [*accumulate((coding.n_rows for coding in self.codings.values()), initial=0)]

    def places(self) -> Iterator[tuple[str, Coding, int, slice]]:
        """Yield name, coding, first row, and place within a document's rows, for each column."""
        place = 0
        for (name, coding), start in zip(self.codings.items(), self.starts, strict=False):
            yield name, coding, start, slice(place, place + coding.width)
            place += coding.width

    def row_labels(self) -> list[str]:
        """Return the name of each row of weights: column and value."""
        return [f"{name} = {v}" for name, coding in self.codings.items() for v in coding.names()]

    def format(self, rows: _Rows, values: Sequence[Any]) -> tuple[str, ...]:
        """Format the value of each column of a document, whose rows are (M,)."""
        return tuple(
            coding.format(np.where(rows[place] < 0, _UNSEEN, rows[place] - start), value)
            for (_, coding, start, place), value in zip(self.places(), values, strict=True)
        )

    def describe(self, table: ReadTable) -> dict[str, str]:
        """Describe each column by its kind and its number of values."""
        pairs = zip(self.codings.items(), table.values, strict=True)
        return {name: coding.describe(values) for (name, coding), values in pairs}


def _check_rows(state: Any, where: str, sizes: Sizes) -> None:
    codings = [Coding(**coding) for coding in state["columns"].values()]
    if sum(coding.n_rows for coding in codings) != sizes["r"]:
        raise ValueError(f"its {where}.weights are not those of its columns")


@dataclass(frozen=True, eq=False)
class ColumnModel(Part):
    """A fitted part of columns: each value of a column has a weight for each class or label."""

    encoder: ColumnEncoder
    weights: Floats  # (R, K), whose mean over the training documents is 0 for each column
    intercept: Floats  # (K,)

    kind = "columns"
    SCHEMA = Schema(
        (
            Field("text_columns", ListOf(InstanceOf(str))),
            Field("is_choice", Choice((False, True))),
            Field(
                "columns",
                ByName(
                    Schema(
                        (
                            Field("kind", Choice((*KINDS, EMPTY))),
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
        """Raise a TypeError unless documents come from a table."""
        if documents.columns is None:
            raise TypeError(
                f"This HANClassifier reads tables: X needs the columns "
                f"{listed([*self.encoder.text_columns, *self.encoder.codings], 20)}, and has words "
                "alone. Leave a tokenizer or SentenceEmbedder before it out."
            )

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K); without columns the score is the intercept."""
        if documents.columns is None:
            return np.tile(self.intercept, (len(documents), 1))
        return self.intercept + self._take_weights(documents.columns).sum(axis=1)

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences, (M, K), which have no columns."""
        return np.tile(self.intercept, (len(coalitions.lengths), 1))

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Return zeros, (T,): no word contributes."""
        return np.zeros(documents.n_words)

    def contributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, by factors (D, K), among the columns, (D, C)."""
        assert documents.columns is not None
        weights = np.einsum("dmk,dk->dm", self._take_weights(documents.columns), factors)
        columns = [weights[:, place].sum(axis=1) for *_, place in self.encoder.places()]
        return np.stack(columns, axis=1) if columns else np.empty((len(documents), 0))

    def row_contributions(
        self, documents: DocumentArray, factors: Floats
    ) -> tuple[NDArray[np.intp], _Rows, Floats]:
        """Return document, row of weights and contribution of each value seen in the fit."""
        assert documents.columns is not None
        contributions = np.einsum("dmk,dk->dm", self._take_weights(documents.columns), factors)
        document, place = np.nonzero(documents.columns >= 0)
        return document, documents.columns[document, place], contributions[document, place]

    def _take_weights(self, rows: _Rows) -> Floats:
        """Return the weights (D, M, K) of rows (D, M); 0 for unseen values."""
        return np.append(self.weights, np.zeros((1, len(self.intercept))), axis=0)[rows]

    def encode(self, X: Any) -> ReadTable:
        """Encode a table; warn of values that were not seen in the fit, which have no weights."""
        table = self.encoder.encode(X)
        for name, coding, _, place in self.encoder.places():
            is_category = not coding.n_bins and len(coding.values) > 0
            if is_category and (n_unseen := int((table.rows[:, place] < 0).sum())):
                warn_user(
                    f"Column {name!r} has {plural(n_unseen, 'value')} that no two training "
                    "documents have; they count for no class.",
                    once=True,
                )
        return table

    def to_state(self) -> dict[str, Any]:
        """Return the names of the columns, bins and values, and weights."""
        return {
            "text_columns": [*self.encoder.text_columns],
            "is_choice": self.encoder.is_choice,
            "columns": {name: coding._asdict() for name, coding in self.encoder.codings.items()},
            "weights": self.weights,
            "intercept": self.intercept,
        }

    @classmethod
    def from_state(cls, state: Any, target: Target, device: str) -> ColumnModel:
        """Restore a part."""
        codings = {name: Coding(**coding) for name, coding in state["columns"].items()}
        encoder = ColumnEncoder(tuple(state["text_columns"]), codings, state["is_choice"])
        return cls(encoder, state["weights"].copy(), state["intercept"].copy())


def read_texts(
    table: Mapping[str, Any], names: Sequence[str], title: str, row: Callable[[int], str]
) -> tuple[list[str], list[list[tuple[int, str]]]]:
    """Return the texts of a table and, of several columns, where each field begins.

    Several columns are joined by a blank line, which ends a sentence; missing and blank cells are
    left out.
    """
    columns = []
    for name in names:
        cells = as_list(table[name], title)
        if len(names) > 1:
            cells = ["" if is_missing(cell) else cell for cell in cells]
        columns.append(check_texts(cells, name=title, called=partial(_cell_name, name, row)))
    if len(names) == 1:
        return columns[0], []
    texts, fields = [], []
    for row_of_texts in zip(*columns, strict=True):
        written = [(n, text) for n, text in zip(names, row_of_texts, strict=True) if text.strip()]
        starts = accumulate((len(text) + len(_BREAK) for _, text in written), initial=0)
        fields.append([(start, name) for start, (name, _) in zip(starts, written, strict=False)])
        texts.append(_BREAK.join(text for _, text in written))
    return texts, fields


def _cell_name(column: str, row: Callable[[int], str], i: int) -> str:
    """Name a cell in an error message."""
    return f"Column {column!r}, {row(i)},"


def is_table(X: Any) -> bool:
    """Return whether X has named columns, or is a list of dicts."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(row, Mapping) for row in X)
    return isinstance(X, Mapping) or _is_frame(X)


def _is_frame(X: Any) -> bool:
    if isinstance(X, (list, np.ndarray, DocumentArray)):
        return False
    import narwhals.stable.v2 as nw

    # Narwhals does not recognize its own frames of another API version, so they are unwrapped.
    return nw.dependencies.is_into_dataframe(nw.to_native(X, pass_through=True))


def to_columns(X: Any, name: str = "X", chosen: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the columns by name of a frame (pandas, polars, Arrow), a mapping, or a list of dicts.

    None for `chosen` takes all columns. Chosen columns that do not exist are left out.
    """
    if isinstance(X, Mapping):
        table = dict(X)
        names = [*table]
    elif isinstance(X, (list, tuple)) and is_table(X):
        names = [*dict.fromkeys(key for row in X for key in row)]
        table = {key: [row.get(key) for row in X] for key in names}
    elif _is_frame(X):
        names = [*(X.column_names if hasattr(X, "to_pylist") else X.columns)]
        table = {column: X[column] for column in names if names.count(column) == 1}
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        raise TypeError(
            f"text_column reads a table, and {name} is an array of shape {X.shape}, whose columns "
            "have no names (BaggingClassifier, AdaBoostClassifier and passthrough=True convert a "
            "frame to one). Give the frame to HANClassifier itself, or to a meta-estimator that "
            "passes it on, such as VotingClassifier."
        )
    else:
        raise TypeError(
            f"text_column reads a table, and {name} is {a_kind(X)}. Give a frame, a mapping of "
            "columns or a list of dicts; a tokenizer goes into HANClassifier(tokenizer=...)."
        )
    chosen = names if chosen is None else chosen
    if any(not isinstance(column, str) or names.count(column) > 1 for column in chosen):
        raise ValueError(f"Columns of {name} need names of their own, strings; got {names}.")
    return {column: table[column] for column in chosen if column in table}


def _check_present(
    chosen: Sequence[str], X: Any, table: Mapping[str, Any], name: str = "X"
) -> None:
    if lacking := [column for column in chosen if column not in table]:
        names = listed([*to_columns(X, name)], 20)
        hint = nearest_name(str(lacking[0]), map(str, to_columns(X, name)))
        raise ValueError(f"{name} has no column {listed(lacking)}; its columns are {names}.{hint}")


def _refuse_misspelt(X: Sequence[Mapping[str, Any]], expected: Sequence[str], name: str) -> None:
    """Raise a ValueError if a dict lacks a column, but has a key of nearly the same name."""
    # Most dicts have the same keys, so each set of keys is checked once.
    first = {frozenset(row): i for i, row in reversed([*enumerate(X)])}
    for keys, i in first.items():
        for column in [c for c in expected if c not in keys]:
            if hint := nearest_name(column, map(str, keys.difference(expected))):
                raise ValueError(
                    f"{name}[{i}] has no {column!r}.{hint} The columns of the fit are "
                    f"{listed(expected, 20)}."
                )
