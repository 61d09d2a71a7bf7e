"""Reading texts as sentences of words: word types, word ids and offsets."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise, repeat
from typing import NamedTuple
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import (
    UNKNOWN_ID,
    DocumentArray,
    Spelling,
    concatenated_ranges,
    normal_form,
    normalize,
    to_offsets,
)
from sk_han._kernels.engine import at_most_per_core, kernels, tasks_at_once, using_threads
from sk_han._text.analyzer import IGNORED, TextAnalyzer
from sk_han._text.scanning import COMPILED_PATTERNS, count_marked, scan_texts

UNKNOWN_WORD = "<unknown>"

# Version of the rules for letters (`plain_form`), which a fitted tokenizer stores. Older files lack
# it.
READING = 2

# With fewer documents per process, starting one costs more than it saves.
_SMALLEST_CHUNK = 500
# Importing Numba and loading kernels takes 0.2 to 0.3 s, as long as reading 2,500 reviews in
# Python, so that it is not worth it for fewer texts than this.
_WORTH_KERNELS = 2000
# Kernels count the characters of a text in 32 bits.
_MOST_CODES = 1 << 30


class DocumentSpans(NamedTuple):
    """Positions of the sentences and words of one document in its raw text.

    Attributes
    ----------
    sentence_spans : ndarray of int64, shape (n_sentences, 2)
        Start and end of each sentence.
    word_spans : ndarray of int64, shape (n_words, 2)
        Start and end of each word.
    sentence_of_word : ndarray of int64, shape (n_words,)
        Number of the sentence of each word.
    truncated : bool
        Whether `max_sentences` or `max_words` cut something off.
    words : list of str
        The words as written in the text, before lowercasing and other normalization. With a custom
        tokenizer, words that are not in the text have empty spans, and words may overlap.
    """

    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool
    words: list[str]


@dataclass(frozen=True, kw_only=True)
class DocumentReader:
    """Reads raw texts as word types, and converts these to word ids.

    `lowercase` and `strip_accents` also apply to the stop words.
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

    def documents(self, texts: list[str], vocabulary: Mapping[str, int]) -> DocumentArray:
        """Convert texts to documents of word ids, including the spelling of unknown words."""
        types, words, _ = self.tokenize(texts)
        # A generator expression would take twice the time of `map`.
        ids = map(vocabulary.get, words, repeat(UNKNOWN_ID))
        return types.documents(np.fromiter(ids, np.int32, len(words)), words)

    def tokenize(
        self, texts: list[str], *, located: bool = False
    ) -> tuple[WordTypes, list[str], NDArray[np.bool_]]:
        """Return word types, the normalized word of each type, and flags of truncated texts (D,).

        Stop words and words beyond the limits are left out.
        """
        analyzer = TextAnalyzer(self.token_pattern, self.sentence_splitter, self.word_tokenizer)
        types = read_word_types(texts, analyzer, located=located, n_jobs=self.n_jobs)
        words = self.normalize_words(types.types)
        left_out = {"", *self.normalize_words(self.stop_words)}
        if not left_out.isdisjoint(words):
            stays = np.array([word not in left_out for word in words], dtype=bool)
            types = types.where(stays[types.numbers])
        if self.max_sentences is None and self.max_words is None:
            return types, words, np.zeros(len(texts), dtype=bool)
        within = types.within(self.max_sentences, self.max_words)
        return within, words, np.diff(types.word_starts) > np.diff(within.word_starts)

    def locate(
        self, texts: list[str], vocabulary: Mapping[str, int]
    ) -> tuple[DocumentArray, list[DocumentSpans]]:
        """Return the documents of texts, and the positions of their sentences and words."""
        types, words, truncated = self.tokenize(texts, located=True)
        assert types.word_spans is not None
        assert types.sentence_spans is not None
        ids = [vocabulary.get(word, UNKNOWN_ID) for word in words]
        documents = types.documents(np.array(ids, dtype=np.int32), words)
        starts, numbers = documents.sentence_starts, types.numbers.tolist()
        spans = [
            DocumentSpans(
                types.sentence_spans[first:last],
                types.word_spans[starts[first] : starts[last]],
                np.repeat(np.arange(last - first), types.words_per_sentence[first:last]),
                cut,
                [types.types[number] for number in numbers[starts[first] : starts[last]]],
            )
            for (first, last), cut in zip(
                pairwise(documents.document_starts), truncated.tolist(), strict=True
            )
        ]
        return documents, spans

    def normalize_words(self, words: Iterable[str]) -> list[str]:
        """Normalize words: canonical form, then `lowercase` and `strip_accents`."""
        words = map(plain_form, words, repeat(self.lowercase))
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


