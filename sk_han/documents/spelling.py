"""How the words of documents are written, also those that a vocabulary lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.offsets import starts_of

NOT_KNOWN = -1  # how a word is written


class Spelling(NamedTuple):
    """The words of documents by their types; documents chosen of others share the list."""

    types: NDArray[np.int32]  # (n_words,), the position of each word in the list, or `NOT_KNOWN`
    words: list[str]

    def at(self, chosen: NDArray[Any]) -> Spelling:
        """Return the spelling of some of the words, by position or marked."""
        return Spelling(self.types[chosen], self.words)

    def used(self) -> Spelling:
        """Return the same with a list that has no other words."""
        known = self.types >= 0
        rows, found = np.unique(self.types[known], return_inverse=True)
        if len(rows) == len(self.words):
            return self
        types = np.full(len(self.types), NOT_KNOWN, dtype=np.int32)
        types[known] = found
        return Spelling(types, [self.words[row] for row in rows.tolist()])

    @staticmethod
    def joined(parts: Sequence[Spelling | None], lengths: Sequence[int]) -> Spelling | None:
        """Return the spelling of several arrays' words, in order; None if none has one."""
        lists = {id(part.words): part.words for part in parts if part is not None}
        if not lists:
            return None
        starts = starts_of(np.array([len(words) for words in lists.values()])).astype(np.int32)
        start_of = dict(zip(lists, starts[:-1], strict=True))
        types = [
            np.full(length, NOT_KNOWN, dtype=np.int32)
            if part is None
            else np.where(part.types < 0, NOT_KNOWN, part.types + start_of[id(part.words)])
            for part, length in zip(parts, lengths, strict=True)
        ]
        words = [*chain.from_iterable(lists.values())]
        return Spelling(np.concatenate(types).astype(np.int32, copy=False), words)


def code_points(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the characters of words as numbers, one word after the other, and their lengths."""
    # A lone surrogate, as broken texts have, is a character too.
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, words), np.int32, len(words))
    return np.frombuffer(text, "<i4").astype(np.int32, copy=False), lengths
