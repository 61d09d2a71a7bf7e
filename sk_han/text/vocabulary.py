"""Vocabularies: word types, their counts and their ids."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, pairwise, repeat
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, Spelling, concatenated_ranges, starts_of
from sk_han.kernels.engine import at_most_per_core, kernels, tasks_at_once, using_threads
from sk_han.text.analyzer import TextAnalyzer
from sk_han.text.scanning import COMPILED_PATTERNS, count_marked, scan_texts
from sk_han.utils.messages import counted

# With fewer documents a second process costs more than it saves.
_SMALLEST_CHUNK = 500


# To import Numba and load the kernels takes 0.2 to 0.3 s, as long as Python reads 2,500 reviews.
_WORTH_KERNELS = 2000  # texts


_MOST_CODES = 1 << 30  # characters of a text; kernels count them in 32 bits


@dataclass(frozen=True)
class WordTypes:
    """Documents as numbers of word types. Every sentence has at least one word."""

    types: list[str]
    numbers: NDArray[np.int32]  # (n_words,), index into types
    words_per_sentence: NDArray[np.int64]  # (n_sentences,)
    sentences_per_document: NDArray[np.int64]  # (n_documents,)
    word_spans: NDArray[np.int64] | None = None  # (n_words, 2), where asked for
    sentence_spans: NDArray[np.int64] | None = None  # (n_sentences, 2), where asked for

    @property
    def words_per_document(self) -> NDArray[np.int64]:
        """Number of words of each document, shape (n_documents,)."""
        return np.diff(starts_of(self.words_per_sentence)[starts_of(self.sentences_per_document)])

    def documents(self, ids: NDArray[np.int32], words: list[str]) -> DocumentArray:
        """Return documents with these ids (n_words,), which know the word of each type."""
        lengths = self.words_per_sentence, self.sentences_per_document
        return DocumentArray._of_lengths(ids, *lengths, Spelling(self.numbers, words))

    def without(self, dropped: NDArray[np.bool_]) -> WordTypes:
        """Remove the words of marked types, and sentences that have no word left."""
        return self._where(~dropped[self.numbers])

    def truncated(self, max_sentences: int | None, max_words: int | None) -> WordTypes:
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
        return self if kept.all() else self._where(kept)

    def _where(self, kept: NDArray[np.bool_]) -> WordTypes:
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
    """Split texts into words and number their types in the order in which they first occur.

    Spans, if `located`, take about twice the time. `n_jobs` processes, or threads of compiled
    kernels, change nothing but time; in a task of Dask it is one.
    """
    compiled = None
    known = analyzer.has_own_patterns and analyzer.token_pattern in COMPILED_PATTERNS
    if known and len(max(texts, key=len, default="")) < _MOST_CODES:
        compiled = kernels("text", worth_loading=len(texts) >= _WORTH_KERNELS)
    if compiled is not None:
        with nullcontext() if n_jobs is None else using_threads(_n_workers(n_jobs)):
            found = scan_texts(compiled, texts, analyzer.token_pattern, located=located)
        if found is not None:
            return WordTypes(*found)
    n_chunks = len(texts) // _SMALLEST_CHUNK
    if n_chunks > 1:  # to count cores takes longer than to read a text
        n_chunks = min(n_chunks, _n_workers(n_jobs))
    if n_chunks < 2:
        return _read_chunk(texts, analyzer, located)
    from joblib import Parallel, delayed

    bounds = [len(texts) * i // n_chunks for i in range(n_chunks + 1)]
    return joined(
        Parallel(n_jobs=n_chunks)(
            delayed(_read_chunk)(texts[start:end], analyzer, located)
            for start, end in pairwise(bounds)
        )
    )


def _n_workers(n_jobs: int | None) -> int:
    if tasks_at_once() is not None:  # a task owns one thread of its worker
        return 1
    from joblib import cpu_count, effective_n_jobs  # few texts are read where there is none

    return at_most_per_core(effective_n_jobs(n_jobs), cpu_count())


class Numbering(dict[str, int]):
    """A dict that numbers a new key when it is looked up, which is faster than a loop here."""

    def __missing__(self, word_type: str) -> int:
        number = self[word_type] = len(self)
        return number


def _read_chunk(texts: list[str], analyzer: TextAnalyzer, located: bool) -> WordTypes:
    number_of = Numbering()
    # Arrays of numbers: a list of the words would take fifteen times the memory.
    numbers, words_per_sentence, sentences_per_document = array("i"), array("q"), array("q")
    word_spans, sentence_spans = array("q"), array("q")
    for text in texts:
        if located:
            found = list(analyzer.locate(text))
            sentences = [sentence.words for sentence in found]
            for sentence in found:
                sentence_spans.extend(sentence.span)
                word_spans.extend(chain.from_iterable(sentence.word_spans))
        else:
            sentences = analyzer.analyze(text)
        sentences_per_document.append(len(sentences))
        words_per_sentence.extend(map(len, sentences))
        numbers.extend(map(number_of.__getitem__, chain.from_iterable(sentences)))
    spans = [
        np.array(each, dtype=np.int64).reshape(-1, 2) if located else None
        for each in (word_spans, sentence_spans)
    ]
    return WordTypes(
        list(number_of),
        np.array(numbers, dtype=np.int32),
        np.array(words_per_sentence, dtype=np.int64),
        np.array(sentences_per_document, dtype=np.int64),
        *spans,
    )


def joined(chunks: list[WordTypes]) -> WordTypes:
    """Put the documents of several readings into one."""
    number_of = Numbering()
    numbers = [
        np.fromiter(map(number_of.__getitem__, chunk.types), np.int32, len(chunk.types))[
            chunk.numbers
        ]
        for chunk in chunks
    ]
    return WordTypes(
        list(number_of),
        np.concatenate(numbers),
        np.concatenate([chunk.words_per_sentence for chunk in chunks]),
        np.concatenate([chunk.sentences_per_document for chunk in chunks]),
        _joined_spans([chunk.word_spans for chunk in chunks]),
        _joined_spans([chunk.sentence_spans for chunk in chunks]),
    )


def _joined_spans(spans: list[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    given = [part for part in spans if part is not None]
    return np.concatenate(given) if given else None


class WordCounts:
    """How often each word occurs, exactly; at most 300 bytes a distinct word.

    Words are numbered from 1, in the order in which they first occur.
    """

    def __init__(self, *, of_documents: bool) -> None:
        self.n_documents = 0
        self._number_of = Numbering()
        # Of each word; 0 for words that were left out.
        self.occurrences: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.documents = self.occurrences if of_documents else None

    def add(self, types: WordTypes, words: list[str]) -> DocumentArray:
        """Count a further chunk of texts, whose types mean these words; several may mean the same.

        Return its documents, with numbers of words for ids; see `ids`.
        """
        number = np.fromiter(map(self._number_of.__getitem__, words), np.int64, len(words))
        numbers = number[types.numbers]  # (n_words,)
        self.n_documents += len(types.sentences_per_document)
        self.occurrences = self._sum(self.occurrences, numbers)
        if self.documents is not None:
            once = _once_a_document(numbers, types.words_per_document, len(self._number_of))
            self.documents = self._sum(self.documents, once)
        return types.documents(numbers.astype(np.int32) + 1, words)

    @property
    def words(self) -> list[str]:
        """The words, in the order of their numbers."""
        return list(self._number_of)

    def ids(self, vocabulary: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the id of the word of each number, at the index of the number."""
        found = map(vocabulary.get, self._number_of, repeat(UNKNOWN_ID))
        ids = np.empty(len(self._number_of) + 1, dtype=np.int32)
        ids[0], ids[1:] = UNKNOWN_ID, np.fromiter(found, np.int32, len(self._number_of))
        return ids

    def _sum(self, counts: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.bincount(numbers, minlength=len(self._number_of))
        total[: len(counts)] += counts
        return total


def _once_a_document(
    numbers: NDArray[np.int64], words_per_document: NDArray[np.int64], n_distinct: int
) -> NDArray[np.int64]:
    """Return the distinct numbers of each document, of all documents."""
    document = np.repeat(np.arange(len(words_per_document)), words_per_document)
    return np.unique(document * n_distinct + numbers) % n_distinct


_FIRST_ID = UNKNOWN_ID + 1


def learn_vocabulary(
    counts: WordCounts, *, min_df: float = 1, max_features: int | None = None
) -> dict[str, int]:
    """Number words from 2 by falling frequency, then alphabetically; see `needs_documents`."""
    words, occurrences = counts.words, counts.occurrences
    least = min_df if isinstance(min_df, Integral) else min_df * counts.n_documents
    kept = occurrences > 0  # stop words and words beyond a limit have a type, but no count
    if not kept.any():
        raise ValueError(
            "empty vocabulary; perhaps the documents are blank, only contain stop words, or "
            "token_pattern matches none of their words"
        )
    if least > 1:
        assert counts.documents is not None  # see `needs_documents`
        kept &= counts.documents >= least
        if not kept.any():
            raise ValueError(
                f"After pruning, no terms remain: no word occurs in {least:g} of "
                f"{counted(counts.n_documents)}. Try a lower min_df."
            )
    by_rank = sorted(np.flatnonzero(kept).tolist(), key=lambda i: (-occurrences[i], words[i]))[
        :max_features
    ]
    return {words[i]: rank for rank, i in enumerate(by_rank, start=_FIRST_ID)}


def needs_documents(min_df: float) -> bool:
    """Return whether `learn_vocabulary` needs the number of documents with each word."""
    return min_df > 1 if isinstance(min_df, Integral) else min_df > 0


def check_vocabulary(vocabulary: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
    """Return a given vocabulary as a checked dict: ids by word, words in order, or a sorted set."""
    if isinstance(vocabulary, str):
        raise TypeError(f"vocabulary must hold words; got the string {vocabulary!r}.")
    if isinstance(vocabulary, Mapping):
        words, ids = list(vocabulary), list(vocabulary.values())
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, Set) else list(vocabulary)
        ids = list(range(_FIRST_ID, _FIRST_ID + len(words)))
    if not words:
        raise ValueError("empty vocabulary; leave it out (None) to learn it from the documents.")
    largest = np.iinfo(np.int32).max  # outside of the loop: a model file has 80,000 words
    for word, i in zip(words, ids, strict=True):
        if not isinstance(word, str):
            raise TypeError(f"vocabulary has {word!r} of type {type(word).__name__} for a word.")
        if type(i) is not int and (not isinstance(i, Integral) or isinstance(i, bool)):
            raise TypeError(f"vocabulary gives {word!r} the id {i!r}, which is not an integer.")
        if i < _FIRST_ID:
            raise ValueError(
                f"vocabulary gives {word!r} the id {i}; ids start at {_FIRST_ID}, for 0 is the "
                "padding and 1 the unknown word."
            )
        if int(i) > largest:
            raise ValueError(f"vocabulary gives {word!r} the id {i}, which is beyond 2**31 - 1.")
    checked = {word: int(i) for word, i in zip(words, ids, strict=True)}
    if len(checked) < len(words):
        raise ValueError(f"Duplicate term in vocabulary: {_repeated(words)!r}.")
    if len(set(ids)) < len(ids):
        raise ValueError(f"vocabulary gives the id {_repeated(ids)!r} to several words.")
    return checked


def _repeated(values: list[object]) -> object:
    seen: set[object] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
