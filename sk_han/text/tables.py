"""What the compiled kernels must know of characters, abbreviations and HTML tags, as arrays."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.text import abbreviations, characters, sentences, tokens
from sk_han.text.tokens import TOKEN_PATTERNS

# Patterns whose words the kernels find too.
COMPILED_PATTERNS = frozenset(TOKEN_PATTERNS[kind] for kind in ("words", "words+marks"))

_N_CODES = 0x110000
# Characters beyond are neither letters, digits nor spaces; asking about all of them would take a
# new process 35 ms more.
_WITH_PROPERTIES = 0x40000
# Lower case is looked up for characters below it. No abbreviation has a character beyond, nor
# one that is the lower case of a character beyond.
_LOWER_CODES = 0x3000
_N_SLOTS = 1 << 18  # one word in a thousand shares the place of an abbreviation


class Tables(NamedTuple):
    """Arrays that the kernels of `sk_han.engines.kernels.text` read."""

    bits: NDArray[np.int32]
    lower: NDArray[np.int32]
    abbreviations: NDArray[np.bool_]


@cache
def tables(compiled: ModuleType, token_pattern: str = TOKEN_PATTERNS["words"]) -> Tables:
    """Return the tables for the module of kernels, which names the bits, and a pattern."""
    if token_pattern == TOKEN_PATTERNS["words"]:
        lower = [ord(chr(code).lower()[0]) for code in range(_LOWER_CODES)]
        return Tables(_bits(compiled), np.array(lower, dtype=np.int32), _abbreviations())
    of_words = tables(compiled)
    return of_words._replace(bits=of_words.bits | _mark_bits(compiled))


def _mark_bits(compiled: ModuleType) -> NDArray[np.int32]:
    bits = np.zeros(_N_CODES, dtype=np.int32)
    bits[[ord(mark) for mark in tokens.MARKS]] = compiled.MARK_WORD
    for first, last in _ranges(tokens.EMOJI):
        bits[first : last + 1] = compiled.EMOJI_WORD
    return bits


def _bits(compiled: ModuleType) -> NDArray[np.int32]:
    bits = np.zeros(_N_CODES, dtype=np.int32)
    for bit, ranges in (
        (compiled.WORD, characters.WORD_CHARACTERS),
        (compiled.CHARACTER_WORD, characters.CHARACTER_WORDS),
        (compiled.MARK, characters.CHARACTER_MARKS),
        (compiled.JOINER, tokens.JOINERS),
    ):
        for first, last in _ranges(ranges):
            bits[first : last + 1] |= bit
    characters_of = {
        compiled.WEAK: characters.WEAK_TERMINATORS,
        compiled.STRONG: characters.STRONG_TERMINATORS,
        compiled.LINE_END: sentences.LINE_ENDS,
        compiled.TAG_OPENER: "<",
        compiled.CLOSER: sentences.ALL_CLOSERS,
        compiled.LATE_CLOSER: "“«‹",
        compiled.FRENCH_SPACE: " \xa0\u202f",
        compiled.OPENER: sentences.OPENERS,
        compiled.ITEM_OPENER: "-*+•‣◦·–—=_~#(",
        compiled.VIRAMA: "\u1039\u17d2",
    }
    for bit, letters in characters_of.items():
        bits[[ord(letter) for letter in letters]] |= bit
    in_words = compiled.WORD | compiled.CHARACTER_WORD | compiled.MARK
    ambiguous = (bits & in_words > 0) & (bits & compiled.STRONG > 0)
    bits[ambiguous] = compiled.AMBIGUOUS
    every = np.arange(_WITH_PROPERTIES, dtype=np.uint32).view("<U1")
    for bit, has in (
        (compiled.SPACE, np.char.isspace),
        (compiled.LOWER, np.char.islower),
        (compiled.ALPHA, np.char.isalpha),
        (compiled.DECIMAL | compiled.ITEM_OPENER, np.char.isdecimal),
    ):
        bits[:_WITH_PROPERTIES][has(every)] |= bit
    return bits


def _ranges(character_class: str) -> list[tuple[int, int]]:
    """Return the code points between the brackets of a pattern as ranges."""
    one = r"(\\u.{4}|\\U.{8}|[^\\-])"
    return [
        (_code(first), _code(last or first))
        for first, last in re.findall(f"{one}(?:-{one})?", character_class)
    ]


def _code(written: str) -> int:
    return ord(written) if len(written) == 1 else int(written[2:], 16)


def _abbreviations() -> NDArray[np.bool_]:
    may_be = np.zeros(_N_SLOTS, dtype=bool)
    for word in abbreviations.BEFORE_NAME | abbreviations.MAY_END | abbreviations.BEFORE_NUMBER:
        slot = 0
        for letter in word.lower():
            slot = 31 * slot + ord(letter)
        may_be[slot % _N_SLOTS] = True
    return may_be
