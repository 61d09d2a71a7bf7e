"""Words and sentences of texts by compiled kernels, equal to those of `TextAnalyzer`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import concatenated_ranges, starts_of
from sk_han.engines.tasks import run_tasks
from sk_han.text.sentences import sentence_spans
from sk_han.text.tables import Tables, tables

__all__ = ["Scan", "scan_texts"]

# Characters, with about 36 bytes each. With 1 << 20, beyond the cache, it took 1.1 times as long.
_CODES_AT_ONCE = 1 << 17
_TASK_SIZE = 8  # texts that a thread takes at once

# Drawn once a process: nobody can write a text whose words share a hash value.
_FACTOR = random.SystemRandom().getrandbits(64) | 1


class Scan(NamedTuple):
    """Words and sentences of texts; see `WordTypes`, which it has the fields of."""

    types: list[str]
    numbers: NDArray[np.int32]
    words_per_sentence: NDArray[np.int64]
    sentences_per_document: NDArray[np.int64]
    word_spans: NDArray[np.int64] | None = None
    sentence_spans: NDArray[np.int64] | None = None


def scan_texts(
    compiled: ModuleType, texts: list[str], token_pattern: str, *, located: bool
) -> Scan | None:
    """Find the words and sentences of texts, and number the types of the words.

    Parameters
    ----------
    compiled : module
        `sk_han.engines.kernels.text`.
    texts : list of str
    token_pattern : str
        One of `COMPILED_PATTERNS`.
    located : bool
        Whether the spans are wanted.

    Returns
    -------
    Scan or None
        None if a text has characters for which only Python's patterns are exact.
    """
    types, known = _Types(), tables(compiled, token_pattern)
    parts = []
    for chunk in _chunks(texts):
        part = _scan_chunk(compiled, chunk, known, types, located)
        if part is None:
            return None
        parts.append(part)
    joined = [
        column[0] if len(parts) == 1 else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return Scan(types.strings(), *joined)


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    """Divide texts into lists of at most `_CODES_AT_ONCE` characters, or of one text."""
    first, n_codes = 0, 0
    for i, text in enumerate(texts):
        if n_codes + len(text) > _CODES_AT_ONCE and i > first:
            yield texts[first:i]
            first, n_codes = i, 0
        n_codes += len(text)
    yield texts[first:]


def _scan_chunk(
    compiled: ModuleType, texts: list[str], known: Tables, types: _Types, located: bool
) -> tuple[NDArray[Any], ...] | None:
    # A surrogate is no character, but may stand in a string.
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, dtype="<i4").astype(np.int32, copy=False)
    starts = starts_of(np.fromiter(map(len, texts), np.int64, len(texts)))
    words = np.empty((len(codes), 2), dtype=np.int32)
    hashes = np.empty(len(codes), dtype=np.uint64)
    sentences = np.empty((len(codes), 3), dtype=np.int32)
    counts = np.empty((len(texts), 2), dtype=np.int64)
    run_tasks(
        compiled.scan,
        -(-len(texts) // _TASK_SIZE),
        _TASK_SIZE,
        codes,
        starts,
        known.bits.take(codes),
        known.lower,
        known.listed,
        known.slots,
        _FACTOR,
        words,
        hashes,
        sentences,
        counts,
    )
    if counts[:, 1].min(initial=0) == compiled.UNREADABLE:
        return None
    for i in np.flatnonzero(counts[:, 1] == compiled.UNDECIDED).tolist():
        first = starts[i]
        rows = slice(first, first + counts[i, 0])
        kept, spans = _decided(texts[i], words[rows] - first)
        counts[i] = np.count_nonzero(kept), len(spans)
        rows_kept = slice(first, first + counts[i, 0])
        words[rows_kept], hashes[rows_kept] = words[rows][kept], hashes[rows][kept]
        spans[:, :2] += first
        sentences[first : first + len(spans)] = spans
    numbers = types.number(compiled, codes, words, hashes, starts, counts[:, 0])
    of_sentences = _rows(sentences, starts, counts[:, 1])  # (S, 3)
    found = numbers, of_sentences[:, 2].astype(np.int64), counts[:, 1].copy()
    if not located:
        return found
    of_words = _rows(words, starts, counts[:, 0])
    word_starts = np.repeat(starts[:-1], counts[:, 0])[:, np.newaxis]
    sentence_starts = np.repeat(starts[:-1], counts[:, 1])[:, np.newaxis]
    return *found, of_words - word_starts, of_sentences[:, :2] - sentence_starts


def _decided(text: str, words: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Find the sentences of a text by Python's patterns.

    Returns
    -------
    kept : ndarray of bool, shape (n_words,)
        Whether a word stands in a sentence, and not in a tag.
    sentences : ndarray of int32, shape (n_sentences, 3)
        Start, end and number of words of sentences with words.
    """
    spans = np.array(sentence_spans(text), dtype=np.int32).reshape(-1, 2)
    sentence = np.searchsorted(spans[:, 0], words[:, 0], side="right") - 1
    kept = sentence >= 0
    kept[kept] = words[kept, 1] <= spans[sentence[kept], 1]
    n_words = np.bincount(sentence[kept], minlength=len(spans))
    sentences = np.column_stack([spans, n_words]).astype(np.int32)
    return kept, sentences[n_words > 0]


def _rows(
    table: NDArray[np.int32], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the rows of all texts, `counts` of each from its start on."""
    return table[concatenated_ranges(starts[:-1], counts)]


class _Types:
    """Word types so far, in the arrays of a hash table."""

    def __init__(self) -> None:
        self.n = 0
        self.slots: NDArray[np.int32] = np.full(1 << 10, -1, dtype=np.int32)
        self.hashes: NDArray[np.uint64] = np.empty(1 << 9, dtype=np.uint64)
        self.starts: NDArray[np.int64] = np.zeros((1 << 9) + 1, dtype=np.int64)
        self.codes: NDArray[np.int32] = np.empty(1 << 13, dtype=np.int32)

    def number(
        self,
        compiled: ModuleType,
        codes: NDArray[np.int32],
        words: NDArray[np.int32],
        hashes: NDArray[np.uint64],
        starts: NDArray[np.int64],
        n_words: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the numbers of the types of words, and learn the new types."""
        rows = np.column_stack([starts[:-1], n_words])
        numbers = np.empty(n_words.sum(), dtype=np.int32)
        done = np.array([0, 0, self.n > 0, 0])
        while True:
            self.n = compiled.number_words(
                codes,
                words,
                hashes,
                rows,
                done,
                numbers,
                self.slots,
                self.hashes,
                self.starts,
                self.codes,
                self.n,
            )
            if done[0] == len(rows):
                return numbers
            self._grow(len(codes))
            done[2] = 0

    def _grow(self, n_codes: int) -> None:
        """Make place for four times as many types, and for the characters of any of the words."""
        if 2 * (self.n + 1) > len(self.slots):
            size = 4 * len(self.slots)
            self.slots = np.full(size, -1, dtype=np.int32)
            self.hashes = _longer(self.hashes, size // 2)
            self.starts = _longer(self.starts, size // 2 + 1)
        else:
            self.slots[:] = -1
        self.codes = _longer(self.codes, 2 * len(self.codes) + n_codes)

    def strings(self) -> list[str]:
        """Return the types as strings."""
        starts = self.starts[: self.n + 1].tolist()
        text = self.codes[: starts[-1]].astype("<i4", copy=False).tobytes()
        joined = text.decode("utf-32-le", "surrogatepass")
        return [joined[start:end] for start, end in pairwise(starts)]


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    longer = np.empty(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
