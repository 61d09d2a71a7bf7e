"""Labels and rows of any container: lists, NumPy, pandas, polars, Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["label_list", "plain_label", "rows_of"]


def label_list(labels: Any) -> list[Any]:
    """Return labels as a list of Python's own types; those of a frame of one column too.

    Parameters
    ----------
    labels : array-like of shape (n_labels,), or frame or array of shape (n_labels, 1)
        One of more columns gives a list of lists, and a single label a list of it.

    Returns
    -------
    list

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han.utils.containers import label_list
    >>> label_list(np.array([[3], [7]])), label_list((np.int8(3), "a"))
    ([3, 7], [3, 'a'])
    """
    if isinstance(labels, (list, tuple)):
        return [plain_label(label) for label in labels]
    found = np.atleast_1d(np.asarray(labels, dtype=object))
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    return [plain_label(label) for label in found.tolist()]


def plain_label(label: Any) -> Any:
    """Return a label of NumPy or Arrow as one of Python; any other as it is."""
    if isinstance(label, (np.generic, np.ndarray)):
        return label.tolist()
    return label.as_py() if hasattr(label, "as_py") else label


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows of documents, in a container of the same kind where it can be indexed so.

    Parameters
    ----------
    X : sequence of documents, array or frame
    rows : ndarray of int64
        Positions, whatever the index of a pandas container.
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "to_pylist"):  # Arrow
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]
