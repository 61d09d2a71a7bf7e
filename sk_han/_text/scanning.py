"""Reading texts with compiled kernels, and the tables of characters that these need."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import chunk_slices, code_points, concatenated_ranges, to_offsets
from sk_han._kernels.engine import run_tasks
from sk_han._text import sentences
from sk_han._text.analyzer import EMOJI, IGNORED, JOINERS, MARKS, TOKEN_PATTERNS
from sk_han._text.sentences import (
    BEFORE_NAME,
    BEFORE_NUMBER,
    CHARACTER_MARKS,
    CHARACTER_WORDS,
    MAY_END,
    STRONG_TERMINATORS,
    WEAK_TERMINATORS,
    WORD_CHARACTERS,
    sentence_spans,
)

# Patterns that the kernels implement.
COMPILED_PATTERNS = frozenset(TOKEN_PATTERNS[kind] for kind in ("words", "words+marks"))
_N_CODES = 0x110000

# Characters from here on are no letters, digits or spaces; testing all of them would take 35 ms
# more in each new process.
_WITH_PROPERTIES = 0x40000

# The table of lower case ends here, since no abbreviation has a character beyond it, or one whose
# upper case is beyond it.
_LOWER_CODES = 0x3000
# Size of the hash table of abbreviations, in which one word in a thousand collides with one of
# them.
_N_SLOTS = 1 << 18


class Tables(NamedTuple):
    """Arrays that the kernels of `sk_han._kernels.text` read."""

    bits: NDArray[np.int32]
    lower: NDArray[np.int32]
    abbreviations: NDArray[np.bool_]


@cache
def tables(compiled: ModuleType, token_pattern: str = TOKEN_PATTERNS["words"]) -> Tables:
    """Return the tables for a pattern; the module of kernels defines the bits."""
    if token_pattern == TOKEN_PATTERNS["words"]:
        lower = [ord(chr(code).lower()[0]) for code in range(_LOWER_CODES)]
        return Tables(_bits(compiled), np.array(lower, dtype=np.int32), _abbreviations())
    of_words = tables(compiled)
    return of_words._replace(bits=of_words.bits | _mark_bits(compiled))


def _mark_bits(compiled: ModuleType) -> NDArray[np.int32]:
    bits = np.zeros(_N_CODES, dtype=np.int32)
    bits[[ord(mark) for mark in MARKS]] = compiled.MARK_WORD
    for first, last in _ranges(EMOJI):
        bits[first : last + 1] = compiled.EMOJI_WORD
    return bits


def _bits(compiled: ModuleType) -> NDArray[np.int32]:
    bits = np.zeros(_N_CODES, dtype=np.int32)
    for bit, ranges in (
        (compiled.WORD, WORD_CHARACTERS),
        (compiled.CHARACTER_WORD, CHARACTER_WORDS),
        (compiled.MARK, CHARACTER_MARKS),
        (compiled.JOINER, JOINERS),
        (compiled.IGNORED, IGNORED),
    ):
        for first, last in _ranges(ranges):
            bits[first : last + 1] |= bit
    characters_of = {
        compiled.WEAK: WEAK_TERMINATORS,
        compiled.STRONG: STRONG_TERMINATORS,
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
    """Return the ranges of code points of a character class, given without its brackets."""
    one = r"(\\u.{4}|\\U.{8}|[^\\-])"
    return [
        (_code(first), _code(last or first))
        for first, last in re.findall(f"{one}(?:-{one})?", character_class)
    ]


def _code(written: str) -> int:
    return ord(written) if len(written) == 1 else int(written[2:], 16)


def _abbreviations() -> NDArray[np.bool_]:
    may_be = np.zeros(_N_SLOTS, dtype=bool)
    for word in BEFORE_NAME | MAY_END | BEFORE_NUMBER:
        slot = 0
        for letter in word.lower():
            slot = 31 * slot + ord(letter)
        may_be[slot % _N_SLOTS] = True
    return may_be


# Characters that are scanned at once, of about 32 bytes each, so that they fit into the cache: with
# 1 << 20 it took 1.1 times as long. A task is this number of texts.
_CODES_AT_ONCE, _TASK_SIZE = 1 << 17, 8

# Factor of the hash function, random in each process, so that nobody can craft a text whose words
# collide.
_FACTOR = random.SystemRandom().getrandbits(64) | 1


def scan_texts(
    compiled: ModuleType, texts: list[str], token_pattern: str, *, located: bool
) -> tuple[Any, ...] | None:
    """Find the words and sentences of texts; return the fields of `WordTypes`, or None.

    `compiled` is the module `sk_han._kernels.text`, and `token_pattern` one of `COMPILED_PATTERNS`.
    Spans are included if `located`. The result is None if a text has characters for which only the
    patterns of Python are exact.
    """
    types, character_tables = _Types(), tables(compiled, token_pattern)
    parts = []
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    for rows in chunk_slices(lengths, _CODES_AT_ONCE) if texts else [slice(0)]:
        part = _scan_chunk(compiled, texts[rows], character_tables, types, located)
        if part is None:
            return None
        parts.append(part)
    columns = [
        column[0] if len(parts) == 1 else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return types.strings(), *columns


def count_marked(marked: NDArray[np.bool_], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the marked values in consecutive pieces of these lengths."""
    return np.diff(to_offsets(marked)[to_offsets(lengths)])


