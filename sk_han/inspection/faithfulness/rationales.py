"""The words that people marked, and their ranks in an explanation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from sk_han.documents import starts_of
from sk_han.inspection.methods.source_texts import Source


def rationale_words(
    rationales: Sequence[Sequence[tuple[int, int]]], sources: Sequence[Source]
) -> NDArray[np.bool_]:
    """Check rationales and mark the words (T,) that they cover, completely or in part."""
    if not isinstance(rationales, Collection):
        raise TypeError(
            f"rationales must have one list of spans for each of the {len(sources)} documents; got "
            f"{rationales!r}."
        )
    if len(rationales) != len(sources):
        raise ValueError(
            f"rationales must have one list of spans for each of the {len(sources)} "
            f"documents; got {len(rationales)}. A document without a rationale has an empty list."
        )
    covered = [
        _covered(_checked(spans, number, len(source.text)), source.word_spans)
        for number, (spans, source) in enumerate(zip(rationales, sources, strict=True))
    ]
    return np.concatenate(covered)


def agreement(
    scores: NDArray[np.floating], marked: NDArray[np.bool_], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compare the scores of words (T,) with people's marks: AUPRC and token F1, (D,) each.

    Where k words are marked, F1 is of the k words of the highest scores, so precision and recall
    are equal to it. Where none is marked, both are NaN.
    """
    starts = starts_of(lengths)
    auprc, token_f1 = np.full((2, len(lengths)), np.nan)
    n_marked = np.diff(starts_of(marked)[starts])
    for i in np.flatnonzero(n_marked):
        own, wanted = scores[starts[i] : starts[i + 1]], marked[starts[i] : starts[i + 1]]
        auprc[i] = average_precision_score(wanted, own)
        chosen = np.argsort(-own, kind="stable")[: n_marked[i]]
        token_f1[i] = wanted[chosen].mean()
    return auprc, token_f1


def _checked(spans: Any, number: int, n_characters: int) -> NDArray[np.int64]:
    """Check the spans of a document and return them, shape (n_spans, 2)."""
    if not isinstance(spans, Collection):
        raise TypeError(
            f"The rationales of document {number} must be a list of spans (start, end); got "
            f"{spans!r}. A document without a rationale has an empty list."
        )
    for position, span in enumerate(spans):
        if np.shape(span) != (2,) or not all(isinstance(edge, Integral) for edge in span):
            raise TypeError(
                f"Rationale {position} of document {number} must be (start, end), two integers; "
                f"got {span!r}."
            )
        start, end = span
        if not 0 <= start < end <= n_characters:
            raise ValueError(
                f"Rationale {position} of document {number} is ({start}, {end}); it must start "
                f"before it ends and lie within the text of {n_characters} characters."
            )
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _covered(spans: NDArray[np.int64], word_spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the words of a document that overlap a span."""
    first = np.searchsorted(word_spans[:, 1], spans[:, 0], side="right")
    last = np.searchsorted(word_spans[:, 0], spans[:, 1], side="left")
    changes = np.zeros(len(word_spans) + 1, dtype=np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, last, -1)
    return np.cumsum(changes)[:-1] > 0
