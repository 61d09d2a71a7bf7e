"""Documents of some of the sentences of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray
from sk_han.documents.offsets import packed, starts_of
from sk_han.documents.sentences import SentenceArray


def each_sentence_alone(documents: DocumentArray) -> DocumentArray:
    """Return each sentence as a document of its own, shape (N,)."""
    starts = np.arange(documents.n_sentences + 1)
    alone = DocumentArray._checked(
        documents.word_ids, documents.sentence_starts, starts, documents.spelling
    )
    if isinstance(documents, SentenceArray):
        return documents._with(alone, documents.sentence_numbers, None)
    return alone


@dataclass(frozen=True)
class Coalitions:
    """M sets of sentences, each of one document and in its order; some may be empty."""

    sentences: NDArray[np.int64]  # numbers among those of all documents, set by set
    lengths: NDArray[np.int64]  # (M,), sentences of each set

    def documents(self, source: DocumentArray) -> DocumentArray:
        """Return a document of each set, shape (M,); `source` has the sentences."""
        chosen: DocumentArray = each_sentence_alone(source)[self.sentences]
        chosen.document_starts = starts_of(self.lengths)
        return chosen

    def portions(self, sizes: NDArray[np.int64], most: int) -> Iterator[Coalitions]:
        """Yield consecutive sets: sizes (N,) of their sentences sum to `most`, or of one set."""
        starts = starts_of(self.lengths)
        of_sets = np.diff(starts_of(sizes[self.sentences])[starts])
        for sets in packed(of_sets, most):
            sentences = self.sentences[starts[sets.start] : starts[sets.stop]]
            yield Coalitions(sentences, self.lengths[sets])
