"""What scores of words are worth: predictions without the highest, and agreement with people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from sk_han.documents import DocumentArray, starts_of
from sk_han.inspection.methods.explanations import Source
from sk_han.utils.counts import counted
from sk_han.validation.spans import checked_spans, covered_words

Predict = Callable[[DocumentArray], NDArray[np.float64]]

# Small steps where explanations differ: good ones flip a decision within a tenth of the words.
FLIP_GRID = (*(step / 100 for step in range(1, 11)), *(step / 100 for step in range(15, 100, 5)))


def ranked(documents: DocumentArray, scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Rank the words of each document, (T,): 0 has the highest score; ties are in reading order."""
    lengths = documents.words_per_document
    document = np.repeat(np.arange(len(documents)), lengths)
    order = np.lexsort((-scores, document))
    rank = np.empty(len(scores), dtype=np.int64)
    first_word = documents.word_starts[:-1]
    rank[order] = np.arange(len(scores)) - np.repeat(first_word, lengths)
    return rank


def top_counts(lengths: NDArray[np.int64], fraction: float) -> NDArray[np.int64]:
    """Return the number of words in the top fraction of each document (D,), rounded up."""
    # In floating point 7 % of 100 words is a little more than 7.
    return np.ceil(fraction * lengths - 1e-9).astype(np.int64)


def comprehensiveness_and_sufficiency(
    predict: Predict,
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
    fractions: Sequence[float],
) -> NDArray[np.float64]:
    """Measure the fall of the predicted class's probability, (2, D), a mean over fractions.

    Without the words of the highest ranks, and with these alone. `whole`, (D, K), are the
    probabilities of whole documents.
    """
    lengths = documents.words_per_document
    rows, predicted = np.arange(len(documents)), whole.argmax(axis=1)
    falls = np.zeros((2, len(documents)))
    for fraction in fractions:
        top = rank < np.repeat(top_counts(lengths, fraction), lengths)
        for fall, kept in zip(falls, (~top, top), strict=True):
            reduced = predict(documents.keep_words(kept))
            fall += (whole - reduced)[rows, predicted] / len(fractions)
    return falls


def flip_shares(
    predict: Predict, documents: DocumentArray, whole: NDArray[np.float64], rank: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Find the smallest share of words, by rank, whose removal changes the decision, (D,).

    Only the shares of `FLIP_GRID`, rounded up to words, are tried; 1.0 if none changes it.
    """
    lengths = documents.words_per_document
    decision = whole.argmax(axis=1)
    shares = np.ones(len(documents))
    removed = np.zeros(len(documents), dtype=np.int64)
    unchanged = np.ones(len(documents), dtype=bool)
    for fraction in FLIP_GRID:
        counts = top_counts(lengths, fraction)
        # In a short document, several shares are the same number of words.
        rows = np.flatnonzero(unchanged & (counts > removed) & (counts < lengths))
        if len(rows) == 0:
            continue
        removed = counts
        reduced = documents.keep_words(rank >= np.repeat(counts, lengths))[rows]
        flipped = rows[predict(reduced).argmax(axis=1) != decision[rows]]
        shares[flipped] = counts[flipped] / lengths[flipped]
        unchanged[flipped] = False
    return shares


def rationale_words(
    rationales: Sequence[Sequence[tuple[int, int]]], sources: Sequence[Source]
) -> NDArray[np.bool_]:
    """Check rationales and mark the words (T,) that they cover, completely or in part."""
    if not isinstance(rationales, Collection):
        raise TypeError(
            f"rationales must have a list of spans for each of {counted(len(sources))}; got "
            f"{rationales!r}."
        )
    if len(rationales) != len(sources):
        raise ValueError(
            f"rationales must have a list of spans for each of {counted(len(sources))}; got "
            f"{len(rationales)}. A document without a rationale has an empty list."
        )
    covered = [
        covered_words(checked_spans(spans, number, len(source.text)), source.word_spans)
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
