"""From raw texts to word ids, as the parameters of a tokenizer say; no scikit-learn."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.text.analyzer import TextAnalyzer
from sk_han.text.word_types import WordTypes, read_word_types

UNKNOWN_WORD = "<unknown>"


class DocumentSpans(NamedTuple):
    """Positions of the sentences and words of one document in its raw text.

    Attributes
    ----------
    sentence_spans : ndarray of int64, shape (n_sentences, 2)
        Start and end of each sentence.
    word_spans : ndarray of int64, shape (n_words, 2)
        Start and end of each word.
    sentence_of_word : ndarray of int64, shape (n_words,)
        Number of the sentence in which each word stands.
    truncated : bool
        Whether `max_sentences` or `max_words` cut something off.
    """

    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool


@dataclass(frozen=True, kw_only=True)
class DocumentReader:
    """Reads raw texts as word types, and turns these into word ids.

    `lowercase` and `strip_accents` change stop words as they change the text.
    """

    token_pattern: str
    lowercase: bool = True
    strip_accents: str | Callable[[str], str] | None = None
    stop_words: Iterable[str] = ()
    max_sentences: int | None = None
    max_words: int | None = None
    sentence_splitter: Callable[[str], Iterable[str]] | None = None
    word_tokenizer: Callable[[str], Iterable[str]] | None = None
    n_jobs: int | None = None

    def read(self, texts: list[str]) -> tuple[WordTypes, list[str]]:
        """Return the types of the words within the limits, and the word of each type."""
        types, words = self._read(texts)
        return types.truncated(self.max_sentences, self.max_words), words

    def locate(
        self, texts: list[str], vocabulary: Mapping[str, int]
    ) -> tuple[DocumentArray, list[DocumentSpans]]:
        """Return the documents of texts, and the positions of their sentences and words."""
        read, words = self._read(texts, located=True)
        types = read.truncated(self.max_sentences, self.max_words)
        assert types.word_spans is not None
        assert types.sentence_spans is not None
        truncated = read.words_per_document > types.words_per_document
        sentence_starts = starts_of(types.words_per_sentence)
        document_starts = starts_of(types.sentences_per_document)
        spans = [
            DocumentSpans(
                types.sentence_spans[first:last],
                types.word_spans[sentence_starts[first] : sentence_starts[last]],
                np.repeat(np.arange(last - first), types.words_per_sentence[first:last]),
                cut,
            )
            for (first, last), cut in zip(
                pairwise(document_starts), truncated.tolist(), strict=True
            )
        ]
        return documents_of(types, words, vocabulary), spans

    def normalised(self, words: Iterable[str]) -> list[str]:
        """Return words without the differences that `lowercase` and `strip_accents` leave out."""
        if self.lowercase:
            words = map(str.lower, words)
        strip = self.strip_accents
        if isinstance(strip, str):
            words = map(ACCENT_STRIPPERS[strip], words)
        elif strip is not None:
            words = list(map(strip, words))
            others = {type(word).__name__ for word in words if not isinstance(word, str)}
            if others:
                raise TypeError(
                    "strip_accents must return a string for each word; it returned objects of "
                    f"type {', '.join(sorted(others))}."
                )
        return list(words)

    def _read(self, texts: list[str], *, located: bool = False) -> tuple[WordTypes, list[str]]:
        """Read texts without their stop words; return the types, and the word of each type."""
        analyzer = TextAnalyzer(self.token_pattern, self.sentence_splitter, self.word_tokenizer)
        types = read_word_types(texts, analyzer, located=located, n_jobs=self.n_jobs)
        words = self.normalised(types.types)
        left_out = {"", *self.normalised(self.stop_words)}
        if left_out.isdisjoint(words):
            return types, words
        dropped = np.fromiter(map(left_out.__contains__, words), bool, len(words))
        return types.without(dropped), words


def documents_of(
    types: WordTypes, words: list[str], vocabulary: Mapping[str, int]
) -> DocumentArray:
    """Return documents of the ids that a vocabulary gives to the words of these types.

    They know the words that it does not have, too.
    """
    found = map(vocabulary.get, words, repeat(UNKNOWN_ID))  # a generator takes twice the time
    ids = np.fromiter(found, np.int32, len(words))
    return types.documents(ids[types.numbers], words)


def words_of(documents: DocumentArray, vocabulary: Mapping[str, int]) -> list[list[list[str]]]:
    """Return the words of documents; ids that the vocabulary does not have are `UNKNOWN_WORD`."""
    word_of = {i: word for word, i in vocabulary.items()}
    return [
        [[word_of.get(i, UNKNOWN_WORD) for i in sentence] for sentence in document]
        for document in documents.to_nested()
    ]


def _unicode(word: str) -> str:
    """Remove the marks of a word, and keep all letters."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _ascii(word: str) -> str:
    """Remove marks, and characters that are not ASCII then."""
    return unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode("ascii")


# By the names and rules of scikit-learn's CountVectorizer: a model is served without it, too.
ACCENT_STRIPPERS: dict[str, Callable[[str], str]] = {"ascii": _ascii, "unicode": _unicode}
