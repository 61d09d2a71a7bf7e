"""Words and sentences of texts, with their offsets."""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple, TypeAlias

from sk_han.text.sentences import CHARACTER_MARKS, CHARACTER_WORDS, WORD_CHARACTERS, sentence_spans
from sk_han.utils.messages import a_kind

JOINERS = "'’·׳״\\u00ad\\u200c\\u200d"


# A word of a script with spaces. Inside it may stand apostrophes (don't), the point of Catalan,
# geresh and gershayim of Hebrew, the soft hyphen, and the joiners of Persian and Indic scripts.
# In other scripts, one character with its marks; after U+1039 and U+17D2 (virama, coeng) the
# next letter stands below this one.
_WORDS = (
    f"[{WORD_CHARACTERS}]+(?:[{JOINERS}][{WORD_CHARACTERS}]+)*"
    f"|[{CHARACTER_WORDS}](?:[{CHARACTER_MARKS}]|(?<=[\\u1039\\u17d2])[{CHARACTER_WORDS}])*"
)


_ASCII_WORDS = r"[0-9A-Za-z]+(?:'[0-9A-Za-z]+)*"


# A word is also a run of one and the same mark, or an emoji. The n-gram model learns pairs of
# words, and so finds ": )", "# fail" and "$ 50".
MARKS = '!?.,;:()"@#$%&*/…“”„«»！？。，、；：（）「」؟،؛€£¥'


EMOJI = (
    "\\u2300-\\u23ff\\u2600-\\u27bf\\u2b00-\\u2bff\\U0001f000-\\U0001f3fa\\U0001f400-\\U0001faff"
)


def _runs(marks: str) -> str:
    return "|".join(f"{re.escape(mark)}+" for mark in marks)


_MARKS = f"|{_runs(MARKS)}|[{EMOJI}]"


_ASCII_MARKS = "|" + _runs("".join(filter(str.isascii, MARKS)))


# Signs that belong together, tried before words: an emoticon, a heart, a language, a hashtag or
# mention, a number with its currency, a word with masked letters, emoji with what joins them.
_TOGETHER = (
    r"(?<![0-9A-Za-z])(?:[:;=8xX][-o*']?[()\[\]dDpP/\\|3*]+(?![0-9A-Za-z])|<3+|[cC]\+\+|[cCfF]#)"
    f"|[#@][{WORD_CHARACTERS}{CHARACTER_WORDS}{CHARACTER_MARKS}_]+"
    r"|[$€£¥]?[0-9]+(?:[.,/:][0-9]+)*%?(?![0-9A-Za-z])"
    r"|\.NET\b"
    r"|[A-Za-z]+\*+[A-Za-z]*"
    f"|[{EMOJI}][\\u200d\\ufe0f{EMOJI}\\U0001f3fb-\\U0001f3ff]*|"
)


TOKEN_PATTERNS = {
    "words": _WORDS,
    "words+marks": _WORDS + _MARKS,
    "web": _TOGETHER + _WORDS + _MARKS,
}


_ASCII_PATTERNS = {
    _WORDS: _ASCII_WORDS,
    TOKEN_PATTERNS["words+marks"]: _ASCII_WORDS + _ASCII_MARKS,
}