_FORM = re.compile("<(compat|font|wide|narrow|isolated|initial|medial|final)>(?!.* 0020)")
_IGNORED = re.compile(f"[{IGNORED}\\u034f]")
# `is_normalized` takes quadratic time in the number of marks on one letter.
_MOST_MARKS = 64
_OTHER = re.compile(f"[{IGNORED}\\u034f\\u200c\\u200d’\u02bc]")


def plain_form(word: str, lowercase: bool = False) -> str:
    """Replace variant forms of letters by plain letters, and remove invisible characters.

    Variants are full and half width, ligatures, presentation forms and mathematical letters.
    Joiners are kept in scripts whose letters they change, which are those after Armenian.
    """
    plain = word.lower() if lowercase else word
    # Nearly all words are plain already; without this test the rest would take half of the time of
    # reading texts.
    if plain.isascii() or (
        len(plain) < _MOST_MARKS and is_normalized("NFKC", plain) and not _OTHER.search(plain)
    ):
        return plain
    plain = "".join(map(_plain_letter, word))
    if plain < "\u0590":
        plain = re.sub("[\u200c\u200d]", "", plain)
    return normal_form(plain.lower() if lowercase else plain)


@cache
def _plain_letter(character: str) -> str:
    # Normalization by NFKC would change the meaning: two Korean letters in a chat message would
    # become a syllable, and x² would become x2.
    parts = unicodedata.decomposition(character)
    if _FORM.match(parts) and character.isalnum() and not "\u3131" <= character <= "\u318e":
        return "".join(_plain_letter(chr(int(part, 16))) for part in parts.split()[1:])
    return "" if _IGNORED.match(character) else character


def _without_accents(word: str) -> str:
    """Remove the accents of a word, and keep all letters."""
    if word.isascii():
        return word
    parts = normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _in_ascii(word: str) -> str:
    """Remove accents, then all characters that are not ASCII."""
    return normalize("NFKD", word).encode("ascii", "ignore").decode("ascii")


# The names and rules are those of scikit-learn's CountVectorizer, which a Scorer cannot import.
ACCENT_STRIPPERS: dict[str, Callable[[str], str]] = {
    "ascii": _in_ascii,
    "unicode": _without_accents,
}


@dataclass(frozen=True)
class WordTypes:
    """Documents as numbers of word types; every sentence has at least one word."""

    types: list[str]
    numbers: NDArray[np.int32]  # (n_words,), index into types
    words_per_sentence: NDArray[np.int64]  # (n_sentences,)
    sentences_per_document: NDArray[np.int64]  # (n_documents,)
    word_spans: NDArray[np.int64] | None = None  # (n_words, 2), if located
    sentence_spans: NDArray[np.int64] | None = None  # (n_sentences, 2), if located

    @property
    def word_starts(self) -> NDArray[np.int64]:
        """Position of the first word of each document, shape (n_documents + 1,), the end last."""
        return to_offsets(self.words_per_sentence)[to_offsets(self.sentences_per_document)]

    def documents(self, ids: NDArray[np.int32], words: list[str]) -> DocumentArray:
        """Convert to documents, from the id and the word of each type."""
        return DocumentArray._from_arrays(
            ids[self.numbers],
            to_offsets(self.words_per_sentence),
            to_offsets(self.sentences_per_document),
            Spelling(self.numbers, words),
        )

    def within(self, max_sentences: int | None, max_words: int | None) -> WordTypes:
        """Keep the first sentences of each document and the first words of each sentence."""
        kept = np.ones(len(self.numbers), dtype=bool)
        if max_sentences is not None:
            row = concatenated_ranges(
                np.zeros_like(self.sentences_per_document), self.sentences_per_document
            )  # (n_sentences,)
            kept &= np.repeat(row < max_sentences, self.words_per_sentence)
        if max_words is not None:
            column = concatenated_ranges(
                np.zeros_like(self.words_per_sentence), self.words_per_sentence
            )  # (n_words,)
            kept &= column < max_words
        return self if kept.all() else self.where(kept)

    def where(self, kept: NDArray[np.bool_]) -> WordTypes:
        """Keep the marked words, and the sentences that have any."""
        words = count_marked(kept, self.words_per_sentence)  # (n_sentences,)
        remains = words > 0
        return replace(
            self,
            numbers=self.numbers[kept],
            words_per_sentence=words[remains],
            sentences_per_document=count_marked(remains, self.sentences_per_document),
            word_spans=None if self.word_spans is None else self.word_spans[kept],
            sentence_spans=None if self.sentence_spans is None else self.sentence_spans[remains],
        )


