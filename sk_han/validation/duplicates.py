"""Documents with the same words, found by their text."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["duplicate_groups", "text_key"]

_WORDS = re.compile(r"\w+")


def text_key(text: str) -> str:
    """Return what documents have in common whose words are the same.

    Case, blanks and punctuation do not count, unless a text has nothing else.

    Examples
    --------
    >>> from sk_han.validation.duplicates import text_key
    >>> text_key("A fine  film!") == text_key("a fine film.")
    True
    """
    folded = text.casefold()
    return " ".join(_WORDS.findall(folded)) or "".join(folded.split())


def duplicate_groups(keys: Iterable[str]) -> list[list[int]]:
    """Return the positions of equal keys, for each key that occurs more than once.

    Examples
    --------
    >>> from sk_han.validation.duplicates import duplicate_groups
    >>> duplicate_groups(["a", "b", "a", "c", "b", "a"])
    [[0, 2, 5], [1, 4]]
    """
    found: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return [positions for positions in found.values() if len(positions) > 1]
