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
from sk_han.documents.checks import UNKNOWN_ID
from sk_han.documents.lazy import portions

_WORDS = re.compile(r"\w+")


def first_of_same_words(documents: DocumentArray) -> NDArray[np.int64]:
    """Return the row of the first document with the same words in the same order, of each, (D,).

    Where sentences end does not matter. A document without a known word is like no other.
    """
    return _first_of_same(_digests(documents))


def text_key(text: str) -> str:
    """Return what texts have in common whose words are the same; of a text of blanks, nothing.

    Case, blanks and punctuation do not count, unless a text has nothing else.
    """
    folded = text.casefold()
    return " ".join(_WORDS.findall(folded)) or "".join(folded.split())


def groups_of_same(keys: Iterable[str]) -> list[list[int]]:
    """Return the positions of each key that occurs more than once; empty keys are like no other."""
    groups: dict[int, list[int]] = {}
    for row, first in enumerate(_first_of_same(key or None for key in keys).tolist()):
        groups.setdefault(first, []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def groups_by_label(groups: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number groups (D,) anew, those of a label next to each other, so that folds share them."""
    by_label = np.argsort(codes, kind="stable")
    _, first, of_row = np.unique(groups[by_label], return_index=True, return_inverse=True)
    found = np.empty(len(codes), dtype=np.int64)
    found[by_label] = first[of_row]
    return found


def conflicting_rows(
    first_of_same: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Find the rows, ascending, of documents with the words of one that has another target (D,)."""
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
        starts = portion.sentence_starts[portion.document_starts]
        n_known = np.append(0, np.cumsum(portion.word_ids > UNKNOWN_ID))[starts]
        for has_known, (start, stop) in zip(
            np.diff(n_known) > 0, pairwise(4 * starts), strict=True
        ):
            yield blake2b(ids[start:stop], digest_size=16).digest() if has_known else None
