"""Tokens as rows of attributes: the word, given columns, affixes and shape; and their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID

__all__ = ["Kinds", "attribute_ids", "learn_attributes", "token_kinds", "word_shape"]

PREFIXES, SUFFIXES = (1, 2, 3), (1, 2, 3, 4)
N_FROM_WORD = 1 + len(PREFIXES) + len(SUFFIXES) + 1
# A letter or shape that a single word has says no more than the word itself.
_LEAST_WORDS = 2


class Kinds(NamedTuple):
    """The distinct tokens of some sentences.

    Attributes
    ----------
    rows : list of tuple of str
        A word and its further columns.
    numbers : ndarray of int32, shape (T,)
        The row of each token.
    lengths : ndarray of int64, shape (D,)
        Number of tokens of each sentence.
    """

    rows: list[tuple[str, ...]]
    numbers: NDArray[np.int32]
    lengths: NDArray[np.int64]


def token_kinds(sentences: Iterable[Sequence[tuple[str, ...]]]) -> Kinds:
    """Number the distinct tokens of sentences in the order in which they occur."""
    found = list(sentences)
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    index: dict[tuple[str, ...], int] = {}
    numbers = [index.setdefault(token, len(index)) for token in chain.from_iterable(found)]
    return Kinds(list(index), np.array(numbers, dtype=np.int32), lengths)


def learn_attributes(kinds: Kinds, *, min_df: float = 1) -> list[dict[str, int]]:
    """Number the values of each attribute from 2, those of most tokens first.

    Parameters
    ----------
    kinds : Kinds
        Of the training sentences.
    min_df : int or float, default=1
        Number or share of sentences in which a word must occur; others are unknown words.

    Returns
    -------
    list of dict of str to int
        For each attribute: the word, further columns, prefixes, suffixes, shape.
    """
    tokens = np.bincount(kinds.numbers, minlength=len(kinds.rows)).tolist()
    n_columns = len(kinds.rows[0])
    of_word = [attributes_of_word(row[0]) for row in kinds.rows]
    counts: list[Counter[str]] = [Counter() for _ in range(N_FROM_WORD + n_columns - 1)]
    for row, (word, *others), n in zip(kinds.rows, of_word, tokens, strict=True):
        for counter, value in zip(counts, (word, *row[1:]), strict=False):
            counter[value] += n
        for counter, value in zip(counts[n_columns:], others, strict=True):
            counter[value] += 1  # of words, not of tokens
    rare = _words_below(min_df, kinds, [word for word, *_ in of_word])
    counts[0] = Counter({word: n for word, n in counts[0].items() if word not in rare})
    least = [1] * n_columns + [_LEAST_WORDS] * (N_FROM_WORD - 1)
    return [_numbered(counter, n) for counter, n in zip(counts, least, strict=True)]


def attribute_ids(
    rows: Sequence[tuple[str, ...]], vocabularies: Sequence[Mapping[str, int]]
) -> NDArray[np.int64]:
    """Return the ids of the attributes of tokens, 1 for unknown values.

    Parameters
    ----------
    rows : sequence of tuple of str
        Words with further columns.
    vocabularies : sequence of mapping of str to int
        As of `learn_attributes`.

    Returns
    -------
    ndarray of int64, shape (n_rows, n_attributes)
    """
    ids = np.empty((len(rows), len(vocabularies)), dtype=np.int64)
    values = []
    for word, *columns in rows:
        first, *others = attributes_of_word(word)
        values.append((first, *columns, *others))
    for i, (vocabulary, found) in enumerate(
        zip(vocabularies, zip(*values, strict=True), strict=False)
    ):
        ids[:, i] = [vocabulary.get(value, UNKNOWN_ID) for value in found]
    return ids


def attributes_of_word(word: str) -> tuple[str, ...]:
    """Return the lower-case word, its prefixes and suffixes, and its shape."""
    lower = word.lower()
    return (
        lower,
        *(lower[:n] for n in PREFIXES),
        *(lower[-n:] for n in SUFFIXES),
        word_shape(word),
    )


def word_shape(word: str) -> str:
    """Return the kinds of characters of a word, each run of one kind as one or two of them.

    Examples
    --------
    >>> from sk_han.tagging.attributes import word_shape
    >>> word_shape("Berlin"), word_shape("U.S."), word_shape("1,234.5"), word_shape("McGraw-Hill")
    ('Xxx', 'X.X.', 'd,dd.d', 'XxXxx-Xxx')
    """
    shape: list[str] = []
    for character in word:
        kind = (
            "d"
            if character.isdigit()
            else "X"
            if character.isupper()
            else "x"
            if character.isalpha()
            else character
        )
        if shape[-2:] != [kind, kind]:
            shape.append(kind)
    return "".join(shape)


def _words_below(min_df: float, kinds: Kinds, words: list[str]) -> set[str]:
    """Return the words of kinds of tokens that occur in fewer sentences."""
    n_sentences = len(kinds.lengths)
    least = min_df if isinstance(min_df, Integral) else min_df * n_sentences
    if least <= 1:
        return set()
    index = {word: i for i, word in enumerate(dict.fromkeys(words))}
    of_tokens = np.array([index[word] for word in words])[kinds.numbers]  # (T,)
    sentences = np.repeat(np.arange(n_sentences), kinds.lengths)  # (T,)
    once = np.unique(sentences * len(index) + of_tokens)
    found = np.bincount(once % len(index), minlength=len(index))
    return {word for word, n in zip(index, found.tolist(), strict=True) if n < least}


def _numbered(counts: Counter[str], least: int) -> dict[str, int]:
    by_rank = sorted((-n, value) for value, n in counts.items() if n >= least)
    return {value: rank for rank, (_, value) in enumerate(by_rank, start=UNKNOWN_ID + 1)}
