"""Offsets of consecutive pieces, and rows chosen of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.counts import counted


def starts_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the offsets of consecutive pieces of these lengths: ``[0, 2, 5]`` of ``[2, 3]``."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def concatenated_ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Concatenate ``range(start, start + length)`` of all pieces."""
    shift = starts - starts_of(lengths)[:-1]
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def packed(sizes: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Yield runs of consecutive pieces of at most `most` in all, or of one larger piece."""
    ends, first = starts_of(sizes), 0
    while first < len(sizes):
        fitting = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = max(fitting, first + 1)
        yield slice(first, last)
        first = last


def row_numbers(rows: Any, n_documents: int) -> NDArray[np.int64]:
    """Return the rows of a slice, a boolean mask or integers as numbers from 0."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n_documents))
    chosen = np.asarray(rows)
    if chosen.size == 0 and chosen.dtype != bool:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise IndexError(
            "Rows of a DocumentArray are chosen by a slice, integers or a boolean mask; got "
            f"{type(rows).__name__} of dtype {chosen.dtype} and shape {chosen.shape}."
        )
    if chosen.dtype == bool:
        return np.arange(n_documents)[chosen]
    if len(chosen) and not -n_documents <= chosen.min() <= chosen.max() < n_documents:
        wrong = chosen[(chosen < -n_documents) | (chosen >= n_documents)][0]
        raise IndexError(f"document {wrong} is out of bounds of {counted(n_documents)}.")
    numbers = chosen.astype(np.int64, copy=False)
    return np.where(numbers < 0, numbers + n_documents, numbers)


def sampled_rows(
    words_per_document: NDArray[np.int64], n_words: int, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw rows in random order until their documents have so many words or more, or all rows."""
    order = random_state.permutation(len(words_per_document))
    reached = np.cumsum(words_per_document[order])
    return order[: np.searchsorted(reached, n_words) + 1]