@lru_cache
def compile_token_pattern(token_pattern: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile a pattern with at most one group, which is the word: for text in ASCII, and for any.

    Both find the same words in ASCII text. For "words" the first is 1.5 times as fast.
    """
    try:
        pattern = re.compile(token_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(
            f"token_pattern={token_pattern!r} is not a regular expression: {error}."
        ) from error
    if pattern.groups > 1:
        raise ValueError(
            f"token_pattern may have one group, which is the word; {token_pattern!r} has "
            f"{pattern.groups}. Write the others as (?:...)."
        )
    in_ascii = _ASCII_PATTERNS.get(token_pattern)
    return (pattern if in_ascii is None else re.compile(in_ascii)), pattern


Span: TypeAlias = tuple[int, int]


_VISIBLE = re.compile(r"\S+")


_LETTER = re.compile(r"\w")


_SPACED_WORD, _WITHIN_WORD = f"[{WORD_CHARACTERS}]+", f"(?<=[{WORD_CHARACTERS}])[{WORD_CHARACTERS}]"


# By which tokenizers of pieces mark where words begin or go on.
_PIECE_SIGNS = re.compile(r"^(?:▁|Ġ|##)(?=.)|(?<=.)(?:@@|</w>)$", re.DOTALL)


_KEY, _MOST_TRIES, _MOST_STATES, _REACH = 16, 64, 16, 64


_State: TypeAlias = "tuple[int, float, _Placed | None]"  # next start, worth, the last word placed


def strings_of(returned: Any, parameter: str) -> list[str]:
    """Check what a callable returned and return it as a list."""
    # The order of a set differs between processes.
    if isinstance(returned, Iterable) and not isinstance(returned, (str, bytes, set, frozenset)):
        pieces = list(returned)
        kinds = {type(piece) for piece in pieces if not isinstance(piece, str)}
        if not kinds:
            return pieces
        got = "objects of type " + ", ".join(sorted(kind.__name__ for kind in kinds))
    else:
        got = a_kind(returned)
    raise TypeError(
        f"{parameter} must return a list of strings; it returned {got}. For tokens of spaCy, "
        "return [token.text for token in doc]."
    )


def locate_sentences(text: str, sentences: Iterable[str]) -> list[Span]:
    """Find sentences in the text they were cut from; return their spans in order.

    Text may be left out between them, and their white space may differ. Blank ones are left out.
    """
    spans: list[Span] = []
    squeezed: _Squeezed | None = None
    position = 0
    for sentence in sentences:
        wanted = sentence.strip()
        if not wanted:
            continue
        visible = _VISIBLE.search(text, position)
        if visible and text.startswith(wanted, visible.start()):
            span = (visible.start(), visible.start() + len(wanted))
        else:
            squeezed = squeezed or _Squeezed(text)
            span = squeezed.find(wanted, position)
        spans.append(span)
        position = span[1]
    return spans


class _Squeezed:
    """A text without its white space, and where its characters stand in the raw text."""

    def __init__(self, text: str) -> None:
        self.text = "".join(text.split())
        self.places = array("q", (i for i, sign in enumerate(text) if not sign.isspace()))

    def find(self, sentence: str, position: int) -> Span:
        wanted = "".join(sentence.split())
        # A search that fails scans the rest of the text, but it is also the last one.
        start = self.text.find(wanted, bisect_left(self.places, position))
        if start < 0:
            raise ValueError(
                f"sentence_splitter returned {sentence[:60]!r}, which is not in the document "
                f"after character {position}. It must return the sentences as they stand in "
                "the text, in order; change spelling or case in the tokenizer's other parameters."
            )
        return self.places[start], self.places[start + len(wanted) - 1] + 1


def locate_words(text: str, sentence: Span, words: list[str]) -> list[Span]:
    """Return a span for each word of a sentence, empty if the word does not stand there.

    As many words as possible get places at which they stand, in order and up to case: best as
    whole words, else as beginnings (stems) or pieces of words. They may overlap words shortly
    before them, as n-grams and the search modes of tokenizers do.
    """
    start, end = sentence
    written = text[start:end]
    lower = written.lower()
    if len(lower) == len(written):  # "İ" has two characters in lower case
        written, words = lower, [word.lower() for word in words]
    words = [_PIECE_SIGNS.sub("", word) for word in words]
    spans = _adjacent_spans(written, words) or _Places(written, words).spans()
    last, found = start, []
    for span in spans:
        found.append((start + span[0], start + span[1]) if span else (last, last))
        last = max(last, found[-1][1])
    return found


def _adjacent_spans(written: str, words: list[str]) -> list[Span | None] | None:
    """Return the spans of words that leave out nothing but marks, or else None."""
    spans: list[Span | None] = []
    at, letter = 0, -1  # the first letter from `at` on
    for word in words:
        if letter < at:
            match = _LETTER.search(written, at)
            letter = match.start() if match else len(written)
        begin = written.find(word, at, letter + len(word))
        if begin < 0:
            return None
        at = begin + len(word)
        spans.append((begin, at))
    return None if re.compile(_WITHIN_WORD).match(written, at) else spans


class _Placed(NamedTuple):
    """A word with its place, and the words placed before it."""

    number: int
    start: int
    end: int
    before: _Placed | None


class _Places:
    """The places of words in a sentence, and the choice of one for each word.

    The work is linear in the sentence and its words: these are looked up by their first `_KEY`
    characters, and the next word extends the `_MOST_STATES` best alignments of those before it.
    """

    def __init__(self, written: str, words: list[str]) -> None:
        self.written, self.words = written, words
        self.inside = bytearray(len(written) + 1)  # 1 between two characters of a word
        self.starts = []  # of words in a script with spaces
        for match in re.finditer(_SPACED_WORD, written):
            self.starts.append(match.start())
            self.inside[match.start() + 1 : match.end()] = b"\1" * (len(match[0]) - 1)
        keys, at_key = {word[:_KEY] for word in words}, defaultdict[str, list[int]](list)
        for length in {len(key) for key in keys} - {0}:
            for place in range(len(written) - length + 1):
                if (key := written[place : place + length]) in keys:
                    at_key[key].append(place)
        # For each word the places of whole words, of beginnings, and of pieces.
        self.places: dict[str, tuple[list[int], list[int], list[int]]] = {}
        for word in set(words):
            self.places[word] = [], [], []
            places, is_key = at_key[word[:_KEY]], len(word) <= _KEY
            for place in places if is_key else places[:_MOST_TRIES]:
                if is_key or written.startswith(word, place):
                    kind = 2 if self.inside[place] else self.inside[place + len(word)]
                    self.places[word][kind].append(place)

    def spans(self) -> list[Span | None]:
        """Return the spans of the words in the best alignment; None for words without a place."""
        states: list[_State] = [(0, 0.0, None)]
        for number, word in enumerate(self.words):
            if not word:
                continue
            if " " in word:  # n-grams may begin anew after the single words
                states.insert(0, (0, states[-1][1] - 0.5, states[-1][2]))
            for at, worth, last in states[:]:
                for place, more in self._next_places(number, at, last):
                    placed = _Placed(number, place, place + len(word), last)
                    states.append((max(at, placed.end), worth + more, placed))
            best, kept = -math.inf, []
            for state in sorted(states, key=lambda state: (state[0], -state[1])):
                if state[1] > best:
                    best = state[1]
                    kept.append(state)
            states = kept[-_MOST_STATES:]
        chosen, last = list[_Placed](), states[-1][2]
        while last:
            chosen.append(last)
            last = last.before
        return self._sure_spans(chosen[::-1])

    def _next_places(
        self, number: int, at: int, last: _Placed | None
    ) -> Iterator[tuple[int, float]]:
        """Yield the next places of a word after `at`, or shortly before, and what each is worth."""
        word = self.words[number]
        if self.inside[at] and self.written.startswith(word, at):
            yield at, 1.25
        for places, worth in zip(self.places[word], (1.0, 0.5, 0.25), strict=True):
            i = bisect_left(places, at)
            if i < len(places):
                room = self._end_of_word(places[i]) - places[i]
                yield places[i], worth * min(1.0, len(word) / room)
            if i and worth == 1.0 and places[i - 1] > at - _REACH:
                span = places[i - 1], places[i - 1] + len(word)
                while last and number - last.number < _REACH and last[1:3] != span:
                    last = last.before
                if not last or last[1:3] != span:
                    yield span[0], 0.6 if span[1] >= at else 0.3

    def _end_of_word(self, place: int) -> int:
        end = self.inside.find(0, place + 1, place + _REACH)
        return place + _REACH if end < 0 else end

    def _sure_spans(self, placed: list[_Placed]) -> list[Span | None]:
        """Return spans without those that only chance brings: "be" (was) at the start of "better".

        A part of a word counts if other parts complete the word, if it is most of the word, or if
        as many words lie between it and the word placed before or after as in the text.
        """
        spans: list[Span | None] = [None] * len(self.words)
        n_words = [0, *accumulate(bool(_LETTER.search(word)) for word in self.words)]

        def shift(each: _Placed) -> int:
            n_written = bisect_left(self.starts, each.start) - self.inside[each.start]
            return n_words[each.number] - n_written

        before, parts, taken = 0, list[_Placed](), set[Span]()
        for each, after in zip_longest(placed, placed[1:]):
            parts.append(each)
            if after and self.inside[each.end] and after.start == each.end:
                continue
            first, size = parts[0], each.end - parts[0].start
            sure = not self.inside[each.end] and not self.inside[first.start]
            if not sure:
                start = self.starts[bisect_left(self.starts, first.start + 1) - 1]
                length = self._end_of_word(first.start) - start
                after_shift = shift(after) if after else n_words[-1] - len(self.starts)
                sure = size > 4 or (size > 2 and 2 * size >= length - 1)
                sure = sure or shift(first) in (before, after_shift)
            if sure and taken.isdisjoint(part[1:3] for part in parts):
                before = shift(each)
                taken.update(part[1:3] for part in parts)
                for part in parts:
                    spans[part.number] = part.start, part.end
            parts = []
        return spans


class LocatedSentence(NamedTuple):
    """A sentence with its words, and their positions in the text."""

    span: Span
    words: list[str]
    word_spans: list[Span]


@dataclass(frozen=True)
class TextAnalyzer:
    """Splits texts into sentences of words, by patterns or by the callables of a user."""

    token_pattern: str
    sentence_splitter: Callable[[str], Iterable[str]] | None = None
    word_tokenizer: Callable[[str], Iterable[str]] | None = None

    def analyze(self, text: str) -> list[list[str]]:
        """Return the words of each sentence; skip sentences without words."""
        if self.word_tokenizer is not None:
            words = [self._words(text[start:end]) for start, end in self._sentences(text)]
        else:
            findall = compile_token_pattern(self.token_pattern)[not text.isascii()].findall
            words = [findall(text, start, end) for start, end in self._sentences(text)]
        return list(filter(None, words))

    def locate(self, text: str) -> Iterator[LocatedSentence]:
        """Yield the same sentences with the offsets of sentences and words."""
        pattern = compile_token_pattern(self.token_pattern)[not text.isascii()]
        for start, end in self._sentences(text):
            if self.word_tokenizer is not None:
                words = self._words(text[start:end])
                word_spans = locate_words(text, (start, end), words)
            else:
                matches = pattern.finditer(text, start, end)
                word_spans = [match.span(pattern.groups) for match in matches]
                words = [text[a:b] for a, b in word_spans]
            if words:
                yield LocatedSentence((start, end), words, word_spans)

    def _sentences(self, text: str) -> list[Span]:
        if self.sentence_splitter is None:
            return sentence_spans(text)
        sentences = strings_of(self.sentence_splitter(text), "sentence_splitter")
        return locate_sentences(text, sentences)

    def _words(self, sentence: str) -> list[str]:
        assert self.word_tokenizer is not None
        return strings_of(self.word_tokenizer(sentence), "word_tokenizer")