def read_word_types(
    texts: list[str], analyzer: TextAnalyzer, *, located: bool = False, n_jobs: int | None = None
) -> WordTypes:
    """Split texts into words, and number word types in order of their first occurrence.

    With `located`, spans are computed too, which takes about twice the time. The number of
    processes, or of threads of kernels, is `n_jobs`, and 1 in a task of Dask; it does not change
    the result.
    """
    compiled = None
    calls_user = analyzer.sentence_splitter is not None or analyzer.word_tokenizer is not None
    can_compile = analyzer.token_pattern in COMPILED_PATTERNS and not calls_user
    if can_compile and len(max(texts, key=len, default="")) < _MOST_CODES:
        compiled = kernels("text", worth_loading=len(texts) >= _WORTH_KERNELS)
    if compiled is not None:
        with nullcontext() if n_jobs is None else using_threads(_n_workers(n_jobs)):
            scanned = scan_texts(compiled, texts, analyzer.token_pattern, located=located)
        if scanned is not None:
            return WordTypes(*scanned)
    n_chunks = len(texts) // _SMALLEST_CHUNK
    # Counting the cores takes longer than reading a text, so it is avoided for few texts.
    if n_chunks > 1:
        n_chunks = min(n_chunks, _n_workers(n_jobs))
    if n_chunks < 2:
        return _read_chunk(texts, analyzer, located)
    from joblib import Parallel, delayed

    bounds = [len(texts) * i // n_chunks for i in range(n_chunks + 1)]
    return concatenate_types(
        Parallel(n_jobs=n_chunks)(
            delayed(_read_chunk)(texts[start:end], analyzer, located)
            for start, end in pairwise(bounds)
        )
    )


def _n_workers(n_jobs: int | None) -> int:
    # A task of Dask owns one thread of its worker.
    if tasks_at_once() is not None:
        return 1
    # A Scorer that reads few texts does not need joblib.
    from joblib import cpu_count, effective_n_jobs

    return at_most_per_core(effective_n_jobs(n_jobs), cpu_count())


class Numbering(dict[str, int]):
    """A dict that numbers new keys when they are looked up, which is faster than a loop."""

    def __missing__(self, word_type: str) -> int:
        number = self[word_type] = len(self)
        return number


def _read_chunk(texts: list[str], analyzer: TextAnalyzer, located: bool) -> WordTypes:
    number_of = Numbering()
    # A list of the words would take fifteen times the memory of an array of their numbers.
    numbers, words_per_sentence, sentences_per_document = array("i"), array("q"), array("q")
    word_spans, sentence_spans = array("q"), array("q")
    for text in texts:
        if located:
            located_sentences = list(analyzer.locate(text))
            sentences = [sentence.words for sentence in located_sentences]
            for sentence in located_sentences:
                sentence_spans.extend(sentence.span)
                word_spans.extend(chain.from_iterable(sentence.word_spans))
        else:
            sentences = analyzer.analyze(text)
        sentences_per_document.append(len(sentences))
        words_per_sentence.extend(map(len, sentences))
        numbers.extend(map(number_of.__getitem__, chain.from_iterable(sentences)))
    spans = [
        np.array(bounds, dtype=np.int64).reshape(-1, 2) if located else None
        for bounds in (word_spans, sentence_spans)
    ]
    return WordTypes(
        list(number_of),
        np.array(numbers, dtype=np.int32),
        np.array(words_per_sentence, dtype=np.int64),
        np.array(sentences_per_document, dtype=np.int64),
        *spans,
    )


def concatenate_types(chunks: list[WordTypes]) -> WordTypes:
    """Concatenate documents, and number their types together."""
    number_of = Numbering()
    numbers = [
        np.fromiter(map(number_of.__getitem__, chunk.types), np.int32, len(chunk.types))[
            chunk.numbers
        ]
        for chunk in chunks
    ]
    word_spans = [chunk.word_spans for chunk in chunks if chunk.word_spans is not None]
    sentence_spans = [c.sentence_spans for c in chunks if c.sentence_spans is not None]
    return WordTypes(
        list(number_of),
        np.concatenate(numbers),
        np.concatenate([chunk.words_per_sentence for chunk in chunks]),
        np.concatenate([chunk.sentences_per_document for chunk in chunks]),
        np.concatenate(word_spans) if word_spans else None,
        np.concatenate(sentence_spans) if sentence_spans else None,
    )


def to_words(documents: DocumentArray, vocabulary: Mapping[str, int]) -> list[list[list[str]]]:
    """Return the words of documents as nested lists; unknown ids become `UNKNOWN_WORD`."""
    word_of = {i: word for word, i in vocabulary.items()}
    return [
        [[word_of.get(i, UNKNOWN_WORD) for i in sentence] for sentence in document]
        for document in documents.to_nested()
    ]
