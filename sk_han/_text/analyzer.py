"""Sentences and words of texts, with their offsets."""

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

# Unicode's default-ignorable characters, which are invisible: soft hyphen, zero-width space, word
# joiner, directions of writing, variation selectors, tags. Those needed to write Mongolian, Khmer
# and Hangul are left out, and so are joiners, which change the letters next to them.
IGNORED = (
    "\\u00ad\\u061c\\u200b\\u200e-\\u200f\\u202a-\\u202e\\u2060-\\u206f"
    "\\ufe00-\\ufe0f\\ufeff\\U000e0000-\\U000e0fff"
)
_INSIDE = f"(?:[{JOINERS}]|[{IGNORED}]+)"

# In scripts with spaces, a word may contain apostrophes (don't), the point of Catalan, geresh and
# gershayim of Hebrew, the joiners of Persian and Indic scripts, and ignored characters. In other
# scripts, each character with its marks is a word; after U+1039 and U+17D2 (virama, coeng) the next
# letter is written below this one and belongs to it.
_WORDS = (
    f"[{WORD_CHARACTERS}]+(?:{_INSIDE}[{WORD_CHARACTERS}]+)*"
    f"|[{CHARACTER_WORDS}](?:[{CHARACTER_MARKS}]|(?<=[\\u1039\\u17d2])[{CHARACTER_WORDS}])*"
)

_ASCII_WORDS = r"[0-9A-Za-z]+(?:'[0-9A-Za-z]+)*"

# With "words+marks", a run of the same mark and an emoji are words too. The n-gram model learns
# pairs of words, and so also learns ": )", "# fail" and "$ 50".
MARKS = '!?.,;:()"@#$%&*/…“”„«»！？。，、；：（）「」؟،؛€£¥'

EMOJI = (
    "\\u2300-\\u23ff\\u2600-\\u27bf\\u2b00-\\u2bff\\U0001f000-\\U0001f3fa\\U0001f400-\\U0001faff"
)


def _runs(marks: str) -> str:
    return "|".join(f"{re.escape(mark)}+" for mark in marks)


_MARKS = f"|{_runs(MARKS)}|[{EMOJI}]"
_ASCII_MARKS = "|" + _runs("".join(filter(str.isascii, MARKS)))

# Sequences that "web" reads as one word, tried before words: emoticons, hearts, programming
# languages, hashtags and mentions, numbers with a currency, words with masked letters, joined
# emoji.
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
    """Compile a pattern, whose group, if it has one, is the word; return it for ASCII and any text.

    Both patterns find the same words in ASCII text. For "words" the first is 1.5 times as fast.
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
            f"{pattern.groups}. Write other groups as (?:...)."
        )
    in_ascii = _ASCII_PATTERNS.get(token_pattern)
    return (pattern if in_ascii is None else re.compile(in_ascii)), pattern


Span: TypeAlias = tuple[int, int]
_VISIBLE = re.compile(r"\S+")
_SIGN, _LETTER = re.compile(r"\S"), re.compile(r"\w")

# Subword tokenizers mark pieces at the beginning or in the middle of words by these signs.
_PIECE_SIGNS = re.compile(r"^(?:▁|Ġ|##)(?=.)|(?<=.)(?:@@|</w>)$", re.DOTALL)
# The next word is searched for in so many characters ahead.
_REACH = 64


def to_strings(returned: Any, parameter: str) -> list[str]:
    """Return the result of a user's callable as a list, after checking that it holds strings."""
    # Sets are refused because their order differs between processes.
    if isinstance(returned, Iterable) and not isinstance(returned, (str, bytes, set, frozenset)):
        pieces = list(returned)
        kinds = {type(piece) for piece in pieces if not isinstance(piece, str)}
        if not kinds:
            return pieces
        got = "objects of type " + ", ".join(sorted(kind.__name__ for kind in kinds))
    else:
        got = a_kind(returned)
    raise TypeError(f"{parameter} must return a list of strings, not {got}; in spaCy, token.text.")


def locate_sentences(text: str, sentences: Iterable[str]) -> list[Span]:
    """Find the spans of sentences, in order, in the text from which they were taken.

    Text between sentences may be missing, and their white space may differ. Blank sentences are
    left out.
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
    """A text without white space, and the positions of its characters in the raw text."""

    def __init__(self, text: str) -> None:
        self.text = "".join(text.split())
        self.places = array("q", (i for i, sign in enumerate(text) if not sign.isspace()))

    def find(self, sentence: str, position: int) -> Span:
        wanted = "".join(sentence.split())
        # A failed search scans the rest of the text, but since it raises an error, it is the last.
        start = self.text.find(wanted, bisect_left(self.places, position))
        if start < 0:
            raise ValueError(
                f"sentence_splitter returned {sentence[:60]!r}, which is not in the document "
                f"after character {position}. It must return the sentences as they stand in "
                "the text, in order; change spelling or case in the tokenizer's other parameters."
            )
        return self.places[start], self.places[start + len(wanted) - 1] + 1


def locate_words(text: str, sentence: Span, words: list[str]) -> list[Span]:
    """Return a span for each word of a sentence, which is empty if the word is not in the text.

    A word is searched where the previous one ends, as for pieces of words, and then at the next
    place where it is a whole word, ignoring case. If a word with letters is not found, such as a
    stem or a lemma, later words might be found at wrong places, so all words of the sentence get
    empty spans.
    """
    start, end = sentence
    raw = text[start:end]
    lower = raw.lower()
    # Some letters, such as "İ", become two characters in lower case, which would shift offsets.
    if len(lower) == len(raw):
        raw, words = lower, [word.lower() for word in words]
    at, spans = 0, []
    for word in (_PIECE_SIGNS.sub("", word) for word in words):
        sign = _SIGN.search(raw, at)
        place = sign.start() if sign and raw.startswith(word, sign.start()) else -1
        if place < 0 and (match := _whole_word(word).search(raw, at, at + _REACH + len(word))):
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
    """Splits texts into sentences and words, by patterns or by the user's callables."""

    token_pattern: str
    sentence_splitter: Callable[[str], Iterable[str]] | None = None
    word_tokenizer: Callable[[str], Iterable[str]] | None = None

    def analyze(self, text: str) -> list[list[str]]:
        """Return the words of each sentence; sentences without words are left out."""
        if self.word_tokenizer is not None:
            words = [self._words(text[start:end]) for start, end in self._sentences(text)]
        else:
            findall = compile_token_pattern(self.token_pattern)[not text.isascii()].findall
            words = [findall(text, start, end) for start, end in self._sentences(text)]
        return list(filter(None, words))

    def locate(self, text: str) -> Iterator[LocatedSentence]:
        """Yield the same sentences with their offsets and those of their words."""
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
        sentences = to_strings(self.sentence_splitter(text), "sentence_splitter")
        return locate_sentences(text, sentences)

    def _words(self, sentence: str) -> list[str]:
        assert self.word_tokenizer is not None
        return to_strings(self.word_tokenizer(sentence), "word_tokenizer")
