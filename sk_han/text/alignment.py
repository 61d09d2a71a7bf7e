"""Find the sentences and words that a user's callables returned in the text."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, TypeAlias

from sk_han.text.tokens import TOKEN_PATTERNS
from sk_han.utils.counts import a_kind

Span: TypeAlias = tuple[int, int]

_WORD = re.compile(TOKEN_PATTERNS["words"])
_VISIBLE = re.compile(r"\S+")
# A changed word is compared with this many words of the text before and after its expected
# place. The number is fixed to keep the work linear.
_WINDOW = 4


def strings_of(returned: Any, parameter: str) -> list[str]:
    """Check what a callable returned and return it as a list."""
    # The order of a set is another one in each process.
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
    """Return a span for each word of a sentence, in order, without overlap.

    If all words occur in the sentence, in order and up to case, these are their places. Otherwise
    (lemmas, stems) each is paired with a similar word of the sentence, and words between two such
    pairs in order. A word without a partner gets an empty span after the word before it.
    """
    found = _literal_spans(text, sentence, words)
    return _aligned_spans(text, sentence, words) if found is None else found


def _literal_spans(text: str, sentence: Span, words: list[str]) -> list[Span] | None:
    start, end = sentence
    haystack = text[start:end]
    folded = haystack.lower()
    ignore_case = len(folded) == len(haystack)  # "İ" has two characters in lower case
    if ignore_case:
        haystack = folded
    spans = []
    position = 0
    for word in words:
        wanted = word.lower() if ignore_case else word
        at = haystack.find(wanted, position)
        # Skip a match inside another word, unless the previous match ends there: do|n't.
        while at > position and (haystack[at - 1 : at] + wanted[:1]).isalnum():
            at = haystack.find(wanted, at + 1)
        if at < 0:
            return None
        position = at + len(wanted)
        spans.append((start + at, start + position))
    return spans


def _aligned_spans(text: str, sentence: Span, words: list[str]) -> list[Span]:
    places = [match.span() for match in _WORD.finditer(text, *sentence)]
    wordy = [k for k, word in enumerate(words) if _WORD.search(word)]
    if len(wordy) == len(places):
        place_of = dict(zip(wordy, range(len(places)), strict=True))
    else:
        place_of = _paired([words[k] for k in wordy], [text[a:b] for a, b in places])
        place_of = {wordy[k]: place for k, place in place_of.items()}
    spans = []
    last = sentence[0]
    for k in range(len(words)):
        span = places[place_of[k]] if k in place_of else (last, last)
        spans.append(span)
        last = span[1]
    return spans


def _paired(words: list[str], places: list[str]) -> dict[int, int]:
    """Pair similar words with words of the text, and the others between them in order."""
    pairs: dict[int, int] = {}
    unpaired: list[int] = []
    free = 0  # the first place after the last pair
    for k, word in enumerate(words):
        expected = free + len(unpaired)
        first, last = max(free, expected - _WINDOW), min(expected + _WINDOW + 1, len(places))
        for place in range(first, last):
            if _similar(word, places[place]):
                pairs.update(zip(unpaired, range(free, place), strict=False))
                pairs[k] = place
                unpaired, free = [], place + 1
                break
        else:
            unpaired.append(k)
    pairs.update(zip(unpaired, range(free, len(places)), strict=False))
    return pairs


def _similar(word: str, place: str) -> bool:
    """Return whether two words have the same first three letters, up to case."""
    return word[:3].lower() == place[:3].lower()
