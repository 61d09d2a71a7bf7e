"""Vocabularies: counting words, checking users' vocabularies, and stored tokenizers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import UNKNOWN_ID, DocumentArray
from sk_han._options import Choice, InstanceOf
from sk_han._storage.description import stored_estimator
from sk_han._storage.model_file import Arrays, unpack_words
from sk_han._storage.schema import Field, ListOf, Schema, Sizes, check, check_fields
from sk_han._text.analyzer import compile_token_pattern
from sk_han._text.reader import READING, Numbering, WordTypes, plain_form
from sk_han._utils.messages import plural

_FIRST_ID = UNKNOWN_ID + 1


class WordCounts:
    """Exact counts of words, in at most 300 bytes per distinct word.

    Words are numbered from 1 in order of their first occurrence.
    """

    def __init__(self, min_df: float) -> None:
        self.min_df, self.n_documents = min_df, 0
        self.number_of = Numbering()
        # The count of each word; it is 0 for words that were left out.
        self.occurrences: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        counts_documents = min_df > 1 if isinstance(min_df, Integral) else min_df > 0
        self.documents = self.occurrences if counts_documents else None

    def add(self, types: WordTypes, words: list[str]) -> DocumentArray:
        """Count the words of a portion of texts; `words` has the normalized word of each type.

        Return the documents, with numbers of words in place of ids, which `ids` converts.
        """
        number = np.fromiter(map(self.number_of.__getitem__, words), np.int64, len(words))
        numbers = number[types.numbers]  # (n_words,)
        self.n_documents += len(types.sentences_per_document)
        self.occurrences = self._sum(self.occurrences, numbers)
        if self.documents is not None:
            document = np.arange(len(types.sentences_per_document))
            document_of_word = np.repeat(document, np.diff(types.word_starts))
            n_distinct = len(self.number_of)
            once_each = np.unique(document_of_word * n_distinct + numbers) % n_distinct
            self.documents = self._sum(self.documents, once_each)
        return types.documents(number.astype(np.int32) + 1, words)

    def _sum(self, counts: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.bincount(numbers, minlength=len(self.number_of))
        total[: len(counts)] += counts
        return total

    def vocabulary(self, max_features: int | None) -> dict[str, int]:
        """Number sufficiently frequent words from 2, by falling frequency, then alphabetically."""
        least = self.min_df
        if not isinstance(least, Integral):
            least = least * self.n_documents
        # Stop words and words beyond a limit have a type, but no count.
        kept = self.occurrences > 0
        if not kept.any():
            raise ValueError(
                "empty vocabulary; perhaps the documents are blank, only contain stop words, or "
                "token_pattern matches none of their words"
            )
        if self.documents is not None:
            kept &= self.documents >= least
            if not kept.any():
                raise ValueError(
                    f"After pruning, no terms remain: no word occurs in {least:g} of "
                    f"{plural(self.n_documents)}. Try a lower min_df."
                )
        words, rows = list(self.number_of), np.flatnonzero(kept).tolist()
        by_rank = sorted(rows, key=lambda i: (-self.occurrences[i], words[i]))[:max_features]
        return {words[i]: rank for rank, i in enumerate(by_rank, start=_FIRST_ID)}

    def ids(self, vocabulary: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the array that maps numbers of words to their ids."""
        ids = map(vocabulary.get, self.number_of, repeat(UNKNOWN_ID))
        id_of = np.empty(len(self.number_of) + 1, dtype=np.int32)
        id_of[0], id_of[1:] = UNKNOWN_ID, np.fromiter(ids, np.int32, len(self.number_of))
        return id_of


def check_vocabulary(vocabulary: Mapping[str, int] | Iterable[str]) -> dict[str, int]:
    """Check a user's vocabulary, a mapping, sequence or set of words, and return it as a dict."""
    if isinstance(vocabulary, str):
        raise TypeError(f"vocabulary must hold words; got the string {vocabulary!r}.")
    if isinstance(vocabulary, Mapping):
        words, ids = list(vocabulary), list(vocabulary.values())
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, Set) else list(vocabulary)
        ids = list(range(_FIRST_ID, _FIRST_ID + len(words)))
    if not words:
        raise ValueError("empty vocabulary; leave it out (None) to learn it from the documents.")
    # This is outside of the loop, since a model file may have 80,000 words.
    largest = np.iinfo(np.int32).max
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
    id_of = {word: int(i) for word, i in zip(words, ids, strict=True)}
    if len(id_of) < len(words):
        raise ValueError(f"Duplicate term in vocabulary: {_first_duplicate(words)!r}.")
    if len(set(ids)) < len(ids):
        raise ValueError(f"vocabulary gives the id {_first_duplicate(ids)!r} to several words.")
    return id_of


