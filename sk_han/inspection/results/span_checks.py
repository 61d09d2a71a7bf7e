"""Checks of arrays that describe a text: spans, their nesting, weights that sum to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.counts import counted

# Weights come from softmax in float32; the error of their sum grows with the document's length.
SUM_TOLERANCE = 1e-3


def check_spans(spans: NDArray[np.int64], name: str, length: int) -> None:
    """Check that spans are in order, do not overlap, and lie in a text of this length."""
    starts, ends = spans[:, 0], spans[:, 1]
    before = np.concatenate([[0], ends[:-1]])
    wrong = np.flatnonzero((starts < before) | (ends < starts) | (ends > length))
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"{name}[{i}] is {spans[i].tolist()}; it must start at or after {before[i]}, where "
            f"the one before ends, and end within the text of {counted(length, 'character')}."
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


def check_attention(
    words: NDArray[np.float64], sentences: NDArray[np.float64], of: NDArray[np.int64]
) -> None:
    """Check that the attention of words sums to 1 over each sentence, that of sentences at all."""
    if len(sentences) and abs(sentences.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"sentence_attention must sum to 1; got the sum {sentences.sum():g}.")
    sums = np.bincount(of, weights=words)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        raise ValueError(
            f"word_attention must sum to 1 over each sentence; over sentence {wrong[0]} it sums to "
            f"{sums[wrong[0]]:g}."
        )
