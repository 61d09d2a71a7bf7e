"""Documents that hold the same words as another one, told by their word ids or by their text.

Training documents are compared by word ids, since a fit may have no texts. Held-out ones are
compared by text, since all unknown words have the same id.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray
from sk_han.documents.lazy import portions

__all__ = ["conflicting_rows", "first_of_same_words", "groups_of_same", "text_key"]

_WORDS = re.compile(r"\w+")


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
    return _first_of_same(_digests(documents))


def text_key(text: str) -> str:
    """Return what texts have in common whose words are the same.

    Case, blanks and punctuation do not count, unless a text has nothing else. Of a text of blanks
    it is empty.

    Examples
    --------
    >>> from sk_han.documents.repeated import text_key
    >>> text_key("A fine  film!") == text_key("a fine film.")
    True
    """
    folded = text.casefold()
    return " ".join(_WORDS.findall(folded)) or "".join(folded.split())


def groups_of_same(keys: Iterable[str]) -> list[list[int]]:
    """Return the positions of equal keys, for each key that occurs more than once.

    Empty keys are like no other.

    Examples
    --------
    >>> from sk_han.documents.repeated import groups_of_same
    >>> groups_of_same(["a", "b", "a", "", "b", "a", ""])
    [[0, 2, 5], [1, 4]]
    """
    groups: dict[int, list[int]] = {}
    for row, first in enumerate(_first_of_same(key or None for key in keys).tolist()):
        groups.setdefault(first, []).append(row)
    return [group for group in groups.values() if len(group) > 1]


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


def _first_of_same(keys: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the position of the first equal key, for each key; None is like no other."""
    first_of: dict[Hashable, int] = {}
    return np.array(
        [i if key is None else first_of.setdefault(key, i) for i, key in enumerate(keys)],
        dtype=np.int64,
    )


def _digests(documents: DocumentArray) -> Iterator[bytes | None]:
    """Yield digests, since whole documents would take the memory of the collection again."""
    for portion in portions(documents):
        portion = portion.in_memory()
        ids = np.ascontiguousarray(portion.word_ids, dtype=np.int32).view(np.uint8).data
        starts = 4 * portion.sentence_starts[portion.document_starts]
        for start, stop in pairwise(starts.tolist()):
            yield None if start == stop else blake2b(ids[start:stop], digest_size=16).digest()