def in_normal_form(vocabulary: Mapping[str, int]) -> dict[str, int]:
    """Return a vocabulary with its words in plain form, unless another word has that form."""
    normalized: dict[str, int] = {}
    for word, i in vocabulary.items():
        normal = plain_form(word)
        normalized[word if normal in vocabulary or normal in normalized else normal] = i
    return normalized


def _first_duplicate(values: list[object]) -> object:
    seen: set[object] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]


# A compiled pattern takes 150 bytes for each character; our own have up to 9,000 characters.
_LONGEST_PATTERN = 20_000

# Compiling a character class takes up to 3 ms, and a range that ignores case 15 ms.
_MOST_CLASSES, _MOST_RANGES_IGNORING_CASE = 500, 50
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")
_MOST_SLOTS = 1 << 26  # 256 MB for a document


@dataclass(frozen=True)
class FittedTokenizer:
    """Kind of a schema: a fitted tokenizer whose number of ids is at most the size of a letter.

    If the letter has no size yet, it gets the number of ids.
    """

    letter: str

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a tokenizer."""
        vocabulary = getattr(value, "vocabulary_", None)
        if not isinstance(vocabulary, dict) or not vocabulary:
            raise ValueError(f"its {where} is not a fitted HierarchicalTokenizer")
        n_ids = max(vocabulary.values()) + 1
        if n_ids > sizes.setdefault(self.letter, n_ids):
            raise ValueError(f"its {where} has ids beyond the {sizes[self.letter]} word vectors")


def words(value: Any, where: str, sizes: Sizes) -> None:
    """Check a vocabulary: a kind of a schema."""
    if not isinstance(value, dict):
        raise ValueError(f"its {where} is not a dict")
    check_vocabulary(value)


# Fitted state of a tokenizer in a file. It has the stop words if the parameters only name them.
_FITTED = Schema(
    (
        Field("vocabulary", words),
        Field("stop_words", ListOf(InstanceOf(str)), optional=True),
        Field("reading", Choice((READING,))),
    ),
    may_lack=True,
)


class StoredTokenizer(NamedTuple):
    """A fitted tokenizer from a file, with the words that ``stop_words="english"`` stands for."""

    params: dict[str, Any]  # those that an older release did not have are missing
    vocabulary: dict[str, int]
    stop_words: list[str] | None


def stored_tokenizer(data: Any, arrays: Arrays) -> StoredTokenizer:
    """Return a checked tokenizer from its description; its vocabulary is removed from the arrays.

    A ValueError is raised if the description is invalid, or the tokenizer could not read texts.
    """
    params, _, fitted = stored_estimator(data, arrays)
    _check_reading(params)
    required = ["vocabulary", "stop_words"]
    fitted = check_fields(fitted, "the fitted tokenizer", required, ["reading"])
    match fitted["vocabulary"]:
        case {"words": str(name)}:
            fitted = fitted | {"vocabulary": unpack_words(arrays, name)}
        case _:
            raise ValueError("the vocabulary of its tokenizer does not name arrays")
    check(_FITTED, fitted, "tokenizer")
    if params.get("stop_words") == "english" and fitted["stop_words"] is None:
        raise ValueError("its tokenizer lacks the words that stop_words='english' means")
    return StoredTokenizer(params, fitted["vocabulary"], fitted["stop_words"])


def _check_reading(params: Mapping[str, Any]) -> None:
    """Check parameters from a file, which would else fail, or take gigabytes, at the first text."""
    pattern, stop_words = params.get("token_pattern"), params.get("stop_words")
    if pattern is not None:
        if len(pattern) > _LONGEST_PATTERN:
            raise ValueError(f"its token_pattern has {len(pattern)} characters")
        ignores_case = _IGNORES_CASE.search(pattern) is not None
        if pattern.count("[") > _MOST_CLASSES or (
            ignores_case and pattern.count("-") > _MOST_RANGES_IGNORING_CASE
        ):
            raise ValueError(
                "its token_pattern has more classes of characters than can be compiled"
            )
        compile_token_pattern(pattern)
    for word in stop_words or ():
        if not isinstance(word, str):
            raise ValueError(f"its stop_words holds {word!r}, a {type(word).__name__}")
    if params.get("n_jobs") == 0:
        raise ValueError("its n_jobs is 0; it must be None, or another integer")
    most = params.get("max_sentences"), params.get("max_words")
    slots = (most[0] or 1) * (most[1] or 1)
    if params.get("output") == "padded" and slots > _MOST_SLOTS:
        raise ValueError(
            f"its output='padded' has {slots} numbers for every document, by its max_sentences="
            f"{most[0]} and max_words={most[1]}"
        )
