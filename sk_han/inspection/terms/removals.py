"""Predictions without the terms that a summary shows: without each, and without all together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, concatenated_ranges
from sk_han.inspection.results.summary import Removal
from sk_han.inspection.terms.tallies import Occurrences, Shown
from sk_han.parts import Pool

_MOST_REMOVALS = 100  # documents from which a term is taken out
_FEWEST_REMOVALS = 10
_WORDS_OF_REMOVALS = 4_000_000  # of all documents from which terms are taken out, about
_AT_ONCE = 500  # of these documents, about; many terms have few


class Decisions(NamedTuple):
    """Predictions of documents, with a term and without it, by term."""

    before: list[NDArray[np.int64]]
    after: list[NDArray[np.int64]]

    def share(self, term: int, number: int) -> float:
        """Return the share of documents that change from or to a class."""
        before, after = self.before[term], self.after[term]
        concerned = (before == number) | (after == number)
        return float(np.mean((before != after) & concerned))


def decisions(
    pool: Pool,
    documents: DocumentArray,
    predicted: NDArray[np.int64],
    found: Occurrences,
    n_terms: int,
    random: Any,
) -> Decisions:
    """Take each term out of a sample of the documents that have it, and predict again."""
    mean_words = documents.n_words / max(len(documents), 1)
    most = int(_WORDS_OF_REMOVALS / max(n_terms * mean_words, 1))
    most = min(max(most, _FEWEST_REMOVALS), _MOST_REMOVALS)
    before: list[NDArray[np.int64]] = []
    after: list[NDArray[np.int64]] = []
    reduced: list[DocumentArray] = []
    for term in range(n_terms):
        places = found.of_term(term)
        rows = np.unique(places.rows)
        if len(rows) > most:
            rows = np.sort(random.choice(rows, most, replace=False))
        copies = documents[rows]
        sampled = np.isin(places.rows, rows)
        starts = copies.word_starts
        first = starts[np.searchsorted(rows, places.rows[sampled])] + places.first_words[sampled]
        kept = np.ones(copies.n_words, dtype=bool)
        kept[concatenated_ranges(first, places.sizes[sampled])] = False
        before.append(predicted[rows])
        reduced.append(copies.keep_words(kept))
        ends = np.cumsum([len(each) for each in reduced])
        if ends[-1] >= _AT_ONCE or term == n_terms - 1:
            likeliest = pool.target.likeliest(pool.logits(DocumentArray.concatenate(reduced)))
            after += np.split(likeliest, ends[:-1])
            reduced = []
    return Decisions(before, after)


def words_for_predicted(
    documents: DocumentArray, predicted: NDArray[np.int64], shown: Shown, found: Occurrences
) -> NDArray[np.bool_]:
    """Mark the words in terms that are shown as speaking for the class predicted, (n_words,)."""
    n_classes = 1 + max(number for _, number in shown.terms)
    speaks_for = np.zeros((len(shown.keys), n_classes), dtype=bool)
    for (_, number), terms in shown.terms.items():
        for term in terms:
            speaks_for[shown.position(term.key), number] |= term.total > 0
    starts = documents.word_starts
    chosen = speaks_for[found.terms, predicted[found.rows]]
    first = starts[found.rows[chosen]] + found.first_words[chosen]
    marked = np.zeros(documents.n_words, dtype=bool)
    marked[concatenated_ranges(first, found.sizes[chosen])] = True
    return marked


def honesty(
    pool: Pool,
    documents: DocumentArray,
    probabilities: NDArray[np.float64],
    marked: NDArray[np.bool_],
    random: Any,
) -> tuple[Removal | None, list[Removal | None]]:
    """Predict without the marked words (T,), without as many drawn at random, and without any.

    Return the falls over all documents, and over those for which each class is predicted.
    """
    lengths, predicted = documents.words_per_document, probabilities.argmax(axis=1)
    rows = np.arange(len(lengths))
    document_of = np.repeat(rows, lengths)
    counts = np.bincount(document_of, marked, len(lengths)).astype(np.int64)
    by_lot = np.zeros(len(marked), dtype=bool)
    order = np.lexsort((random.permutation(len(marked)), document_of))
    starts = documents.word_starts[:-1]
    by_lot[order[concatenated_ranges(starts, counts)]] = True
    falls, changes = [], []
    for left_out in (marked, by_lot, np.ones(len(marked), dtype=bool)):
        reduced = pool.target.probabilities(pool.logits(documents.keep_words(~left_out)))
        falls.append((probabilities - reduced)[rows, predicted])
        changes.append(reduced.argmax(axis=1) != predicted)

    def removal(chosen: NDArray[np.bool_]) -> Removal | None:
        if not chosen.any():
            return None
        return Removal(
            int(chosen.sum()),
            float(counts[chosen].sum() / max(lengths[chosen].sum(), 1)),
            *(float(fall[chosen].mean()) for fall in falls),
            *(float(change[chosen].mean()) for change in changes),
        )

    n_classes = probabilities.shape[1]
    everywhere = removal(np.ones(len(lengths), dtype=bool))
    return everywhere, [removal(predicted == number) for number in range(n_classes)]
