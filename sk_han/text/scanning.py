"""Words and sentences of texts by compiled kernels, equal to those of `TextAnalyzer`.

The kernels decide the usual ends of sentences; from the first unusual one on, the rules of
`sk_han.text.sentences` find the sentences of a text (in one IMDB review of four).
"""

from __future__ import annotations

import random
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import code_points, concatenated_ranges, packed, starts_of
from sk_han.engines.tasks import run_tasks
from sk_han.text.sentences import sentence_spans
from sk_han.text.tables import Tables, tables

# Characters, with about 32 bytes each. With 1 << 20, beyond the cache, it took 1.1 times as long.
_CODES_AT_ONCE = 1 << 17
_TASK_SIZE = 8  # texts that a thread takes at once

# Drawn once a process: nobody can write a text whose words share a hash value.
_FACTOR = random.SystemRandom().getrandbits(64) | 1


def scan_texts(
    compiled: ModuleType, texts: list[str], token_pattern: str, *, located: bool
) -> tuple[Any, ...] | None:
    """Find the words and sentences of texts, with spans if `located`: the fields of `WordTypes`.

    `compiled` is `sk_han.engines.kernels.text`, and `token_pattern` one of `COMPILED_PATTERNS`.
    Return None if a text has characters for which only Python's patterns are exact.
    """
    types, known = _Types(), tables(compiled, token_pattern)
    parts = []
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    for rows in packed(lengths, _CODES_AT_ONCE) if texts else [slice(0)]:
        part = _scan_chunk(compiled, texts[rows], known, types, located)
        if part is None:
            return None
        parts.append(part)
    joined = [
        column[0] if len(parts) == 1 else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return types.strings(), *joined


def count_marked(marked: NDArray[np.bool_], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the marked values in each of consecutive pieces of these lengths."""
    return np.diff(starts_of(marked)[starts_of(lengths)])


def _scan_chunk(
    compiled: ModuleType, texts: list[str], known: Tables, types: _Types, located: bool
) -> tuple[NDArray[Any], ...] | None:
    codes, lengths = code_points(texts)
    kinds = known.bits.take(codes)
    if (kinds & compiled.AMBIGUOUS).any():
        return None
    starts = starts_of(lengths)
    words = np.empty((len(codes), 2), dtype=np.int32)
    hashes = np.empty(len(codes), dtype=np.uint64)
    sentences = np.empty((len(codes), 2), dtype=np.int32)
    counts = np.empty((len(texts), 2), dtype=np.int64)
    read = starts, codes, kinds, known.lower, known.abbreviations, _FACTOR
    written = words, hashes, sentences, counts
    run_tasks(compiled.scan, -(-len(texts) // _TASK_SIZE), _TASK_SIZE, *read, *written)
    for i in np.flatnonzero(counts[:, 1] < 0).tolist():  # undecided behind some sentences
        origin, n_decided = starts[i], compiled.UNDECIDED - counts[i, 1]
        row = origin + n_decided
        spans = sentence_spans(texts[i], start=sentences[row, 0] - origin)
        sentences[row : row + len(spans)] = np.reshape(spans, (-1, 2)) + origin
        counts[i, 1] = n_decided + len(spans)
    rows = concatenated_ranges(starts[:-1], counts[:, 0])  # (T,)
    sentences = sentences[concatenated_ranges(starts[:-1], counts[:, 1])]  # (N, 2)
    first, beyond = np.searchsorted(words[rows, 0], sentences.T)  # (N,)
    n_words = beyond - first
    if n_words.sum() < len(rows):  # the others stand in tags
        rows = rows[concatenated_ranges(first, n_words)]
    wordy = n_words > 0
    n_words = n_words[wordy]
    numbers = types.number(compiled, codes, words, hashes, rows)
    found = numbers, n_words, count_marked(wordy, counts[:, 1])
    if not located:
        return found
    origins = np.repeat(starts[:-1], counts[:, 1])[wordy, np.newaxis]  # (N, 1), of their texts
    return *found, words[rows] - np.repeat(origins, n_words, axis=0), sentences[wordy] - origins


class _Types:
    """Word types so far, in the arrays of a hash table."""

    def __init__(self) -> None:
        self.n = 0
        self.slots: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self.starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.codes: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def number(
        self,
        compiled: ModuleType,
        codes: NDArray[np.int32],
        words: NDArray[np.int32],
        hashes: NDArray[np.uint64],
        rows: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the numbers (T,) of the types of the words of `rows`, and learn the new ones."""
        if self.n + len(rows) > len(self.hashes):
            most = 1 << (2 * (self.n + len(rows))).bit_length()
            self.hashes = _longer(self.hashes, most)
            self.starts = _longer(self.starts, most + 1)
            self.slots = np.full(2 * most, -1, dtype=np.int32)
            compiled.place_types(self.slots, self.hashes[: self.n])
        n_codes = int(self.starts[self.n]) + len(codes)
        if n_codes > len(self.codes):
            self.codes = _longer(self.codes, 2 * n_codes)
        numbers = np.empty(len(rows), dtype=np.int32)
        types = self.slots, self.hashes, self.starts, self.codes, self.n
        self.n = compiled.number_words(codes, words, hashes, rows, numbers, *types)
        return numbers

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
