"""Text that can be shown: no character of it controls a terminal, a browser or a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

# C0 controls have pictures in Unicode. Tab and line breaks are layout and stay.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_PICTURES[0x7F] = 0x2421
_WITHOUT_PICTURE = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# What turns the direction of the text around it, from Unicode's bidirectional algorithm.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace control characters and lone surrogates by visible ones, one for one."""
    return _WITHOUT_PICTURE.sub("\ufffd", text.translate(_PICTURES))


def in_reading_order(text: str) -> str:
    """Return `visible` text in which no invisible character turns the rest of a line round."""
    return _DIRECTIONS.sub("\ufffd", visible(text))


def in_one_line(label: object, longest: int | None = None) -> str:
    """Return a label in reading order and in one line, of no more than `longest` characters."""
    text = " ".join(in_reading_order(str(label)).split())
    return text if longest is None else shortened(text, longest)


def shortened(text: str, longest: int) -> str:
    """Return a text of no more than `longest` characters: a longer one lacks its middle.

    Labels may begin alike, or end.
    """
    if len(text) <= longest:
        return text
    end = len(text) - (longest - 1) // 2
    return f"{text[: longest // 2]}\N{HORIZONTAL ELLIPSIS}{text[end:]}"


def shortened_apart(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts as `shortened` does; those that it makes alike begin where they differ."""
    names = [shortened(text, longest) for text in texts]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    for alike in places.values():
        letters = enumerate(zip_longest(*(texts[i] for i in alike)))
        begin = next((place for place, found in letters if len(set(found)) > 1), 0)
        if begin > 1:  # of a text that is there several times it is 0
            rest = [f"\N{HORIZONTAL ELLIPSIS}{texts[i][begin:]}" for i in alike]
            for i, name in zip(alike, shortened_apart(rest, longest), strict=True):
                names[i] = name
    return names


def writer_apart(labels: Iterable[object], longest: int) -> Callable[[object], str]:
    """Return what writes each of these labels in one line, in short and unlike all others."""
    lines = [in_one_line(label) for label in labels]
    names = dict(zip(lines, shortened_apart(lines, longest), strict=True))
    return lambda label: names.get(line := in_one_line(label), line)
