"""Conversions of users' containers: lists, arrays, data frames, Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import refuse_masked, shorten

if TYPE_CHECKING:
    from pandas import DataFrame


def label_list(labels: Any) -> list[Any]:
    """Return labels, of one column or several, as a list of builtin types."""
    if isinstance(labels, (list, tuple)):
        return [plain_label(label) for label in labels]
    refuse_masked(labels, "An array of labels or groups")
    array = np.atleast_1d(np.asarray(labels, dtype=object))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return [plain_label(label) for label in array.tolist()]


def plain_label(label: Any) -> Any:
    """Convert a label of NumPy or Arrow to a builtin type, and a list or row of one to its item."""
    if isinstance(label, (np.generic, np.ndarray)):
        label = label.tolist()
    elif hasattr(label, "as_py"):
        label = label.as_py()
    return plain_label(label[0]) if isinstance(label, (list, tuple)) and len(label) == 1 else label


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of X by position; the result has the type of X where possible."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "to_pylist"):  # Arrow
        return X.take(rows)
    # Some sparse formats cannot be indexed by row.
    X = X.tocsr() if hasattr(X, "tocsr") else X
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]


def to_records(X: Any) -> Any:
    """Convert a mapping of columns to a list with a dict for each document; return any other X."""
    # A mapping of strings has texts by key, not columns, and is refused later.
    if not isinstance(X, Mapping) or any(isinstance(column, str) for column in X.values()):
        return X
    columns = {
        name: column.to_pylist() if hasattr(column, "to_pylist") else list(column)  # Arrow
        for name, column in X.items()
    }
    lengths = {name: len(column) for name, column in columns.items()}
    if len({*lengths.values()}) > 1:
        raise ValueError(f"The columns of X differ in their numbers of values: {lengths}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def listed(values: Sequence[Any], most: int = 5, write: Callable[[Any], str] = repr) -> str:
    """List up to `most` values for a message, and the number of those left out."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return ", ".join(shorten(write(value), 80) for value in values[:most]) + more


def document_ids(X: Any, ids: Any = None) -> tuple[Any, ...] | None:
    """Return the `ids`, else a unique index of pandas other than 0, 1, 2, ..., else None."""
    index: Any = getattr(X, "index", None)
    if ids is not None and len(ids) != len(X):
        raise ValueError(f"ids must name {len(X):,} documents; got {len(ids):,}.")
    if ids is None and getattr(index, "is_unique", False):
        ids = None if index.tolist() == list(range(len(index))) else index.tolist()
    return None if ids is None else tuple(label_list(ids))


def document_name(row: int, ids: Sequence[Any] | None) -> str:
    """Return the id of a document as text or, without ids, its row."""
    return f"{row:,}" if ids is None else str(ids[row])


def make_frame(columns: Mapping[str, Any]) -> DataFrame:
    """Return a DataFrame of columns; columns with strings have the dtype object."""
    import pandas

    return pandas.DataFrame(
        {
            name: pandas.Series(values, dtype=column_dtype(values))
            for name, values in columns.items()
        }
    )


def column_dtype(values: Iterable[Any]) -> type | None:
    """Return `object` if some value is a string, else None, which lets pandas choose the dtype."""
    return object if any(isinstance(value, str) for value in values) else None


Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
