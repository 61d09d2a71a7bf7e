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

__all__ = ["COMPILED_PATTERNS", "Tables", "tables"]

# Patterns whose words the kernels find too.
COMPILED_PATTERNS = frozenset(TOKEN_PATTERNS[kind] for kind in ("words", "words+marks"))

_N_CODES = 0x110000
# Characters beyond are neither letters, digits nor spaces; asking about all of them would take a
# new process 35 ms more.
_WITH_PROPERTIES = 0x40000
# Lower case is looked up for characters below it. No abbreviation has a character beyond, nor
# one that is the lower case of a character beyond.
_LOWER_CODES = 0x3000
_N_SLOTS = 4096


class Tables(NamedTuple):
    """Arrays that the kernels of `sk_han.engines.kernels.text` read.

    Attributes
    ----------
    bits : ndarray of int32, shape (0x110000,)
        Of each character.
    lower : ndarray of int32, shape (0x3000,)
        The character in lower case; 0 if that is no single one or depends on its neighbours.
    listed : ndarray of int32, shape (n_listed, 12)
        Characters, length and bits of each listed word.
    slots : ndarray of int32, shape (4096,)
        Hash table: rows of `listed`, -1 where it is free.
    """

    bits: NDArray[np.int32]
    lower: NDArray[np.int32]
    listed: NDArray[np.int32]
    slots: NDArray[np.int32]


@cache
def tables(compiled: ModuleType, token_pattern: str = TOKEN_PATTERNS["words"]) -> Tables:
    """Return the tables for the module of kernels, which names the bits.

    Parameters
    ----------
    compiled : module
        `sk_han.engines.kernels.text`.
    token_pattern : str
        One of `COMPILED_PATTERNS`.
    """
    if token_pattern == TOKEN_PATTERNS["words"]:
        listed, slots = _listed_words(compiled)
        return Tables(_bits(compiled), _lower(), listed, slots)
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
        compiled.STRIPPED: sentences.OPENERS + ",;:.!?…",
        compiled.VIRAMA: "\u1039\u17d2",
        compiled.BULLET: "-*+•‣◦·–—",
        compiled.RULE: "-=_*~#",
        compiled.CHINESE_DIGIT: sentences.CHINESE_DIGITS,
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
        (compiled.TITLE, np.char.istitle),
        (compiled.ALPHA, np.char.isalpha),
        (compiled.DECIMAL, np.char.isdecimal),
        (compiled.ALPHANUMERIC, np.char.isalnum),
    ):
        bits[:_WITH_PROPERTIES][has(every)] |= bit
    bits[ord("_")] |= compiled.ALPHANUMERIC
    with_case = np.flatnonzero(bits & (compiled.LOWER | compiled.TITLE))
    swapped = np.array([chr(code).swapcase() != chr(code) for code in with_case.tolist()])
    bits[with_case[swapped]] |= compiled.CASED
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


def _lower() -> NDArray[np.int32]:
    lower = np.zeros(_LOWER_CODES, dtype=np.int32)
    for code in range(_LOWER_CODES):
        letters = chr(code).lower()
        if letters == chr(code) or (len(letters) == 1 and letters != "σ"):
            lower[code] = ord(letters)
    lower[[ord("ı"), ord("ſ")]] = 0  # patterns that ignore case take them for i and s
    return lower


def _listed_words(compiled: ModuleType) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    bits_of: dict[str, int] = {}
    for bit, words in (
        (compiled.BEFORE_NAME, abbreviations.BEFORE_NAME),
        (compiled.MAY_END, abbreviations.MAY_END),
        (compiled.BEFORE_NUMBER, abbreviations.BEFORE_NUMBER),
        (compiled.MONTH, abbreviations.MONTHS),
        (compiled.STARTER, abbreviations.STARTERS),
        (compiled.CONTINUER, abbreviations.CONTINUERS),
        (compiled.TAG, sentences.TAG_NAMES.split("|")),
    ):
        for word in words:
            bits_of[word] = bits_of.get(word, 0) | bit
    listed = np.zeros((len(bits_of), compiled.LONGEST_LISTED + 2), dtype=np.int32)
    slots = np.full(_N_SLOTS, -1, dtype=np.int32)
    for row, (word, bits) in enumerate(bits_of.items()):
        value = len(word)
        listed[row, : len(word)] = [ord(letter) for letter in word]
        listed[row, -2:] = len(word), bits
        for letter in word:
            value = (value * 31 + ord(letter)) & 0xFFFFFF
        slot = value % _N_SLOTS
        while slots[slot] >= 0:
            slot = (slot + 1) % _N_SLOTS
        slots[slot] = row
    return listed, slots
