"""Tokens as rows of attributes: the word, given columns, affixes and shape; and their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID

PREFIXES, SUFFIXES = (1, 2, 3), (1, 2, 3, 4)
N_FROM_WORD = 1 + len(PREFIXES) + len(SUFFIXES) + 1
# A letter or shape that a single word has says no more than the word itself.
_LEAST_WORDS = 2


class Kinds(NamedTuple):
    """The distinct tokens of D sentences of T tokens."""

    rows: list[tuple[str, ...]]  # each a word and its further columns
    numbers: NDArray[np.int32]  # the row of each token, shape (T,)
    lengths: NDArray[np.int64]  # number of tokens of each sentence, shape (D,)


def token_kinds(sentences: Iterable[Sequence[tuple[str, ...]]]) -> Kinds:
    """Number the distinct tokens of sentences in the order in which they occur."""
    found = list(sentences)
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    index: dict[tuple[str, ...], int] = {}
    numbers = [index.setdefault(token, len(index)) for token in chain.from_iterable(found)]
    return Kinds(list(index), np.array(numbers, dtype=np.int32), lengths)


def learn_attributes(kinds: Kinds) -> list[dict[str, int]]:
    """Number the values of each attribute from 2, the most frequent first."""
    n_tokens = np.bincount(kinds.numbers, minlength=len(kinds.rows)).tolist()
    n_given = len(kinds.rows[0])
    counts: list[Counter[str]] = [Counter() for _ in range(N_FROM_WORD + n_given - 1)]
    for row, n in zip(kinds.rows, n_tokens, strict=True):
        for i, (counter, value) in enumerate(zip(counts, _attributes_of(row), strict=True)):
            counter[value] += n if i < n_given else 1  # letters are those of words, not of tokens
    least = [1] * n_given + [_LEAST_WORDS] * (N_FROM_WORD - 1)
    return [_numbered(counter, n) for counter, n in zip(counts, least, strict=True)]


def n_values(vocabulary: Mapping[str, int]) -> int:
    """Return the number of values of an attribute, with padding and the unknown one."""
    return UNKNOWN_ID + 1 + len(vocabulary)


def attribute_ids(
    rows: Sequence[tuple[str, ...]], vocabularies: Sequence[Mapping[str, int]]
) -> NDArray[np.int64]:
    """Return the ids of the attributes of tokens, 1 if unknown, shape (n_rows, n_attributes)."""
    columns = zip(*map(_attributes_of, rows), strict=True)
    ids = [
        [vocabulary.get(value, UNKNOWN_ID) for value in values]
        for vocabulary, values in zip(vocabularies, columns, strict=False)
    ]
    return np.array(ids, dtype=np.int64).reshape(len(vocabularies), len(rows)).T


def word_shape(word: str) -> str:
    """Return the kinds of characters of a word, runs as one or two: "Berlin" gives "Xxx"."""
    shape: list[str] = []
    for character in word:
        if character.isdigit():
            kind = "d"
        elif character.isupper():
            kind = "X"
        else:
            kind = "x" if character.isalpha() else character
        if shape[-2:] != [kind, kind]:
            shape.append(kind)
    return "".join(shape)


def _attributes_of(token: tuple[str, ...]) -> tuple[str, ...]:
    """Return the word in lower case, further columns, prefixes, suffixes, and the shape."""
    word, *columns = token
    lower = word.lower()
    prefixes, suffixes = (lower[:n] for n in PREFIXES), (lower[-n:] for n in SUFFIXES)
    return (lower, *columns, *prefixes, *suffixes, word_shape(word))


def _numbered(counts: Counter[str], least: int) -> dict[str, int]:
    by_rank = sorted((-n, value) for value, n in counts.items() if n >= least)
    return {value: rank for rank, (_, value) in enumerate(by_rank, start=UNKNOWN_ID + 1)}
