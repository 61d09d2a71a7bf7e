"""Division of the work of a kernel into chunks of sequences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.engines.tasks import n_threads

__all__ = ["Sequences", "bounds_of", "check_lengths", "filled_sequences", "n_chunks", "threads_for"]

# With fewer rows a second thread costs more than it saves.
_ROWS_A_THREAD = 256


class Sequences(NamedTuple):
    """First token and length of the sequences that are not empty, the shortest first."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def check_lengths(lengths: NDArray[np.int64], n_tokens: int) -> None:
    """Check lengths, since kernels read and write memory without a check.

    Raises
    ------
    ValueError
        If one is negative, or their sum is not the number of tokens.
    """
    if lengths.sum() != n_tokens or lengths.min(initial=0) < 0:
        raise ValueError(
            f"lengths must be at least 0 and add up to {n_tokens} tokens; got {lengths}."
        )


def filled_sequences(lengths: NDArray[np.int64]) -> Sequences:
    """Return the sequences that are not empty, as the recurrence takes them."""
    # The longest first, equal ones in their order; then the other way round.
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)][::-1]
    starts = np.cumsum(lengths) - lengths
    return Sequences(starts[order], lengths[order])


def bounds_of(lengths: NDArray[np.int64], n_chunks: int) -> NDArray[np.int64]:
    """Cut sequences into chunks of about the same number of tokens: first sequence of each."""
    if n_chunks == 1:
        return np.array([0, len(lengths)])
    ends = np.cumsum(lengths)
    shares = np.arange(1, n_chunks) * (int(lengths.sum()) / n_chunks)
    return np.concatenate([[0], np.searchsorted(ends, shares), [len(lengths)]])


def threads_for(n_rows: int, usual: int = 1) -> int:
    """Return how many threads are worth it; `usual` is their number outside `using_threads`."""
    return max(1, min(n_threads(usual), n_rows // _ROWS_A_THREAD))


def n_chunks(threads: int) -> int:
    """Return a number of tasks that keeps threads busy even if one of them is slow."""
    return 1 if threads == 1 else 4 * threads
