"""Where terms stand in documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.parts.ngrams.hashing import batches, keyed_ngrams


class Occurrences(NamedTuple):
    """Where the shown terms stand, ordered by term, then by document; each (n_occurrences,)."""

    terms: NDArray[np.int64]  # positions in the sorted keys of the shown terms
    rows: NDArray[np.int64]  # documents
    first_words: NDArray[np.int64]  # numbers of words in the document
    sizes: NDArray[np.int64]  # numbers of words of the term

    @classmethod
    def of(
        cls,
        terms: NDArray[np.int64],
        rows: NDArray[np.int64],
        first_words: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> Occurrences:
        """Put occurrences in order."""
        order = np.lexsort((first_words, rows, terms))
        return cls(terms[order], rows[order], first_words[order], sizes[order])

    def of_term(self, term: int) -> Occurrences:
        """Return the occurrences of one term."""
        start, stop = np.searchsorted(self.terms, [term, term + 1])
        return Occurrences(*(array[start:stop] for array in self))


def occurrences_of(documents: DocumentArray, keys: NDArray[np.uint64], largest: int) -> Occurrences:
    """Find n-grams by their keys, which are sorted."""
    parts: list[tuple[NDArray[np.int64], ...]] = []
    row = 0
    for batch in batches(documents):
        document_of = np.repeat(np.arange(len(batch)), batch.words_per_document)
        starts = batch.sentence_starts[batch.document_starts]
        of_batch, first, sizes = keyed_ngrams(batch, (1, largest))
        term = np.searchsorted(keys, of_batch)
        is_shown = np.flatnonzero(np.append(keys, 0)[term] == of_batch)  # no n-gram has the key 0
        first = first[is_shown]
        rows = document_of[first]
        parts.append((term[is_shown], row + rows, first - starts[rows], sizes[is_shown]))
        row += len(batch)
    return Occurrences.of(*map(np.concatenate, zip(*parts, strict=True)))
