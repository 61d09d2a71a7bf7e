"""Split one text into sentences of words, by our own patterns or the user's callables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sk_han.text.alignment import Span, locate_sentences, locate_words, strings_of
from sk_han.text.sentences import sentence_spans
from sk_han.text.tokens import compile_token_pattern


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

    @property
    def has_own_patterns(self) -> bool:
        """Whether our patterns find sentences and words, and no callable."""
        return self.sentence_splitter is None and self.word_tokenizer is None

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
