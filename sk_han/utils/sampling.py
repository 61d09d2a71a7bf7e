"""Samples of documents of a bounded number of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sampled_rows(
    words_per_document: NDArray[np.int64], n_words: int, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw rows of documents, in random order, until they have so many words, or all of them.

    The last document may reach beyond it.
    """
    order = random_state.permutation(len(words_per_document))
    reached = np.cumsum(words_per_document[order])
    return order[: np.searchsorted(reached, n_words) + 1]
