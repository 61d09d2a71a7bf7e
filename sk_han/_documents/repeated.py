"""Duplicates: documents with the same words as another one, found by word ids or by text.

Training documents are compared by word ids, since a fit may have no texts. Held-out documents are
compared by text, since all unknown words have the same id.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents.array import UNKNOWN_ID, DocumentArray

_WORDS = re.compile(r"\w+")

# Documents with the same words stay together in a split, since the model would have memorized a
# held-out copy. But if most documents are copies and few differ, too few could be held out.
_MOST_COPIES, _ENOUGH_DIFFERENT = 0.5, 50

# A document is hashed only if more than this share of its words is known. Documents of mostly
# unknown words would get equal hashes.
_SHARE_HASHED = 0.5


def first_of_same_words(documents: DocumentArray) -> NDArray[np.int64]:
    """Return, for each document, the row of the first one with the same sequence of words, (D,).

    Sentence boundaries do not matter. A document without a known word equals no other.
    """
    return _first_of_same(_digests(documents))


def text_key(text: str) -> str:
    """Return a normalized key, equal for texts with the same words and empty for blank text.

    Case, blanks and punctuation do not count, unless a text has nothing else.
    """
    folded = text.casefold()
    return " ".join(_WORDS.findall(folded)) or "".join(folded.split())


def first_of_same_text(texts: Iterable[str]) -> NDArray[np.int64]:
    """Return, for each text, the row of the first one with the same words, (D,).

    A blank text equals no other.
    """
    return _first_of_same(text_key(text) or None for text in texts)


def duplicate_groups(keys: Iterable[str]) -> list[list[int]]:
    """Return the positions of each key that occurs more than once; empty keys are never equal."""
    groups: dict[int, list[int]] = {}
    for row, first in enumerate(_first_of_same(key or None for key in keys).tolist()):
        groups.setdefault(first, []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def groups_by_label(groups: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber groups (D,) so that groups of one label have consecutive numbers.

    Folds that are dealt out in this order get similar shares of each label.
    """
    by_label = np.argsort(codes, kind="stable")
    _, first, of_row = np.unique(groups[by_label], return_index=True, return_inverse=True)
    renumbered = np.empty(len(codes), dtype=np.int64)
    renumbered[by_label] = first[of_row]
    return renumbered


def copy_groups(
    first_of_same: NDArray[np.int64], codes: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the group of each document (D,), which it shares with its copies, for splits.

    `first_of_same` comes from `first_of_same_words` or `first_of_same_text`; `codes` (D,) are the
    numbers of the targets. The result is None if there is no copy, or too few documents differ.
    """
    n_copies = int((first_of_same != np.arange(len(codes))).sum())
    n_different = len(codes) - n_copies
    if n_copies and (n_different >= _ENOUGH_DIFFERENT or n_copies < _MOST_COPIES * len(codes)):
        return groups_by_label(first_of_same, codes)
    return None


def conflicting_rows(
    first_of_same: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows, sorted, of documents that have the words of one with another target."""
    differs = targets != targets[first_of_same]
    return np.flatnonzero(np.isin(first_of_same, first_of_same[differs]))


class TextHashes(NamedTuple):
    """Salted hashes of the words of documents, which recognize documents with the same words."""

    salt: NDArray[np.uint8]  # (16,)
    hashes: NDArray[np.uint64]  # (n,), rising

    @classmethod
    def from_documents(cls, documents: DocumentArray, salt: NDArray[np.uint8]) -> TextHashes:
        """Hash documents; those with half or more of their words unknown get no hash."""
        keys = [key for key in _salted_keys(documents, salt) if key is not None]
        return cls(salt, np.unique(np.array(keys, dtype=np.uint64)))

    def union(self, documents: DocumentArray) -> TextHashes:
        """Return these hashes together with those of further documents."""
        further = self.from_documents(documents, self.salt).hashes
        return self._replace(hashes=np.union1d(self.hashes, further))

    def contain(self, documents: DocumentArray) -> NDArray[np.bool_]:
        """Return whether each document (D,) has the words of one that was hashed."""
        keys = [key or 0 for key in _salted_keys(documents, self.salt)]
        return np.isin(np.array(keys, dtype=np.uint64), self.hashes)

    def are_compared(self, documents: DocumentArray) -> NDArray[np.bool_]:
        """Return whether more than half of the words of each document (D,) are known."""
        return _are_known(documents, _SHARE_HASHED)


def _salted_keys(documents: DocumentArray, salt: NDArray[np.uint8]) -> Iterator[int | None]:
    # 0 is left free: it stands for a document without a hash.
    for digest in _digests(documents, salt.tobytes(), _SHARE_HASHED):
        yield None if digest is None else max(int.from_bytes(digest[:8], "little"), 1)


def _first_of_same(keys: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the position of the first equal key, for each key; None equals no other."""
    first_of: dict[Hashable, int] = {}
    return np.array(
        [i if key is None else first_of.setdefault(key, i) for i, key in enumerate(keys)],
        dtype=np.int64,
    )


def _digests(
    documents: DocumentArray, salt: bytes = b"", share_known: float = 0.0
) -> Iterator[bytes | None]:
    """Yield a digest of each document, or None unless more than this share of its words is known.

    As keys of a dict, the words themselves would take the memory of the whole collection again.
    """
    ids = np.ascontiguousarray(documents.word_ids, dtype=np.int32).view(np.uint8).data
    is_known = _are_known(documents, share_known)
    for is_hashed, (start, stop) in zip(is_known, pairwise(4 * documents.word_starts), strict=True):
        yield blake2b(ids[start:stop], digest_size=16, salt=salt).digest() if is_hashed else None


def _are_known(documents: DocumentArray, share_known: float) -> NDArray[np.bool_]:
    """Return whether more than this share of the words of each document (D,) is known."""
    starts = documents.word_starts
    n_known = np.append(0, np.cumsum(documents.word_ids > UNKNOWN_ID))[starts]
    are_known: NDArray[np.bool_] = np.diff(n_known) > share_known * np.diff(starts)
    return are_known


@dataclass(frozen=True)
class LabelledDocuments:
    """D documents with encoded targets, positive weights in the loss, and groups (D,).

    Documents of a group stay together in splits and folds.
    """

    documents: DocumentArray
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None

    @property
    def inputs(self) -> DocumentArray:
        """The documents; `Net` expects this name of all kinds of training data."""
        return self.documents

    def __len__(self) -> int:
        return len(self.documents)

    def excerpts(self, most_words: int, random_state: np.random.RandomState) -> LabelledDocuments:
        """Return the same data with excerpts of the longer documents."""
        return replace(self, documents=self.documents.excerpts(most_words, random_state))

    def __getitem__(self, rows: Any) -> LabelledDocuments:
        groups = None if self.groups is None else self.groups[rows]
        return LabelledDocuments(
            self.documents[rows], self.targets[rows], self.weights[rows], groups
        )
