"""Kernels that find the words and sentences of texts and number the words.

They follow `sk_han.text.sentences`, and "words" and "words+marks" of `sk_han.text.tokens`, to the
letter; those patterns and functions remain the reference and decide what is left undecided here. A
text is a piece of an array of code points, `codes`; positions count from the start of that array.
What Python knows of each character is in the bits of `kinds`.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64, uint64, void
from numpy.typing import NDArray

from sk_han.engines.kernels.compiling import compiled, inner, readonly
from sk_han.engines.kernels.drawing import draw

__all__ = ["number_words", "scan"]

# Bits of a character. `sk_han.text.tables` finds the characters of each.
WORD, CHARACTER_WORD, MARK, JOINER = 1, 2, 4, 8  # of "words"
WEAK, STRONG, LINE_END, TAG_OPENER = 16, 32, 64, 128  # where a sentence could end
SPACE, CLOSER, LATE_CLOSER, OPENER = 256, 512, 1024, 2048
LOWER, TITLE, CASED, ALPHA = 1 << 12, 1 << 13, 1 << 14, 1 << 15  # str.islower, str.istitle, ...
DECIMAL, ALPHANUMERIC, STRIPPED, CHINESE_DIGIT = 1 << 16, 1 << 17, 1 << 18, 1 << 19
VIRAMA, BULLET, RULE, FRENCH_SPACE = 1 << 20, 1 << 21, 1 << 22, 1 << 23
AMBIGUOUS = 1 << 24  # both in words and at ends: some marks of Brahmi and Chakma

MARK_WORD, EMOJI_WORD = 1 << 25, 1 << 26  # of "words+marks"; no other table has them

# Bits of an abbreviation or another listed word.
BEFORE_NAME, MAY_END, BEFORE_NUMBER, MONTH, STARTER, TAG, CONTINUER = 1, 2, 4, 8, 16, 32, 64

# Columns of the table of listed words.
LONGEST_LISTED = 10
_LENGTH, _BITS = LONGEST_LISTED, LONGEST_LISTED + 1

LONGEST_ABBREVIATION, LONGEST_NAME = 8, 24
UNDECIDED = -1  # of a place, whether a sentence ends there; of a text, its number of sentences
_ABBREVIATION, _EXCLAMATION = 2, 3
UNREADABLE = -2  # of a text with ambiguous characters

_CODES = readonly(int32)
_TABLES = (readonly(int32), readonly(int32), readonly(int32, 2), readonly(int32))
Codes = NDArray[np.int32]


@inner(int64, _CODES, int64, int64, boolean, *_TABLES)
def _listed(
    codes: Codes,
    start: int,
    end: int,
    in_lower_case: bool,
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int:
    """Return the bits of the word `start` to `end`, 0 if it is not listed."""
    length = end - start
    if length > LONGEST_LISTED or length <= 0:
        return 0
    value = length
    for i in range(start, end):
        code = codes[i]
        if in_lower_case and code < len(lower):
            code = lower[code]
            if code == 0:  # lower case of other length, or by the letters around
                return UNDECIDED
        value = (value * 31 + np.int64(code)) & 0xFFFFFF
    slot = value % len(slots)
    while slots[slot] >= 0:
        entry = listed[slots[slot]]
        if entry[_LENGTH] == length:
            equal = True
            for i in range(length):
                code = codes[start + i]
                if in_lower_case and code < len(lower):
                    code = lower[code]
                if np.int64(code) != entry[i]:
                    equal = False
            if equal:
                return np.int64(entry[_BITS])
        slot = (slot + 1) % len(slots)
    return 0


@inner(int64, _CODES, int64, int64, int64, int64, *_TABLES)
def _abbreviates(
    codes: Codes,
    last: int,
    start: int,
    begin: int,
    end: int,
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int:
    """Return whether a full stop belongs to an abbreviation: 1, 0 or UNDECIDED."""
    lowest = start
    if begin - 2 * LONGEST_ABBREVIATION > start:
        lowest = begin - 2 * LONGEST_ABBREVIATION
    word_end = begin
    while word_end > lowest and kinds[word_end - 1] & SPACE:
        word_end -= 1
    word = word_end
    while word > lowest and not kinds[word - 1] & SPACE:
        word -= 1
    if word == word_end:
        return 0
    piece = word  # with its openers
    while word < word_end and (kinds[word] & OPENER or codes[word] == 45):
        word += 1
    length = word_end - word
    if length > LONGEST_ABBREVIATION:
        return 0
    following = kinds[end]
    in_lower = _listed(codes, word, word_end, True, kinds, lower, listed, slots)
    if in_lower == UNDECIDED:
        return UNDECIDED
    as_written = _listed(codes, word, word_end, False, kinds, lower, listed, slots)
    known = (in_lower | as_written) & BEFORE_NAME
    if word_end < begin:  # tokens set apart by spaces
        return known or (length == 1 and codes[word] == 46 and following & LOWER) != 0
    if known:
        return 1
    next_end = end
    while next_end < last and next_end < end + 10 and not kinds[next_end] & SPACE:
        next_end += 1
    n_decimals, n_cased = 0, 0
    for i in range(word, word_end):
        n_decimals += (kinds[i] & DECIMAL) != 0
        n_cased += (kinds[i] & CASED) != 0
    if length > 0 and n_decimals == length:  # an ordinal of a list item, or a day of a month
        if length <= 3 and begin - length <= start + 1:
            return 1
        if length > 2:
            return 0
        if following & LOWER:
            return 1
        month = _listed(codes, end, next_end, True, kinds, lower, listed, slots)
        return UNDECIDED if month == UNDECIDED else (month & MONTH) != 0
    if following & DECIMAL and in_lower & BEFORE_NUMBER:
        return 1
    if in_lower & MAY_END:
        return (following & (LOWER | DECIMAL)) != 0
    # Initials and acronyms remain.
    if (length != 1 and (length == 0 or codes[word_end - 2] != 46)) or n_cased == 0:
        return 0
    if length == 1 and kinds[word] & LOWER and following & LOWER:
        if next_end - end < 4 and codes[next_end - 1] == 46:
            return 1
        before = piece
        while before > lowest and kinds[before - 1] & SPACE:
            before -= 1
        if before == lowest or codes[before - 1] != 46:
            return 0
        n_before = 0
        while before > lowest and not kinds[before - 1] & SPACE:
            before -= 1
            n_before += 1
        return n_before < 4
    next_start = end
    while next_start < next_end and kinds[next_start] & STRIPPED:
        next_start += 1
    while next_end > next_start and kinds[next_end - 1] & STRIPPED:
        next_end -= 1
    starter = _listed(codes, next_start, next_end, False, kinds, lower, listed, slots)
    return (starter & STARTER) == 0


@inner(boolean, _CODES, int64, int64, int64, readonly(int32))
def _starts_anew(codes: Codes, last: int, begin: int, end: int, kinds: NDArray[np.int32]) -> bool:
    """Return whether a paragraph or list item starts after the space `begin` to `end`."""
    n_feeds, n_returns = 0, 0
    for i in range(begin, end):
        code = codes[i]
        n_feeds += code == 10
        n_returns += code == 13
        if code == 12 or code == 0x2029:
            return True
    if n_feeds > 1 or n_returns > 1:
        return True
    if end >= last:
        return False
    of_bullet = kinds[end]
    bullet = end + 1 < last and of_bullet & BULLET and codes[end + 1] != 10
    if bullet and kinds[end + 1] & SPACE:
        return True
    if end + 2 < last and of_bullet & RULE & kinds[end + 1] & kinds[end + 2]:
        return True
    item = end + (codes[end] == 40)
    place = item
    while place < last and place < item + 3 and kinds[place] & DECIMAL:
        place += 1
    if place > item:
        if place + 1 < last and (codes[place] == 46 or codes[place] == 41):
            return (kinds[place + 1] & SPACE) != 0
        return False
    if item + 2 < last and codes[item] < 128 and kinds[item] & ALPHA:
        return codes[item + 1] == 41 and (kinds[item + 2] & SPACE) != 0
    return False


@inner(int64, _CODES, int64, int64, int64, int64, int64, readonly(int32))
def _ends_unusually(
    codes: Codes,
    first: int,
    last: int,
    begin: int,
    stop: int,
    end: int,
    kinds: NDArray[np.int32],
) -> int:
    """Return 1, 0 or UNDECIDED.

    Return _ABBREVIATION for a full stop that may be of an abbreviation, and _EXCLAMATION for an
    exclamation mark that may be of a name.
    """
    following = kinds[end]
    ellipsis = False
    strong = False
    for i in range(begin, stop):
        strong |= (kinds[i] & STRONG) != 0
        ellipsis |= codes[i] == 0x2026 or codes[i] == 0x2025
        ellipsis |= codes[i] == 46 and i + 1 < stop and codes[i + 1] == 46
    mark = codes[stop - 1]
    if strong:
        quoted = mark == 0x300D or mark == 0x300F
        return not (quoted and codes[end] >= 0x3041 and codes[end] <= 0x3096)
    if stop == end:  # in a number, an address; but Chinese and Japanese put no space
        if ellipsis or (begin > first and kinds[begin - 1] & kinds[end] & CHINESE_DIGIT):
            return 0
        if codes[end] >= 0x3040 and codes[end] <= 0x9FFF:
            return 1
        # If the writer forgot a space, a capital follows, or letters without case.
        forgotten = begin > first and kinds[begin - 1] & ALPHA and not kinds[begin - 1] & TITLE
        return UNDECIDED if forgotten and kinds[end] & ALPHA and not kinds[end] & LOWER else 0
    for i in range(stop, end):
        if kinds[i] & LINE_END:
            if _starts_anew(codes, last, stop, end, kinds):
                return 1
            break
    if following & WEAK:  # the marks go on
        return 0
    if stop == begin + 1 and codes[begin] == 46:
        return _ABBREVIATION
    if stop == begin + 1 and codes[begin] == 33 and following & LOWER:
        return _EXCLAMATION
    if following & OPENER:
        following = kinds[end + 1] if end + 1 < last else np.int32(0)
    if kinds[stop - 1] & WEAK and not ellipsis:
        return 1
    return (following & LOWER) == 0


@inner(boolean, _CODES, int64, int64, int64, int64, *_TABLES)
def _is_of_name(
    codes: Codes,
    last: int,
    start: int,
    begin: int,
    end: int,
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> bool:
    """Return whether the exclamation mark at `begin` belongs to a name inside a sentence."""
    lowest = start
    if begin - LONGEST_NAME > start:
        lowest = begin - LONGEST_NAME
    word = begin
    while word > lowest and not kinds[word - 1] & SPACE:
        word -= 1
    before = word
    while before > lowest and kinds[before - 1] & SPACE:
        before -= 1
    if word == begin or before == lowest:
        return False
    while word < begin and kinds[word] & OPENER:
        word += 1
    if word + 1 >= begin or not kinds[word] & TITLE or not kinds[word + 1] & LOWER:
        return False
    next_end = end
    while next_end < last and next_end < end + 10 and not kinds[next_end] & SPACE:
        next_end += 1
    found = _listed(codes, end, next_end, False, kinds, lower, listed, slots)
    return (found & CONTINUER) != 0


@inner(int64, _CODES, int64, int64, int64, readonly(int32))
def _start_of_item(
    codes: Codes, start: int, begin: int, stop: int, kinds: NDArray[np.int32]
) -> int:
    """Return where "2." starts, if it ends at `stop` and the sentence began with "1.", or 0."""
    if stop != begin + 1 or codes[begin] != 46 or begin == start:
        return 0
    place, value = start, 0
    while place < begin and place < start + 3 and codes[place] >= 48 and codes[place] <= 57:
        value = 10 * value + np.int64(codes[place]) - 48
        place += 1
    if place == start or codes[place] != 46 or not kinds[place + 1] & SPACE:
        return 0
    value += 1
    item = begin
    while value > 0:
        item -= 1
        if item <= place + 2 or codes[item] != 48 + value % 10:
            return 0
        value //= 10
    return item if kinds[item - 1] & SPACE else 0


@inner(int64, _CODES, int64, int64, readonly(int32), uint64, int64, int32[:, ::1], uint64[::1])
def _find_marks(
    codes: Codes,
    begin: int,
    stop: int,
    kinds: NDArray[np.int32],
    factor: int,
    n_words: int,
    words: NDArray[np.int32],
    hashes: NDArray[np.uint64],
) -> int:
    """Find the words among the marks `begin` to `stop`; return the number of words so far."""
    place = begin
    while place < stop:
        word = place
        place += 1
        if not kinds[word] & (MARK_WORD | EMOJI_WORD):
            continue
        value = np.uint64(codes[word]) + factor
        if kinds[word] & MARK_WORD:
            while place < stop and codes[place] == codes[word]:
                value = value * factor + np.uint64(codes[place])
                place += 1
        words[n_words, 0], words[n_words, 1] = word, place
        hashes[n_words] = value ^ (value >> np.uint64(32))
        n_words += 1
    return n_words


@inner(int64, _CODES, int64, int64, int64, int64, int64, int64, *_TABLES)
def _ends_sentence(
    codes: Codes,
    first: int,
    last: int,
    start: int,
    begin: int,
    stop: int,
    end: int,
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int:
    """Return whether a sentence ends with the marks `begin` to `stop`: 1, 0 or UNDECIDED."""
    if end >= last:
        return 1
    following = kinds[end]
    full_stop = stop == begin + 1 and codes[begin] == 46
    usual = full_stop and end == stop + 1 and codes[stop] == 32 and not following & WEAK
    if not usual:
        decided = _ends_unusually(codes, first, last, begin, stop, end, kinds)
        if decided == _EXCLAMATION:
            return not _is_of_name(codes, last, start, begin, end, kinds, lower, listed, slots)
        if decided != _ABBREVIATION:
            return decided
    abbreviates = _abbreviates(codes, last, start, begin, end, kinds, lower, listed, slots)
    return abbreviates if abbreviates == UNDECIDED else 1 - abbreviates


@inner(int64, _CODES, int64, int64, *_TABLES)
def _end_of_tag(
    codes: Codes,
    last: int,
    begin: int,
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> int:
    """Return where an HTML tag that breaks lines ends, or 0 if there is none."""
    name = begin + 1
    if name < last and codes[name] == 47:
        name += 1
    place = name
    while place < last and kinds[place] & ALPHANUMERIC:
        place += 1
    found = _listed(codes, name, place, True, kinds, lower, listed, slots)
    if found == UNDECIDED:
        return UNDECIDED
    if not found & TAG:
        return 0
    while place < last and codes[place] != 62:
        if codes[place] == 60:
            return 0
        place += 1
    return place + 1 if place < last else 0


@compiled(
    void,
    int64[::1],
    int64,
    int64,
    _CODES,
    readonly(int64),
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
    codes: Codes,
    text_starts: NDArray[np.int64],
    kinds: NDArray[np.int32],
    lower: NDArray[np.int32],
    listed: NDArray[np.int32],
    slots: NDArray[np.int32],
    factor: int,
    words: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    sentences: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Find words and sentences of texts.

    Parameters
    ----------
    task_size : int
        Number of texts of a task.
    text_starts : ndarray of shape (n_texts + 1,)
        Where each text starts in `codes`, then where the last one ends.
    factor : int
        Odd number of the hash function.
    words : ndarray of shape (n_codes, 2)
        Start and end of each word, those of a text from the row `text_starts` on.
    hashes : ndarray of shape (n_codes,)
        Their hash values.
    sentences : ndarray of shape (n_codes, 3)
        Likewise start, end and number of words of each sentence with words.
    counts : ndarray of shape (n_texts, 2)
        Number of words and of sentences of each text. The latter is UNDECIDED where Python must
        find the sentences, UNREADABLE where it must find the words too.
    """
    n_texts = len(text_starts) - 1
    while True:
        task = draw(counter)
        if task >= n_tasks:
            break
        for text in range(task * task_size, (task + 1) * task_size):
            if text >= n_texts:
                break
            first, last = text_starts[text], text_starts[text + 1]
            n_words, n_sentences, n_before = first, first, first
            undecided, readable = False, True
            place = first
            while place < last and kinds[place] & SPACE:
                place += 1
            start = place  # of the sentence; space before it is examined all the same
            place = first
            while place < last:
                kind = kinds[place]
                if kind & (WORD | CHARACTER_WORD):
                    word = place
                    value = np.uint64(codes[place]) + factor
                    place += 1
                    if kind & WORD:
                        while place < last:
                            if not kinds[place] & WORD:
                                if not kinds[place] & JOINER or place + 1 >= last:
                                    break
                                if not kinds[place + 1] & WORD:
                                    break
                            value = value * factor + np.uint64(codes[place])
                            place += 1
                    else:
                        while place < last:
                            if not kinds[place] & MARK:
                                if not kinds[place] & CHARACTER_WORD:
                                    break
                                if not kinds[place - 1] & VIRAMA:
                                    break
                            value = value * factor + np.uint64(codes[place])
                            place += 1
                    words[n_words, 0], words[n_words, 1] = word, place
                    hashes[n_words] = value ^ (value >> np.uint64(32))
                    n_words += 1
                    continue
                begin = place
                place += 1
                if kind & AMBIGUOUS:
                    readable = False
                if kind & (MARK_WORD | EMOJI_WORD) and not kind & (WEAK | STRONG):
                    while place < last and codes[place] == codes[begin]:
                        place += 1
                    n_words = _find_marks(
                        codes, begin, place, kinds, factor, n_words, words, hashes
                    )
                    continue
                if not kind & (WEAK | STRONG | LINE_END | TAG_OPENER):
                    continue
                if kind & TAG_OPENER:
                    stop = _end_of_tag(codes, last, begin, kinds, lower, listed, slots)
                    if stop == UNDECIDED:
                        undecided = True
                    if stop <= 0:
                        continue
                    place = stop
                elif kind & (WEAK | STRONG):
                    while place < last and kinds[place] & (WEAK | STRONG):
                        place += 1
                    while place < last and kinds[place] & CLOSER:
                        place += 1
                    if place + 1 < last:
                        if kinds[place] & LATE_CLOSER and kinds[place + 1] & SPACE:
                            place += 1
                        elif (
                            place + 2 < last
                            and codes[place + 1] == 0xBB
                            and kinds[place] & FRENCH_SPACE
                            and kinds[place + 2] & SPACE
                        ):
                            place += 2
                    n_words = _find_marks(
                        codes, begin, place, kinds, factor, n_words, words, hashes
                    )
                stop = place
                while place < last and kinds[place] & SPACE:
                    place += 1
                if undecided:
                    continue
                next_start, n_after = place, n_words
                if kind & (WEAK | STRONG):
                    item = _start_of_item(codes, start, begin, stop, kinds)
                    if item > 0:
                        next_start, n_after = item, n_words
                        while n_after > first and words[n_after - 1, 0] >= item:
                            n_after -= 1
                        stop = item
                        while stop > start and kinds[stop - 1] & SPACE:
                            stop -= 1
                    else:
                        ends = _ends_sentence(
                            codes,
                            first,
                            last,
                            start,
                            begin,
                            stop,
                            place,
                            kinds,
                            lower,
                            listed,
                            slots,
                        )
                        if ends == UNDECIDED:
                            undecided = True
                        if ends != 1:
                            continue
                else:
                    if kind & LINE_END and not _starts_anew(codes, last, begin, place, kinds):
                        continue
                    stop = begin
                    while stop > start and kinds[stop - 1] & SPACE:
                        stop -= 1
                if n_after > n_before:
                    sentences[n_sentences, 0], sentences[n_sentences, 1] = start, stop
                    sentences[n_sentences, 2] = n_after - n_before
                    n_sentences += 1
                n_before = n_after
                start = next_start
            if n_words > n_before:
                stop = last
                while stop > start and kinds[stop - 1] & SPACE:
                    stop -= 1
                sentences[n_sentences, 0], sentences[n_sentences, 1] = start, stop
                sentences[n_sentences, 2] = n_words - n_before
                n_sentences += 1
            counts[text, 0] = n_words - first
            counts[text, 1] = UNDECIDED if undecided else n_sentences - first
            if not readable:
                counts[text, 1] = UNREADABLE


