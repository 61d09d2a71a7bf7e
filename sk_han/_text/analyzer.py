"""Words and sentences of texts, with their offsets."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sk_han._text.sentences import CHARACTER_MARKS, CHARACTER_WORDS, WORD_CHARACTERS, sentence_spans
from sk_han._utils.messages import a_kind

JOINERS = "'’·׳״\\u200c\\u200d"

# Default-ignorable characters of Unicode, which are not visible: soft hyphen, zero-width space,
# word joiner, directions of writing, variation selectors, tags. Those that Mongolian, Khmer and
# Hangul are written with are left out, as are the joiners, which change the letters beside them.
IGNORED = (
    "\\u00ad\\u061c\\u200b\\u200e-\\u200f\\u202a-\\u202e\\u2060-\\u206f"
    "\\ufe00-\\ufe0f\\ufeff\\U000e0000-\\U000e0fff"
)
_INSIDE = f"(?:[{JOINERS}]|[{IGNORED}]+)"

# A word of a script with spaces. Inside it may stand apostrophes (don't), the point of Catalan,
# geresh and gershayim of Hebrew, the joiners of Persian and Indic scripts, and what is ignored.
# In other scripts, one character with its marks; after U+1039 and U+17D2 (virama, coeng) the
# next letter stands below this one.
_WORDS = (
    f"[{WORD_CHARACTERS}]+(?:{_INSIDE}[{WORD_CHARACTERS}]+)*"
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
_SIGN, _LETTER = re.compile(r"\S"), re.compile(r"\w")

# By which tokenizers of pieces mark where words begin or go on.
_PIECE_SIGNS = re.compile(r"^(?:▁|Ġ|##)(?=.)|(?<=.)(?:@@|</w>)$", re.DOTALL)
_REACH = 64  # characters in which the next word is looked for


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

    A word stands where the one before it ends, as pieces of words do, or else at the next place
    where it is a whole word, in order and up to case. Where a word with letters, such as a stem or
    a lemma, has no place, a later one may have that of another: then no word of the sentence has.
    """
    start, end = sentence
    written = text[start:end]
    lower = written.lower()
    if len(lower) == len(written):  # "İ" has two characters in lower case
        written, words = lower, [word.lower() for word in words]
    at, spans = 0, []
    for word in (_PIECE_SIGNS.sub("", word) for word in words):
        sign = _SIGN.search(written, at)
        place = sign.start() if sign and written.startswith(word, sign.start()) else -1
        if place < 0 and (match := _whole_word(word).search(written, at, at + _REACH + len(word))):
            place = match.start()
        if place < 0 and _LETTER.search(word):
            return len(words) * [(start, start)]
        begin = at if place < 0 else place
        at = at if place < 0 else place + len(word)
        spans.append((start + begin, start + at))
    return spans


@lru_cache(maxsize=4096)
def _whole_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{WORD_CHARACTERS}]){re.escape(word)}(?![{WORD_CHARACTERS}])")


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
