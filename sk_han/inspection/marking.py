"""marking_page: texts in which people mark why they have their labels."""

from __future__ import annotations

import os
from typing import Any

from sk_han.inspection.results.result import plain, written
from sk_han.rendering.to_mark import marking_markup
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.containers import label_list
from sk_han.validation.texts import check_texts

__all__ = ["marking_page"]


def marking_page(texts: Any, labels: Any = None, path: str | os.PathLike[str] | None = None) -> str:
    """Return a page in which a person marks the words that tell the labels of texts.

    It works alone in any browser, and saves a file for `read_highlights`. It does not show what a
    model makes of the texts, which would lead the hand.

    Parameters
    ----------
    texts : iterable of str, shape (n_documents,)
        Some hundreds: the page takes about 100 bytes for each word.
    labels : array-like of shape (n_documents,), default=None
        The label that stands above each text, and in the file; of several labels a document, a list
        of them. None shows none.
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
    given = [()] * len(texts) if labels is None else label_list(labels)
    if len(given) != len(texts):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {len(texts)} texts, "
            f"{len(given)} labels."
        )
    sets = [list(each) if isinstance(each, (list, tuple)) else [each] for each in given]
    found = HierarchicalTokenizer(min_df=1).fit(texts).spans(texts)
    words = [spans.word_spans.tolist() for spans in found]
    return written(marking_markup(texts, plain(sets), words), path)
