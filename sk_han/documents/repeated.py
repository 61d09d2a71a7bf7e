"""Documents that hold the same words as another one."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray
from sk_han.documents.lazy import portions

__all__ = ["conflicting_rows", "first_of_same_words"]


def first_of_same_words(documents: DocumentArray) -> NDArray[np.int64]:
    """Find the first document with the same words in the same order, for each document.

    Where sentences end does not matter. A document without words is like no other.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)

    Returns
    -------
    ndarray of int64, shape (D,)
        Row numbers; its own one for a document that no earlier one is like.

    Examples
    --------
    >>> from sk_han import DocumentArray
    >>> from sk_han.documents.repeated import first_of_same_words
    >>> documents = DocumentArray.from_nested([[[2, 3]], [[4]], [[2], [3]], [], []])
    >>> first_of_same_words(documents).tolist()
    [0, 1, 0, 3, 4]
    """
    first_of: dict[bytes, int] = {}
    found: list[int] = []
    for portion in portions(documents):
        portion = portion.in_memory()
        ids = np.ascontiguousarray(portion.word_ids, dtype=np.int32).view(np.uint8).data
        starts = 4 * portion.sentence_starts[portion.document_starts]
        for start, stop in pairwise(starts.tolist()):
            row = len(found)
            # A digest, since whole documents would take the memory of the collection again.
            same = row if start == stop else first_of.setdefault(_digest(ids[start:stop]), row)
            found.append(same)
    return np.array(found, dtype=np.int64)


def conflicting_rows(
    first_of_same: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Find documents with the words of another one that has another class.

    Parameters
    ----------
    first_of_same : ndarray of int64, shape (D,)
        As `first_of_same_words` returns it.
    targets : ndarray of int64, shape (D,)

    Returns
    -------
    ndarray of int64
        Rows, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han.documents.repeated import conflicting_rows
    >>> conflicting_rows(np.array([0, 1, 0, 1]), np.array([0, 1, 0, 0])).tolist()
    [1, 3]
    """
    differs = targets != targets[first_of_same]
    return np.flatnonzero(np.isin(first_of_same, first_of_same[differs]))


def _digest(words: memoryview) -> bytes:
    return blake2b(words, digest_size=16).digest()
