"""marking_page: texts in which people mark why they have their labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sk_han.inspection.results.result import plain, written
from sk_han.rendering.marking_page import marking_markup
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.containers import label_list
from sk_han.utils.counts import counted
from sk_han.validation.indicators import check_indicator, is_indicator
from sk_han.validation.texts import check_texts


def marking_page(texts: Any, labels: Any = None, path: str | os.PathLike[str] | None = None) -> str:
    """Return a page in which a person marks the words that tell the labels of texts.

    It works alone in any browser, and saves a file for `read_highlights`. It does not show what a
    model makes of the texts, which would influence the person.

    Parameters
    ----------
    texts : iterable of str, shape (n_documents,)
        Some hundreds: the page takes about 100 bytes for each word.
    labels : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
        The label that stands above each text, and in the file; with several labels a document,
        lists of them or an indicator, as of `HANClassifier.fit`. None shows none.
    path : path-like, default=None
        File to write, in UTF-8.

    Returns
    -------
    str
        The page. Unlike all others of this package it holds a script, its own, and a policy by
        which the browser runs no other and loads nothing.

    Raises
    ------
    ValueError
        If there is not a label for each text.

    See Also
    --------
    read_highlights : Reads the file that the page saves.

    Examples
    --------
    >>> from sk_han import marking_page
    >>> page = marking_page(["A dull film"], ["neg"])
    >>> page.count("data-start")
    3
    """
    texts = list(check_texts(texts))
    sets = _sets(labels, len(texts))
    found = HierarchicalTokenizer(min_df=1).fit(texts).spans(texts)
    words = [spans.word_spans.tolist() for spans in found]
    return written(marking_markup(texts, plain(sets), words), path)


def _sets(labels: Any, n_texts: int) -> list[list[Any]]:
    """Return the labels of each text."""
    if labels is None:
        return [[]] * n_texts
    rows = labels if isinstance(labels, (list, tuple)) else ()
    if is_indicator(labels) and all(value in (0, 1) for row in rows for value in row):
        values, columns = check_indicator(labels, n_texts, "labels")
        names = np.arange(values.shape[1]) if columns is None else columns
        return [names[row].tolist() for row in values]
    given = label_list(labels)
    if len(given) != n_texts:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{counted(n_texts, 'text')}, {counted(len(given), 'label')}."
        )
    return [list(each) if isinstance(each, (list, tuple)) else [each] for each in given]
