"""Spans of characters that people mark in texts, checked, and the words that they cover."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np

from sk_han.utils.array_types import Flags, Integers
from sk_han.utils.counts import counted


def checked_spans(spans: Any, number: int, n_characters: int) -> Integers:
    """Check the rationale of a document and return its spans, (n_spans, 2)."""
    if not isinstance(spans, Collection) or isinstance(spans, str):
        raise TypeError(
            f"The rationales of document {number} must be a list of spans (start, end); got "
            f"{spans!r}. A document without a rationale has an empty list."
        )
    for position, span in enumerate(spans):
        if not _is_pair(span):
            raise TypeError(
                f"Rationale {position} of document {number} must be (start, end), two integers; "
                f"got {span!r}."
            )
        start, end = span
        if not 0 <= start < end <= n_characters:
            raise ValueError(
                f"Rationale {position} of document {number} is ({start}, {end}); it must start "
                f"before it ends and lie within the text of {counted(n_characters, 'character')}."
            )
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)


def covered_words(spans: Integers, word_spans: Integers) -> Flags:
    """Mark the words (T,) that overlap a span, completely or in part."""
    first = np.searchsorted(word_spans[:, 1], spans[:, 0], side="right")
    last = np.searchsorted(word_spans[:, 0], spans[:, 1], side="left")
    changes = np.zeros(len(word_spans) + 1, dtype=np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, last, -1)
    return np.cumsum(changes)[:-1] > 0


def _is_pair(span: Any) -> bool:
    if isinstance(span, (str, bytes)) or not isinstance(span, Collection) or len(span) != 2:
        return False
    return all(isinstance(edge, Integral) and not isinstance(edge, bool) for edge in span)
