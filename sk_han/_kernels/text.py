"""Kernels that find the words and sentences of texts, and number the words.

They find the same words as the patterns "words" and "words+marks" of `sk_han._text.analyzer`, and
the sentence ends that need no exception. Where `sk_han._text.sentences` has exceptions, such as
abbreviations, a kernel returns `UNDECIDED`, and the rules in Python split the rest of the text. A
text is a slice of `codes`, an array of code points, and positions count from the start of that
array. `kinds` has the properties of each character as bits.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64, uint64, void
from numpy.typing import NDArray

from sk_han._kernels.vectors import draw, inner_jit, jit, readonly

# Bits of a character's properties, which `sk_han._text.scanning` sets in its table. The first are
# those of the pattern "words", then those that "words+marks" adds.
WORD, CHARACTER_WORD, MARK, JOINER, VIRAMA = 1, 2, 4, 8, 16
MARK_WORD, EMOJI_WORD = 32, 64
# A sentence can only end at one of these.
WEAK, STRONG, LINE_END, TAG_OPENER = 128, 256, 512, 1024
SPACE, CLOSER, LATE_CLOSER, OPENER = 1 << 11, 1 << 12, 1 << 13, 1 << 14
FRENCH_SPACE, ITEM_OPENER = 1 << 15, 1 << 16
LOWER, ALPHA, DECIMAL = 1 << 17, 1 << 18, 1 << 19  # str.islower, str.isalpha, str.isdecimal
# Some marks of Brahmi and Chakma are parts of words and terminators; their texts are read in
# Python.
AMBIGUOUS = 1 << 20
IGNORED = 1 << 21  # a run of these may stand inside a word
LONGEST_ABBREVIATION = 8
_STOP, _CRY, _DASH, _SLASH, _GREATER, _BRACKET, _GUILLEMET = map(ord, ".!-/>)»")
_ELLIPSIS, _TWO_DOTS, _QUOTE, _DOUBLE_QUOTE, _B, _R = map(ord, "…‥」』br")
_BLANK, _FEED, _RETURN, _PAGE, _PARAGRAPH = map(ord, " \n\r\f\u2029")
UNDECIDED = -1  # whether a sentence ends at a place, or where a tag ends
_CODES = readonly(int32)
_CHARACTERS = (_CODES, _CODES)  # codes and kinds
_TABLES = (readonly(int32), readonly(boolean))  # see `sk_han._text.scanning.Tables`
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]


@inner_jit(int64, int64, int64, _CODES)
def _word_end(word: int, last: int, kinds: Integers) -> int:
    """Return where the word of letters that starts at `word` ends."""
    place = word + 1
    while place < last:
        kind = kinds[place]
        if kinds[word] & WORD:
            between = place + 1 < last and kinds[place - 1] & kinds[place + 1] & WORD
            continues = kind & (WORD | IGNORED) or (kind & JOINER and between)
        else:
            # After a virama the next letter is written below this one.
            below = kind & CHARACTER_WORD and kinds[place - 1] & VIRAMA
            continues = kind & MARK or below
        if not continues:
            break
        place += 1
    # Ignored characters are part of a word only between its letters.
    while kinds[place - 1] & IGNORED:
        place -= 1
    return place


@inner_jit(int64, int64, int64, *_CHARACTERS, uint64, int32[:, ::1], uint64[::1])
def _find_words(
    first: int,
    last: int,
    codes: Integers,
    kinds: Integers,
    factor: int,
    words: Integers,
    hashes: NDArray[np.uint64],
) -> int:
    """Find the words of a text, regardless of sentences; return their number."""
    n_words, place = first, first
    while place < last:
        word, kind = place, kinds[place]
        place += 1
        if kind & (WORD | CHARACTER_WORD):
            place = _word_end(word, last, kinds)
        elif kind & MARK_WORD:
            while place < last and codes[place] == codes[word]:
                place += 1
        elif not kind & EMOJI_WORD:
            continue
        value = np.uint64(0)
        for i in range(word, place):
            value = value * factor + np.uint64(codes[i])
        words[n_words, 0], words[n_words, 1] = word, place
        hashes[n_words] = value ^ (value >> np.uint64(32))
        n_words += 1
    return n_words - first


@inner_jit(int64, int64, int64, *_CHARACTERS)
def _marks_end(place: int, last: int, codes: Integers, kinds: Integers) -> int:
    """Return the end of a run of terminators and of the quotes and brackets that close after it."""
    while place < last and kinds[place] & (WEAK | STRONG):
        place += 1
    while place < last and kinds[place] & CLOSER:
        place += 1
    if place + 1 < last and kinds[place] & LATE_CLOSER and kinds[place + 1] & SPACE:
        return place + 1
    if place + 2 < last and kinds[place] & FRENCH_SPACE and kinds[place + 2] & SPACE:
        return place + 2 if codes[place + 1] == _GUILLEMET else place
    return place


@inner_jit(int64, int64, int64, *_CHARACTERS)
def _tag_end(place: int, last: int, codes: Integers, kinds: Integers) -> int:
    """Return where a "<br>" or "<br />" ends whose "<" is before `place`; 0 if this is no tag.

    Any other tag is UNDECIDED.
    """
    if place >= last or not (kinds[place] & ALPHA or codes[place] == _SLASH):
        return 0
    is_break = place + 2 < last and codes[place] == _B and codes[place + 1] == _R
    if not is_break:
        return UNDECIDED
    place += 2
    while place + 1 < last and (codes[place] == _BLANK or codes[place] == _SLASH):
        place += 1
    return place + 1 if codes[place] == _GREATER else UNDECIDED


@inner_jit(int64, int64, int64, int64, *_CHARACTERS)
def _starts_anew(begin: int, end: int, last: int, codes: Integers, kinds: Integers) -> int:
    """Return whether a paragraph or list item starts after the space: 1, 0 or UNDECIDED."""
    n_feeds, n_returns, n_breaks = 0, 0, 0
    for i in range(begin, end):
        n_feeds += codes[i] == _FEED
        n_returns += codes[i] == _RETURN
        n_breaks += (kinds[i] & LINE_END) != 0
        if codes[i] == _PAGE or codes[i] == _PARAGRAPH:
            return 1
    if n_feeds > 1 or n_returns > 1:
        return 1
    if n_breaks == 0 or end >= last:
        return 0
    may_be_item = kinds[end] & ITEM_OPENER or (end + 1 < last and codes[end + 1] == _BRACKET)
    return UNDECIDED if may_be_item else 0


@inner_jit(int64, int64, int64, *_CHARACTERS, *_TABLES)
def _ends_after_word(
    start: int, begin: int, codes: Integers, kinds: Integers, lower: Integers, abbreviations: Flags
) -> int:
    """Return 1 if the full stop at `begin` cannot follow an abbreviation, else UNDECIDED."""
    lowest = max(start, begin - 2 * LONGEST_ABBREVIATION)
    end = begin
    while end > lowest and kinds[end - 1] & SPACE:
        end -= 1
    word = end
    while word > lowest and not kinds[word - 1] & SPACE:
        word -= 1
    while word < end and (kinds[word] & OPENER or codes[word] == _DASH):
        word += 1
    length = end - word
    if length == 0 or length > LONGEST_ABBREVIATION:
        return 1
    # An initial or acronym, such as "U.S.", or an ordinal, such as "3."
    if length == 1 or codes[end - 2] == _STOP:
        return UNDECIDED
    if length <= 3 and kinds[end - 1] & DECIMAL:
        return UNDECIDED
    # The table has the hash values of all abbreviations; a few other words share one.
    slot = np.int64(0)
    for i in range(word, end):
        code = np.int64(codes[i])
        slot = 31 * slot + (np.int64(lower[code]) if code < len(lower) else code)
    return UNDECIDED if abbreviations[slot % len(abbreviations)] else 1


@inner_jit(int64, int64, int64, int64, int64, int64, int64, *_CHARACTERS, *_TABLES)
def _ends_sentence(
    first: int,
    last: int,
    start: int,
    begin: int,
    stop: int,
    end: int,
    codes: Integers,
    kinds: Integers,
    lower: Integers,
    abbreviations: Flags,
) -> int:
    """Return whether a sentence ends with the marks `begin` to `stop`: 1, 0 or UNDECIDED."""
    full_stop = stop == begin + 1 and codes[begin] == _STOP
    if full_stop and begin > start + 4 and kinds[begin - 1] & kinds[start] & DECIMAL:
        return UNDECIDED  # "1. Stir 2. eat"
    if end >= last:
        return 1
    strong, ellipsis = False, False
    for i in range(begin, stop):
        strong |= (kinds[i] & STRONG) != 0
        ellipsis |= codes[i] == _ELLIPSIS or codes[i] == _TWO_DOTS
        ellipsis |= codes[i] == _STOP and i + 1 < stop and codes[i + 1] == _STOP
    if strong:
        return UNDECIDED if codes[stop - 1] == _QUOTE or codes[stop - 1] == _DOUBLE_QUOTE else 1
    following = kinds[end]
    # Without a space after it, the mark is part of a number or an address, unless the language puts
    # no spaces (Chinese and Japanese) or the writer forgot one.
    if stop == end:
        if ellipsis:
            return 0
        if codes[end] >= 0x3040 and codes[end] <= 0x9FFF:
            return UNDECIDED
        forgotten = begin > first and kinds[begin - 1] & following & ALPHA
        return UNDECIDED if forgotten and not following & LOWER else 0
    starts_anew = _starts_anew(stop, end, last, codes, kinds)
    if starts_anew != 0:
        return starts_anew
    # The terminators continue after a space, as in ". . ."
    if following & WEAK:
        return 0
    if full_stop:
        return _ends_after_word(start, begin, codes, kinds, lower, abbreviations)
    # A "!" before a small letter may belong to a name, as in "Yahoo! in the spring".
    if stop == begin + 1 and codes[begin] == _CRY and following & LOWER:
        return UNDECIDED
    if kinds[stop - 1] & WEAK and not ellipsis:
        return 1
    if following & OPENER:
        following = kinds[end + 1] if end + 1 < last else np.int32(0)
    return (following & LOWER) == 0


@inner_jit(int64, int64, int64, *_CHARACTERS, *_TABLES, int32[:, ::1])
def _find_sentences(
    first: int,
    last: int,
    codes: Integers,
    kinds: Integers,
    lower: Integers,
    abbreviations: Flags,
    sentences: Integers,
) -> int:
    """Find the sentences of a text; return their number.

    If the end of one is undecided, write only its start, and return UNDECIDED minus the number of
    sentences before it.
    """
    place = first
    while place < last and kinds[place] & SPACE:
        place += 1
    start, n_sentences = place, first
    while place < last:
        kind, begin = kinds[place], place
        place += 1
        ends = 1
        if kind & (WEAK | STRONG):
            place = _marks_end(place, last, codes, kinds)
        elif kind & TAG_OPENER:
            tag_end = _tag_end(place, last, codes, kinds)
            if tag_end == 0:
                continue
            if tag_end == UNDECIDED:
                ends = UNDECIDED
            else:
                place = tag_end
        elif not kind & LINE_END:
            continue
        stop = place
        while place < last and kinds[place] & SPACE:
            place += 1
        if kind & (WEAK | STRONG):
            ends = _ends_sentence(
                first, last, start, begin, stop, place, codes, kinds, lower, abbreviations
            )
        elif kind & LINE_END:
            ends = _starts_anew(begin, place, last, codes, kinds)
        if ends == UNDECIDED:
            sentences[n_sentences, 0] = start
            return UNDECIDED - (n_sentences - first)
        if not ends:
            continue
        if not kind & (WEAK | STRONG):
            stop = begin
            while stop > start and kinds[stop - 1] & SPACE:
                stop -= 1
        if stop > start:
            sentences[n_sentences, 0], sentences[n_sentences, 1] = start, stop
            n_sentences += 1
        start = place
    if start < last:
        stop = last
        while kinds[stop - 1] & SPACE:
            stop -= 1
        sentences[n_sentences, 0], sentences[n_sentences, 1] = start, stop
        n_sentences += 1
    return n_sentences - first


@jit(
    void,
    int64[::1],
    int64,
    int64,
    readonly(int64),
    *_CHARACTERS,
    *_TABLES,
    uint64,
    int32[:, ::1],
    uint64[::1],
    int32[:, ::1],
    int64[:, ::1],
)
def scan(
    counter: NDArray[np.int64],
    n_tasks: int,
    task_size: int,
    starts: NDArray[np.int64],
    codes: Integers,
    kinds: Integers,
    lower: Integers,
    abbreviations: Flags,
    factor: int,
    words: Integers,
    hashes: NDArray[np.uint64],
    sentences: Integers,
    counts: NDArray[np.int64],
) -> None:
    """Find the words and the sentences of texts, `task_size` texts a task.

    Text `i` is ``codes[starts[i]:starts[i + 1]]``. Its results begin at row ``starts[i]``, which
    leaves room for a word of each character: `words` and `sentences` (n_codes, 2) get starts and
    ends, `hashes` (n_codes,) the hash values of the words by the odd number `factor`.
    ``counts[i]`` gets the number of words, and the result of `_find_sentences`.
    """
    n_texts = len(starts) - 1
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        for text in range(task * task_size, min((task + 1) * task_size, n_texts)):
            first, last = starts[text], starts[text + 1]
            counts[text, 0] = _find_words(first, last, codes, kinds, factor, words, hashes)
            counts[text, 1] = _find_sentences(
                first, last, codes, kinds, lower, abbreviations, sentences
            )


@jit(void, int32[::1], readonly(uint64))
def place_types(slots: Integers, hashes: NDArray[np.uint64]) -> None:
    """Fill an empty hash table, whose size is a power of two, with types of these hash values."""
    mask = len(slots) - 1
    for number in range(len(hashes)):
        slot = np.int64(hashes[number]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number


@jit(
    int64,
    _CODES,
    readonly(int32, 2),
    readonly(uint64),
    readonly(int64),
    int32[::1],
    int32[::1],
    uint64[::1],
    int64[::1],
    int32[::1],
    int64,
)
def number_words(
    codes: Integers,
    words: Integers,
    hashes: NDArray[np.uint64],
    rows: NDArray[np.int64],
    numbers: Integers,
    slots: Integers,
    type_hashes: NDArray[np.uint64],
    type_starts: NDArray[np.int64],
    type_codes: Integers,
    n_types: int,
) -> int:
    """Write the type numbers of the words of `rows` (T,) into `numbers` (T,), and add new types.

    Return the number of types. The hash table `slots` holds type numbers, or -1. Type `n` has the
    hash value ``type_hashes[n]`` and the characters
    ``type_codes[type_starts[n]:type_starts[n+1]]``. All arrays have room for as many new types as
    there are words.
    """
    mask = len(slots) - 1
    for i_word in range(len(rows)):
        word = rows[i_word]
        start, length = np.int64(words[word, 0]), np.int64(words[word, 1] - words[word, 0])
        slot = np.int64(hashes[word]) & mask
        while True:
            number = np.int64(slots[slot])
            if number < 0:
                break
            begin = type_starts[number]
            if type_hashes[number] == hashes[word] and type_starts[number + 1] - begin == length:
                i = 0
                while i < length and type_codes[begin + i] == codes[start + i]:
                    i += 1
                if i == length:
                    break
            slot = (slot + 1) & mask
        if number < 0:
            number = np.int64(n_types)
            n_types += 1
            slots[slot] = number
            type_hashes[number] = hashes[word]
            begin = type_starts[number]
            type_starts[n_types] = begin + length
            for i in range(length):
                type_codes[begin + i] = codes[start + i]
        numbers[i_word] = number
    return n_types
