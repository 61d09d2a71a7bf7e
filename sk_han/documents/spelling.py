"""How the words of documents are written, also those that a vocabulary lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.offsets import starts_of


class Spelling(NamedTuple):
    """The words of documents by their types; documents chosen of others share the list."""

    types: NDArray[np.int32]  # (n_words,), the position of each word in the list
    words: list[str]

    def at(self, chosen: NDArray[Any]) -> Spelling:
        """Return the spelling of some of the words, by position or marked."""
        return Spelling(self.types[chosen], self.words)

    def used(self) -> Spelling:
        """Return the same with a list that has no other words."""
        rows, types = np.unique(self.types, return_inverse=True)
        if len(rows) == len(self.words):
            return self
        return Spelling(types.astype(np.int32), [self.words[row] for row in rows.tolist()])

    @staticmethod
    def joined(parts: Sequence[Spelling | None]) -> Spelling | None:
        """Return the spelling of several arrays' words, in order; None if one has none."""
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        lists = {id(part.words): part.words for part in known}
        starts = starts_of(np.array([len(words) for words in lists.values()])).astype(np.int32)
        start_of = dict(zip(lists, starts[:-1], strict=True))
        types = [part.types + start_of[id(part.words)] for part in known]
        words = known[0].words if len(lists) == 1 else [*chain.from_iterable(lists.values())]
        return Spelling(np.concatenate(types), words)


def code_points(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the characters of words as numbers, one word after the other, and their lengths."""
    # A lone surrogate, as broken texts have, is a character too.
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(text, "<i4"), np.fromiter(map(len, words), np.int64, len(words))
