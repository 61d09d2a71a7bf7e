"""Checks of arrays that describe a text: spans, their nesting, weights that sum to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Weights come from softmax in float32; the error of their sum grows with the document's length.
SUM_TOLERANCE = 1e-3

# Kinds of dtype that convert to the expected one without loss.
_KINDS: dict[type[np.generic], str] = {np.int64: "iu", np.float64: "fiu", np.bool_: "b"}


def frozen(
    value: ArrayLike, name: str, shape: tuple[int | None, ...], dtype: type[np.generic] | None
) -> NDArray[Any]:
    """Copy to a read-only array of this dtype (None: any) and shape (None: any length)."""
    array = np.array(value)
    if array.size == 0 and shape[0] in (None, 0):
        array = np.empty((0, *(length or 0 for length in shape[1:])), dtype=dtype)
    elif dtype is not None and array.dtype.kind not in _KINDS[dtype]:
        raise TypeError(f"{name} must hold {dtype.__name__}; got dtype {array.dtype}.")
    if len(shape) != array.ndim or any(
        wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); got {array.shape}.")
    array = array.astype(dtype or array.dtype, copy=False)
    array.setflags(write=False)
    return array


def check_spans(spans: NDArray[np.int64], name: str, length: int) -> None:
    """Check that spans are in order, do not overlap, and lie in a text of this length."""
    starts, ends = spans[:, 0], spans[:, 1]
    before = np.concatenate([[0], ends[:-1]])
    wrong = np.flatnonzero((starts < before) | (ends < starts) | (ends > length))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"{name}[{i}] is {spans[i].tolist()}; it must start at or after {before[i]}, where "
            f"the one before ends, and end within the text of {length} characters."
        )


def check_nesting(
    words: NDArray[np.int64], sentences: NDArray[np.int64], of: NDArray[np.int64]
) -> None:
    """Check that words lie inside their sentences; `of` is the sentence number of each word."""
    if not np.array_equal(np.unique(of), np.arange(len(sentences))) or np.any(np.diff(of) < 0):
        raise ValueError(
            f"sentence_of_word must rise from 0 to {len(sentences) - 1} and leave no sentence "
            f"without words; got {of!r}."
        )
    wrong = np.flatnonzero((words[:, 0] < sentences[of, 0]) | (words[:, 1] > sentences[of, 1]))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"word_spans[{i}] is {words[i].tolist()}, outside its sentence "
            f"{of[i]}, {sentences[of[i]].tolist()}."
        )


def check_finite(values: NDArray[np.float64], name: str, lowest: float) -> None:
    """Check that no number is infinite, NaN, or below the lowest."""
    wrong = np.flatnonzero(~np.isfinite(values) | (values < lowest))
    if len(wrong):
        least = "" if lowest == -np.inf else f" of at least {lowest:g}"
        raise ValueError(
            f"{name} must be finite numbers{least}; number {wrong[0]} is {values[wrong[0]]}."
        )


def check_probabilities(values: NDArray[np.float64], name: str) -> None:
    """Check that values are probabilities; those of several labels need not sum to 1."""
    if len(values) and values.max() > 1 + SUM_TOLERANCE:
        raise ValueError(f"{name} must be at most 1; got {values.max():g}.")


def check_sum(values: NDArray[np.float64], name: str) -> None:
    """Check that values sum to 1, if there are any."""
    if len(values) and abs(values.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1; got the sum {values.sum():g}.")


def check_sum_by_group(
    values: NDArray[np.float64], group: NDArray[np.int64], name: str, kind: str
) -> None:
    """Check that values sum to 1 over each group; group numbers rise."""
    sums = np.bincount(group, weights=values)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        raise ValueError(
            f"{name} must sum to 1 over each {kind}; over {kind} {wrong[0]} it sums to "
            f"{sums[wrong[0]]:g}."
        )