def _scan_chunk(
    compiled: ModuleType, texts: list[str], tables: Tables, types: _Types, located: bool
) -> tuple[NDArray[Any], ...] | None:
    codes, lengths = code_points(texts)
    kinds = tables.bits.take(codes)
    if (kinds & compiled.AMBIGUOUS).any():
        return None
    starts = to_offsets(lengths)
    words = np.empty((len(codes), 2), dtype=np.int32)
    hashes = np.empty(len(codes), dtype=np.uint64)
    sentences = np.empty((len(codes), 2), dtype=np.int32)
    counts = np.empty((len(texts), 2), dtype=np.int64)
    inputs = starts, codes, kinds, tables.lower, tables.abbreviations, _FACTOR
    results = words, hashes, sentences, counts
    run_tasks(compiled.scan, -(-len(texts) // _TASK_SIZE), _TASK_SIZE, *inputs, *results)
    # Where the kernel could not decide on the end of a sentence, Python splits the rest of the
    # text.
    for i in np.flatnonzero(counts[:, 1] < 0).tolist():
        origin, n_decided = starts[i], compiled.UNDECIDED - counts[i, 1]
        row = origin + n_decided
        spans = sentence_spans(texts[i], start=sentences[row, 0] - origin)
        sentences[row : row + len(spans)] = np.reshape(spans, (-1, 2)) + origin
        counts[i, 1] = n_decided + len(spans)
    rows = concatenated_ranges(starts[:-1], counts[:, 0])  # (T,)
    sentences = sentences[concatenated_ranges(starts[:-1], counts[:, 1])]  # (N, 2)
    first, beyond = np.searchsorted(words[rows, 0], sentences.T)  # (N,)
    n_words = beyond - first
    # Words outside of sentences are those inside tags.
    if n_words.sum() < len(rows):
        rows = rows[concatenated_ranges(first, n_words)]
    wordy = n_words > 0
    n_words = n_words[wordy]
    numbers = types.number(compiled, codes, words, hashes, rows)
    counted = numbers, n_words, count_marked(wordy, counts[:, 1])
    if not located:
        return counted
    origins = np.repeat(starts[:-1], counts[:, 1])[wordy, np.newaxis]  # (N, 1), of their texts
    return *counted, words[rows] - np.repeat(origins, n_words, axis=0), sentences[wordy] - origins


class _Types:
    """The word types found so far, in the arrays of a hash table."""

    def __init__(self) -> None:
        self.n = 0
        self.slots: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self.starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.codes: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def number(
        self,
        compiled: ModuleType,
        codes: NDArray[np.int32],
        words: NDArray[np.int32],
        hashes: NDArray[np.uint64],
        rows: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the type numbers (T,) of the words of `rows`, and add new types."""
        if self.n + len(rows) > len(self.hashes):
            most = 1 << (2 * (self.n + len(rows))).bit_length()
            self.hashes = _longer(self.hashes, most)
            self.starts = _longer(self.starts, most + 1)
            self.slots = np.full(2 * most, -1, dtype=np.int32)
            compiled.place_types(self.slots, self.hashes[: self.n])
        n_codes = int(self.starts[self.n]) + len(codes)
        if n_codes > len(self.codes):
            self.codes = _longer(self.codes, 2 * n_codes)
        numbers = np.empty(len(rows), dtype=np.int32)
        types = self.slots, self.hashes, self.starts, self.codes, self.n
        self.n = compiled.number_words(codes, words, hashes, rows, numbers, *types)
        return numbers

    def strings(self) -> list[str]:
        """Return the types as strings."""
        starts = self.starts[: self.n + 1].tolist()
        text = self.codes[: starts[-1]].astype("<i4", copy=False).tobytes()
        words = text.decode("utf-32-le", "surrogatepass")
        return [words[start:end] for start, end in pairwise(starts)]


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    # `resize` would fill the array with zeros first.
    longer = np.empty(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
