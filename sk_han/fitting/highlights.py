"""Highlights: the characters of texts that people marked as reasons, as marked words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import MARKED, NOT_MARKED, DocumentArray, starts_of
from sk_han.fitting.settings import Settings
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.counts import agreeing, counted
from sk_han.utils.warnings import warn_user
from sk_han.validation.documents import holds_word_ids
from sk_han.validation.labels import check_number
from sk_han.validation.spans import checked_spans, covered_words
from sk_han.validation.texts import is_missing


def check_highlights(highlights: Any, X: Any, settings: Settings) -> list[NDArray[np.int64]] | None:
    """Return the spans of each document, (n_spans, 2), which are none where nobody looked.

    In a column of a joined table None has become NaN or NA.
    """
    if highlights is None:
        return None
    if holds_word_ids(X):
        raise TypeError(
            "highlights are of characters of texts, and X holds word ids, which have none. Give "
            "raw texts: HANClassifier(tokenizer=...) reads them as a HierarchicalTokenizer before "
            "it in a Pipeline does."
        )
    if settings.network_options.attention is None:
        raise ValueError(
            f"highlights teach attention, and pooling={settings.pooling!r} has none. Take "
            "pooling='attention', or leave them out."
        )
    if isinstance(highlights, str) or not isinstance(highlights, Collection):
        raise TypeError(
            "highlights must be a list with an entry for each document: spans (start, end), [] for "
            f"a document without any, None for one that nobody looked at; got {highlights!r}."
        )
    check_number(highlights, len(X), "highlight (None for a document that nobody looked at)")
    return [
        checked_spans([] if is_missing(spans) else spans, number, len(text), "highlight")
        for number, (spans, text) in enumerate(zip(highlights, X, strict=True))
    ]


def marks_of(
    spans: list[NDArray[np.int64]],
    texts: list[str],
    documents: DocumentArray,
    tokenizer: HierarchicalTokenizer,
) -> DocumentArray | None:
    """Mark the words that spans cover, as of `LabelledDocuments`; None if there is no such word."""
    rows = [row for row, some in enumerate(spans) if len(some)]
    marks = np.full(documents.n_words, NOT_MARKED, dtype=np.int32)
    starts = starts_of(documents.words_per_document)
    n_spans = n_empty = 0
    _, found = tokenizer.locate([texts[row] for row in rows]) if rows else (None, [])
    for row, places in zip(rows, found, strict=True):
        covered, has_word = covered_words(spans[row], places.word_spans)
        marks[starts[row] : starts[row + 1]][covered] = MARKED
        n_spans += len(has_word)
        n_empty += np.count_nonzero(~has_word)
    if n_empty:
        warn_user(
            f"{n_empty:,} of {counted(n_spans, 'highlight')} {agreeing(n_empty, 'cover')} no word "
            f"that is read, and {agreeing(n_empty, 'have')} no effect: marked is text behind what "
            "max_sentences or max_words of the tokenizer keep, or signs or stop words that it "
            "leaves out."
        )
    return documents.with_word_ids(marks) if n_spans > n_empty else None
