"""The words that people marked, and their ranks in an explanation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from sk_han.documents import starts_of
from sk_han.inspection.methods.source_texts import Source
from sk_han.validation.spans import checked_spans, covered_words


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
        covered_words(
            checked_spans(spans, number, len(source.text), "rationale"), source.word_spans
        )[0]
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
