"""Tables of features that were taken for word ids, told by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sk_han.documents import PADDING_ID, UNKNOWN_ID

__all__ = ["why_no_documents"]

_FEWEST_ROWS, _MOST_ROWS = 20, 2000  # fewer tell too little, more take time
_MOST_GAPS = 0.1
_FULL = 0.98  # a table has a few zeros where the smallest number became 0
_FEWEST_IDS = 16
# Measured on three collections of texts (words in order of frequency, of the alphabet, of a hash;
# cut to 4 to 200 words) and on usual tables; tests/validation/test_features.py holds examples.
_COLUMN_EFFECT = 0.35
_BINS, _SMOOTH, _MIDDLE = 32, 0.85, (0.35, 0.65)


def why_no_documents(X: NDArray[np.integer[Any]]) -> str | None:
    """Tell what makes an array of integers look like a table of features.

    Documents of word ids are padded at one end, words have no place of their own, and few words
    are frequent. Each sign below is one that texts do not show, whatever the order of the ids.

    Parameters
    ----------
    X : ndarray of int of shape (D, S, W) or (D, W)

    Returns
    -------
    str or None
        The sign, for a message; None if there is none.
    """
    X = np.asarray(X)[:_MOST_ROWS]
    rows = X.reshape(-1, X.shape[-1])
    real = rows != PADDING_ID
    rows, real = rows[real.any(axis=1)], real[real.any(axis=1)]
    if len(X) < _FEWEST_ROWS or rows.shape[1] < 2 or not len(rows):
        return None
    if rows.max() <= UNKNOWN_ID:
        return "it holds 0 (padding) and 1 (the unknown word) alone"
    if _share_with_gaps(real) > _MOST_GAPS:
        return "0, which is padding, stands among the other numbers and not at an end of the rows"
    if X.ndim == 3 or real.mean() < _FULL:
        return None
    n_ids = len(np.unique(rows))
    if n_ids < _FEWEST_IDS:
        return f"it holds {n_ids} different numbers, too few for words, and all rows are full"
    varying = rows[:, (rows != rows[0]).any(axis=0)]
    if varying.size == 0:
        return None
    half = varying.shape[1] // 2
    if half > 1 and min(map(_column_effect, (varying[:, :half], varying[:, half:]))) > (
        _COLUMN_EFFECT
    ):
        return "each column has a range of its own, and all rows are full"
    if _is_bell(varying):
        return "numbers of the middle are the most frequent ones, and all rows are full"
    return None


def _share_with_gaps(real: NDArray[np.bool_]) -> float:
    """Return the share of rows whose padding does not stand at one end."""
    n_runs = (np.diff(real.astype(np.int8), axis=1) != 0).sum(axis=1)
    at_one_end = (n_runs == 0) | ((n_runs == 1) & (real[:, 0] | real[:, -1]))
    return float(1 - at_one_end.mean())


def _column_effect(table: NDArray[np.integer[Any]]) -> float:
    """Return the share of the variance of ranks that lies between columns, less that of chance."""
    ranks = rankdata(table).reshape(table.shape)
    between = ranks.mean(axis=0).var() / ranks.var()
    n, k = table.shape
    return float(between - (1 - between) * (k - 1) / (n * k - k))


def _is_bell(table: NDArray[np.integer[Any]]) -> bool:
    """Return whether frequencies rise and fall smoothly around the middle of the numbers."""
    counts, edges = np.histogram(table, bins=_BINS)
    middle = (table.mean() - edges[0]) / (edges[-1] - edges[0])
    logs = np.log1p(counts)
    if not _MIDDLE[0] < middle < _MIDDLE[1] or not (logs[1:].std() and logs[:-1].std()):
        return False
    return bool(np.corrcoef(logs[:-1], logs[1:])[0, 1] > _SMOOTH)
