"""Words without accents, by the names and rules of scikit-learn's ``CountVectorizer``.

They are here because a model is also served where there is no scikit-learn.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def _unicode(word: str) -> str:
    """Remove the marks of a word, and keep all letters."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _ascii(word: str) -> str:
    """Remove marks, and characters that are not ASCII then."""
    return unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode("ascii")


ACCENT_STRIPPERS: dict[str, Callable[[str], str]] = {"ascii": _ascii, "unicode": _unicode}
