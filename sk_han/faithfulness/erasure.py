"""What becomes of a prediction when the words that scored highest go, or stay alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.explainers.perturbation import keep_words

__all__ = [
    "FLIP_GRID",
    "comprehensiveness_and_sufficiency",
    "flip_shares",
    "ranked",
    "top_counts",
]

Predict = Callable[[DocumentArray], NDArray[np.float64]]

# Fine where explanations differ: good ones flip a decision within the first tenth of the words.
FLIP_GRID = (*(step / 100 for step in range(1, 11)), *(step / 100 for step in range(15, 100, 5)))


def ranked(documents: DocumentArray, scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Rank the words of each document: 0 has the highest score; ties stand in reading order.

    Parameters
    ----------
    documents : DocumentArray of shape (n_documents,)
    scores : ndarray of shape (n_words,)

    Returns
    -------
    ndarray of int64, shape (n_words,)
    """
    lengths = documents.words_per_document
    document = np.repeat(np.arange(len(documents)), lengths)
    order = np.lexsort((-scores, document))
    rank = np.empty(len(scores), dtype=np.int64)
    first_word = documents.sentence_starts[documents.document_starts[:-1]]
    rank[order] = np.arange(len(scores)) - np.repeat(first_word, lengths)
    return rank


def top_counts(lengths: NDArray[np.int64], fraction: float) -> NDArray[np.int64]:
    """How many words the top fraction of documents of these lengths is: rounded up.

    A document of one word or more has at least one.
    """
    # In floating point 7 % of 100 words is a little more than 7.
    return np.ceil(fraction * lengths - 1e-9).astype(np.int64)


def comprehensiveness_and_sufficiency(
    predict: Predict,
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
    fractions: Sequence[float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measure how far the probability of the predicted class falls, as means over fractions.

    Parameters
    ----------
    predict : callable
        Documents to their probabilities, (n_documents, n_classes).
    documents : DocumentArray of shape (n_documents,)
    whole : ndarray of shape (n_documents, n_classes)
        What `predict` gives for the documents as they are.
    rank : ndarray of int64, shape (n_words,)
        Of each word within its document, as `ranked` gives it.
    fractions : sequence of float
        Shares of the words of a document, above 0 and at most 1.

    Returns
    -------
    comprehensiveness : ndarray of shape (n_documents,)
        Fall without the words of the highest ranks.
    sufficiency : ndarray of shape (n_documents,)
        Fall with these words alone.
    """
    lengths = documents.words_per_document
    rows, predicted = np.arange(len(documents)), whole.argmax(axis=1)
    falls = np.zeros((2, len(documents)))
    for fraction in fractions:
        top = rank < np.repeat(top_counts(lengths, fraction), lengths)
        for fall, kept in zip(falls, (~top, top), strict=True):
            reduced = predict(keep_words(documents, kept))
            fall += (whole - reduced)[rows, predicted] / len(fractions)
    return falls[0], falls[1]


def flip_shares(
    predict: Predict,
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Find the smallest share of words whose removal, in the order of rank, changes the decision.

    Parameters
    ----------
    predict, documents, whole, rank
        As of `comprehensiveness_and_sufficiency`.

    Returns
    -------
    ndarray of shape (n_documents,)
        Words removed by words of the document. Looked for at the shares of `FLIP_GRID`, rounded
        up to whole words; 1.0 where none changes the decision.
    """
    lengths = documents.words_per_document
    decision = whole.argmax(axis=1)
    shares = np.ones(len(documents))
    removed = np.zeros(len(documents), dtype=np.int64)
    holding = np.ones(len(documents), dtype=bool)
    for fraction in FLIP_GRID:
        counts = top_counts(lengths, fraction)
        # In a short document several shares are the same words.
        rows = np.flatnonzero(holding & (counts > removed) & (counts < lengths))
        if len(rows) == 0:
            continue
        removed = counts
        reduced = keep_words(documents, rank >= np.repeat(counts, lengths))[rows]
        flipped = rows[predict(reduced).argmax(axis=1) != decision[rows]]
        shares[flipped] = counts[flipped] / lengths[flipped]
        holding[flipped] = False
    return shares
