"""Numbers and kinds of things in words, as messages, pages and texts write them."""

from __future__ import annotations

_SPOKEN_AS_VOWELS = ("a", "e", "i", "o", "nd")
_OF_ONE = {"are": "is", "have": "has", "were": "was"}


def counted(n: int, what: str = "document") -> str:
    """Write a number of things."""
    plural = "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{'' if n == 1 else plural}"


def agreeing(n: int, verb: str) -> str:
    """Return a verb as it follows a number of things: "1 of 3 stands", "2 of 3 stand"."""
    return _OF_ONE.get(verb, f"{verb}s") if n == 1 else verb


def a_kind(value: object) -> str:
    """Return the type of a value with its article: "an int", "a list", "an ndarray"."""
    name = type(value).__name__
    return f"{'an' if name.lower().startswith(_SPOKEN_AS_VOWELS) else 'a'} {name}"
