"""Word ids, and the checks of the arrays that documents are built from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han.utils.containers import refuse_masked

PADDING_ID = 0
UNKNOWN_ID = 1
LARGEST_ID = int(np.iinfo(np.int32).max)


def as_integers(array: ArrayLike, name: str, ndim: tuple[int, ...] = (1,)) -> NDArray[Any]:
    """Return an array of integers; raise TypeError or ValueError for anything else."""
    refuse_masked(array, name)
    found = np.asarray(array)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; got dtype {found.dtype}.")
    if found.ndim not in ndim:
        dimensions = " or ".join(map(str, ndim))
        raise ValueError(f"{name} must have {dimensions} dimensions; got shape {found.shape}.")
    return found


def as_starts(array: ArrayLike, end: int, name: str, pieces: str) -> NDArray[np.int64]:
    """Return offsets, which must rise from 0 to the end of what they divide."""
    starts = as_integers(array, name).astype(np.int64, copy=False)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != end or np.any(np.diff(starts) < 0):
        raise ValueError(
            f"{name} must rise from 0 to the number of {pieces}, {end}; got {starts!r}."
        )
    return starts


def check_ids(ids: NDArray[Any]) -> None:
    """Check that word ids are those of words."""
    if not len(ids) or (ids.min() >= UNKNOWN_ID and ids.max() <= LARGEST_ID):
        return
    wrong = np.flatnonzero((ids < UNKNOWN_ID) | (ids > LARGEST_ID))[0]
    raise ValueError(
        f"Word {wrong} has the id {ids[wrong]}; ids run from {UNKNOWN_ID} (unknown word) to "
        f"2**31 - 1, and {PADDING_ID} is the padding, which a DocumentArray does not hold "
        "(DocumentArray.from_padded takes it off)."
    )