@compiled(
    int64,
    _CODES,
    readonly(int32, 2),
    readonly(uint64),
    readonly(int64, 2),
    int64[::1],
    int32[::1],
    int32[::1],
    uint64[::1],
    int64[::1],
    int32[::1],
    int64,
)
def number_words(
    codes: Codes,
    words: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    rows: NDArray[np.int64],
    done: NDArray[np.int64],
    numbers: NDArray[np.int32],
    slots: NDArray[np.int32],
    type_hashes: NDArray[np.uint64],
    type_starts: NDArray[np.int64],
    type_codes: Codes,
    n_types: int,
) -> int:
    """Number the types of words.

    Parameters
    ----------
    codes, words, hashes
        As of `scan`.
    rows : ndarray of shape (n_texts, 2)
        First row in `words` of each text, and its number of words.
    done : ndarray of shape (4,)
        Number of the text, and of its word, to begin with; 1 if `slots` is filled; number of
        words that have a number. If not all texts are done, the arrays are full: give it larger
        ones, `slots` not filled.
    numbers : ndarray of shape (n_words,)
        Result: number of the type of each word.
    slots : ndarray of a power of two
        Hash table: number of a type, -1 where it is free.
    type_hashes, type_starts, type_codes : ndarray
        Of each type: hash value, start in `type_codes`, characters.
    n_types : int
        Number of known types.

    Returns
    -------
    int
        Number of types.
    """
    mask = len(slots) - 1
    if done[2] == 0:  # the table is new
        done[2] = 1
        for number in range(n_types):
            slot = np.int64(type_hashes[number]) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = number
    for text in range(done[0], len(rows)):
        first = rows[text, 0]
        for word in range(first + done[1], first + rows[text, 1]):
            value = hashes[word]
            start, end = np.int64(words[word, 0]), np.int64(words[word, 1])
            slot = np.int64(value) & mask
            while True:
                number = np.int64(slots[slot])
                if number < 0:
                    break
                if type_hashes[number] == value:
                    begin = type_starts[number]
                    if type_starts[number + 1] - begin == end - start:
                        i = 0
                        while i < end - start and type_codes[begin + i] == codes[start + i]:
                            i += 1
                        if i == end - start:
                            break
                slot = (slot + 1) & mask
            if number < 0:
                begin = type_starts[n_types]
                if 2 * (n_types + 1) > len(slots) or begin + end - start > len(type_codes):
                    done[0], done[1] = text, word - first
                    return n_types
                number = n_types
                slots[slot] = number
                type_hashes[number] = value
                type_starts[number + 1] = begin + end - start
                for i in range(end - start):
                    type_codes[begin + i] = codes[start + i]
                n_types += 1
            numbers[done[3]] = number
            done[3] += 1
        done[1] = 0
    done[0] = len(rows)
    return n_types
