"""The memory that a linear model of many classes takes, and that this process may take."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.parts.ngram_fitting import MIN_DOCUMENTS, MOST_DENSE, document_counts
from sk_han.parts.ngram_model import NgramModel
from sk_han.parts.ngrams import BITS

# Bytes for each class and n-gram and for each class and document, while counts become a model, and
# while documents are scored; the larger one is the peak. What does not grow with the classes is
# left out. A fit holds the model of all documents and one of most of them. Measured with 100 to 500
# classes of 600 to 2,000 news (53 to 74), and with 300 and 600 classes of many documents.
_BYTES_OF_FIT, _BYTES_OF_SCORES = (66, 8), (24, 44)
# The same for `partial_fit`, measured with 100 and 200 classes.
_BYTES_OF_PORTION = (46, 8)
# Bytes of a TF-IDF model per word (features of all documents, of those that a problem learns from,
# and scikit-learn's copy), and per class and document (indicators, weights, logits).
_BYTES_OF_WORD, _BYTES_OF_LOGIT = 100, 20
# Memory limits of a container: control groups, versions 2 and 1, as seen from inside.
_LIMITS_OF_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def check_memory_of_linear_model(
    documents: DocumentArray,
    n_classes: int,
    ngram_range: tuple[int, int],
    *,
    earlier: NgramModel | None = None,
    is_partial: bool = False,
    repair: str = "linear_ngrams=None leaves this model out, and (1, 1) has fewer n-grams",
) -> None:
    """Raise a MemoryError unless there is memory for numbers of each class and n-gram.

    A portion keeps n-grams of a single document, since the next one may have them, and those of
    the earlier model.
    """
    limit = memory_limit()
    if limit is None:
        return
    what, repair = f"A linear model of {n_classes:,} classes", f"{repair}; or merge rare classes."
    n_words = int(documents.words_per_document.sum())
    if n_classes > MOST_DENSE and not is_partial:
        check_memory(bytes_of_tfidf(n_classes, n_words, len(documents)), what, repair)
        return
    n_known = 0 if earlier is None else len(earlier.buckets)
    smallest, largest = ngram_range
    n_ngrams = n_known + min(n_words * (largest - smallest + 1), 1 << BITS)
    n_bytes = bytes_of_naive_bayes(n_classes, n_ngrams, len(documents), is_partial)
    if n_bytes > limit:
        # That was an upper bound (every n-gram distinct); counting is slow, so only now.
        counts = document_counts(documents, ngram_range)
        kept = counts >= (1 if is_partial else MIN_DOCUMENTS)
        n_ngrams = n_known + int(np.count_nonzero(kept))
        n_bytes = bytes_of_naive_bayes(n_classes, n_ngrams, len(documents), is_partial)
    check_memory(n_bytes, f"{what} and {n_ngrams:,} n-grams", repair)


def bytes_of_tfidf(n_classes: int, n_words: int, n_documents: int) -> int:
    """Return about how many bytes of memory a model of TF-IDF takes."""
    return _BYTES_OF_WORD * n_words + _BYTES_OF_LOGIT * n_classes * n_documents


def bytes_of_naive_bayes(
    n_classes: int, n_ngrams: int, n_documents: int, is_partial: bool = False
) -> int:
    """Return about how many bytes of memory the classes take at the peak."""
    peaks = [_BYTES_OF_PORTION] if is_partial else [_BYTES_OF_FIT, _BYTES_OF_SCORES]
    return n_classes * max(a * n_ngrams + b * n_documents for a, b in peaks)


def memory_limit() -> int | None:
    """Return the bytes that this process may have, whatever others take, or None if unknown."""
    limits = []
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _LIMITS_OF_GROUPS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(file.read_text("ascii")))
    if find_spec("resource") is not None:  # Windows has none
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min((limit for limit in limits if limit > 0), default=None)


def check_memory(n_bytes: int, what: str, repair: str) -> None:
    """Raise MemoryError, and take nothing, if the process may not have about so many bytes."""
    limit = memory_limit()
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{what} would take about {n_bytes / 1e9:,.1f} GB of memory; this process may have "
            f"{limit / 1e9:,.1f} GB. {repair}"
        )
