"""Where the words of a line stand, if some are written from right to left.

A figure places each word by itself, so that nothing else orders words of both directions. The
rules are those of Unicode's bidirectional algorithm (UAX 9) for whole words and one level: a
number follows the letters before it, and what has no direction the words around it.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from operator import itemgetter

_LETTERS = {"L": False, "R": True, "AL": True}
_DIGITS = {"EN", "AN"}
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")


def reads_right_to_left(texts: Iterable[str]) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    directions = map(_direction_of_letters, texts)
    return next((each for each in directions if each is not None), False)


def in_order_of_places(texts: Sequence[str], right_to_left: bool) -> list[tuple[int, str]]:
    """Order words, signs and blanks of a line from the side where the line begins.

    Return the number of each, and its text as it is drawn: signs are mirrored where text runs
    from right to left.
    """
    units = _units(texts)
    directions = _directions([texts[unit[0]] for unit in units], right_to_left)
    ordered = []
    for direction, run in itertools.groupby(zip(directions, units, strict=True), itemgetter(0)):
        found = [unit for _, unit in run]
        for unit in found if direction == right_to_left else reversed(found):
            for number in reversed(unit) if right_to_left else unit:
                text = texts[number]
                if direction and not _is_number(text) and _direction_of_letters(text) is None:
                    text = text[::-1].translate(_MIRRORED)
                ordered.append((number, text))
    return ordered


def _units(texts: Sequence[str]) -> list[list[int]]:
    """Join numbers with the sign between them, as in 12,5, which runs from left to right."""
    numbers = [_is_number(text) for text in texts]
    units: list[list[int]] = []
    for i, text in enumerate(texts):
        is_sign = _direction_of_letters(text) is None and not text.isspace()
        joins = is_sign and i > 0 and numbers[i - 1] and numbers[i + 1 : i + 2] == [True]
        if joins or (units and len(units[-1]) % 2 == 0):  # a number and a sign wait for the next
            units[-1].append(i)
        else:
            units.append([i])
    return units


def _directions(texts: Sequence[str], right_to_left: bool) -> list[bool]:
    """Return whether each text is in a run from right to left."""
    known: list[bool | None] = []
    of_letters = right_to_left
    for text in texts:
        found = _direction_of_letters(text)
        of_letters = of_letters if found is None else found
        known.append(of_letters if _is_number(text) else found)
    before = _filled(known, right_to_left)
    after = _filled(known[::-1], right_to_left)[::-1]
    return [b if b == a else right_to_left for b, a in zip(before, after, strict=True)]


def _filled(known: Sequence[bool | None], first: bool) -> list[bool]:
    """Put the last direction that is known where there is none."""
    found = []
    for each in known:
        first = first if each is None else each
        found.append(first)
    return found


def _direction_of_letters(text: str) -> bool | None:
    """Return whether the first letter with a direction runs from right to left, None without."""
    classes = map(unicodedata.bidirectional, text)
    return next((_LETTERS[each] for each in classes if each in _LETTERS), None)


def _is_number(text: str) -> bool:
    """Return whether digits stand in a text without letters."""
    has_digits = not _DIGITS.isdisjoint(map(unicodedata.bidirectional, text))
    return has_digits and _direction_of_letters(text) is None
