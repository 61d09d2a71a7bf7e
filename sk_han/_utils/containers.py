"""Containers of users: lists, arrays, data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import refuse_masked, shortened

if TYPE_CHECKING:
    from pandas import DataFrame


def label_list(labels: Any) -> list[Any]:
    """Return labels, of one column or several, as a list of Python's own types."""
    if isinstance(labels, (list, tuple)):
        return [plain_label(label) for label in labels]
    refuse_masked(labels, "An array of labels or groups")
    found = np.atleast_1d(np.asarray(labels, dtype=object))
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    return [plain_label(label) for label in found.tolist()]


def plain_label(label: Any) -> Any:
    """Return a label of NumPy or Arrow as one of Python, and a list or row of one as its item."""
    if isinstance(label, (np.generic, np.ndarray)):
        label = label.tolist()
    elif hasattr(label, "as_py"):
        label = label.as_py()
    return plain_label(label[0]) if isinstance(label, (list, tuple)) and len(label) == 1 else label


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows of documents by position, in a container of the same kind where possible."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "to_pylist"):  # Arrow
        return X.take(rows)
    X = X.tocsr() if hasattr(X, "tocsr") else X  # some sparse formats have no rows
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]


def records_of(X: Any) -> Any:
    """Return a mapping of columns as a list with a dict for each document; any other X as it is."""
    if not isinstance(X, Mapping) or any(isinstance(column, str) for column in X.values()):
        return X  # texts by a key have no order
    columns = {
        name: column.to_pylist() if hasattr(column, "to_pylist") else list(column)  # Arrow
        for name, column in X.items()
    }
    lengths = {name: len(column) for name, column in columns.items()}
    if len({*lengths.values()}) > 1:
        raise ValueError(f"The columns of X differ in their numbers of values: {lengths}.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def listed(values: Sequence[Any], most: int = 5, write: Callable[[Any], str] = repr) -> str:
    """Write the first of some values, and how many more there are, for a message."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return ", ".join(shortened(write(value), 80) for value in values[:most]) + more


def document_ids(X: Any, ids: Any = None) -> tuple[Any, ...] | None:
    """Return the ids of documents: those given, or an index of pandas that is not 0, 1, 2, ..."""
    index: Any = getattr(X, "index", None)
    if ids is not None and len(ids) != len(X):
        raise ValueError(f"ids must name {len(X):,} documents; got {len(ids):,}.")
    if ids is None and getattr(index, "is_unique", False):
        ids = None if index.tolist() == list(range(len(index))) else index.tolist()
    return None if ids is None else tuple(label_list(ids))


def document_name(row: int, ids: Sequence[Any] | None) -> str:
    """Return the id of a document as text or, without ids, its row."""
    return f"{row:,}" if ids is None else str(ids[row])


def frame_of(columns: Mapping[str, Any]) -> DataFrame:
    """Return a DataFrame of columns, those of strings as objects."""
    import pandas

    return pandas.DataFrame(
        {
            name: pandas.Series(values, dtype=column_dtype(values))
            for name, values in columns.items()
        }
    )


def column_dtype(values: Iterable[Any]) -> type | None:
    """Return `object` if there are strings among the values, else None: pandas may choose."""
    return object if any(isinstance(value, str) for value in values) else None


Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
