"""The memory that a linear model of many classes takes."""

from __future__ import annotations

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.parts.ngrams.chunks import n_chunks_of
from sk_han.parts.ngrams.hashing import BITS
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_fitting import MIN_DOCUMENTS
from sk_han.parts.ngrams.presence import document_counts
from sk_han.utils.memory import check_memory, memory_limit

__all__ = ["check_memory_of_linear_model"]

# Bytes at the peak of a fit, for each class and n-gram and for each class and document. Measured
# with 100 to 4,000 classes; what does not grow with the classes is left out.
_BYTES_OF_NGRAM, _BYTES_OF_DOCUMENT = 40, 44
# The same in chunks: two models, and what is known of their coefficients.
_BYTES_OF_NGRAM_IN_CHUNKS = 56


def check_memory_of_linear_model(
    documents: DocumentArray,
    n_classes: int,
    ngram_range: tuple[int, int],
    *,
    before: NgramModel | None = None,
    in_portions: bool = False,
) -> None:
    """Check that there is memory for numbers of each class and n-gram, before it is taken.

    Parameters
    ----------
    documents : DocumentArray
    n_classes : int
    ngram_range : tuple of int
    before : NgramModel or None, default=None
        The model of earlier portions; its n-grams are kept.
    in_portions : bool, default=False
        Whether n-grams of a single document are kept, since the next portion may have them.

    Raises
    ------
    MemoryError
        If there is not.
    """
    limit = memory_limit()
    if limit is None:
        return
    n_known = 0 if before is None else len(before.buckets)
    n_chunks = n_chunks_of(documents, ngram_range)
    smallest, largest = ngram_range
    n_words = int(documents.words_per_document.sum())
    n_ngrams = n_known + min(n_words * (largest - smallest + 1), 1 << BITS)
    if _n_bytes(n_classes, n_ngrams, len(documents), n_chunks) > limit:
        # Fewer, as a rule: that was one for every word. To count them takes longer.
        counts = document_counts(documents, ngram_range)
        kept = counts >= (1 if in_portions else MIN_DOCUMENTS)
        n_ngrams = n_known + int(np.count_nonzero(kept))
    check_memory(
        _n_bytes(n_classes, n_ngrams, len(documents), n_chunks),
        f"A linear model of {n_classes:,} classes and {n_ngrams:,} n-grams",
        "linear_ngrams=None fits the network alone, and (1, 1) has fewer n-grams; or merge rare "
        "classes.",
    )


def _n_bytes(n_classes: int, n_ngrams: int, n_documents: int, n_chunks: int) -> int:
    of_ngram = _BYTES_OF_NGRAM if n_chunks == 1 else _BYTES_OF_NGRAM_IN_CHUNKS
    return round(n_classes * (of_ngram * n_ngrams + _BYTES_OF_DOCUMENT * n_documents / n_chunks))
