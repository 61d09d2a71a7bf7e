"""Reading documents with fitted settings and vocabulary: a tokenizer's state."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, repeat
from numbers import Integral
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import UNKNOWN_ID, DocumentArray, starts_of
from sk_han.options.base import Choice, Constraint, Either, InstanceOf, Range
from sk_han.storage.model_file import Arrays, from_plain, unpacked_words
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check, fields_of
from sk_han.text.analyzer import TOKEN_PATTERNS, TextAnalyzer, compile_token_pattern
from sk_han.text.vocabulary import WordTypes, check_vocabulary, read_word_types

_LONGEST_PATTERN = 20_000  # it takes 150 bytes for each character, and our own have up to 9,000


# To compile a class of characters takes up to 3 ms, and a range that ignores case 15 ms.
_MOST_CLASSES, _MOST_RANGES_IGNORING_CASE = 500, 50


_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")


_MOST_SLOTS = 1 << 26  # 256 MB for a document


_NONE = Choice((None,))


_LIMIT = Either((Range(Integral, 1), _NONE))


# What HierarchicalTokenizer allows of what a file can hold, without scikit-learn; a test compares
# its constraints with these.
PARAMETERS: dict[str, Constraint] = {
    "lowercase": Choice((True, False)),
    "strip_accents": Choice(("ascii", "unicode", None)),
    "tokens": Choice(tuple(TOKEN_PATTERNS)),
    "token_pattern": Either((InstanceOf(str), _NONE)),
    "stop_words": Either((InstanceOf(list), Choice(("english", None)))),
    "min_df": Either((Range(Integral, 1), Range(float, 0, 1), Choice((1.0,)))),
    "max_features": _LIMIT,
    "max_sentences": _LIMIT,
    "max_words": _LIMIT,
    "vocabulary": Either((InstanceOf(dict), InstanceOf(list), InstanceOf(tuple), _NONE)),
    "sentence_splitter": _NONE,
    "word_tokenizer": _NONE,
    "n_jobs": Either((Range(Integral, -math.inf), _NONE)),
    "output": Choice(("ragged", "padded")),
}


# Of parameters that a file may lack, since it is older than they are.
DEFAULTS: dict[str, Any] = {
    "lowercase": True,
    "strip_accents": None,
    "tokens": "words+marks",
    "token_pattern": None,
    "stop_words": None,
    "max_sentences": None,
    "max_words": None,
    "n_jobs": None,
    "output": "ragged",
}


@dataclass(frozen=True)
class FittedTokenizer:
    """Kind of a schema: a fitted tokenizer, whose ids are below the number of a letter.

    The letter is bound to the number of ids, if it is not bound before.
    """

    letter: str

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a tokenizer."""
        vocabulary = getattr(value, "vocabulary_", None)
        if not isinstance(vocabulary, dict) or not vocabulary:
            raise ValueError(f"its {where} is no fitted HierarchicalTokenizer")
        n_ids = max(vocabulary.values()) + 1
        if n_ids > sizes.setdefault(self.letter, n_ids):
            raise ValueError(f"its {where} has ids beyond the {sizes[self.letter]} word vectors")


def words(value: Any, where: str, sizes: Sizes) -> None:
    """Check a vocabulary: a kind of a schema."""
    if not isinstance(value, dict):
        raise ValueError(f"its {where} is no dict")
    check_vocabulary(value)


# What a file holds of a tokenizer beside its parameters; stop words that its parameters name only.
_FITTED = Schema(
    (Field("vocabulary", words), Field("stop_words", ListOf(InstanceOf(str)), optional=True))
)


_PARAMS = Schema(tuple(Field(*each) for each in PARAMETERS.items()), may_lack=True)


class StoredTokenizer(NamedTuple):
    """A fitted tokenizer of a file, with the words that ``stop_words="english"`` means."""

    params: dict[str, Any]
    vocabulary: dict[str, int]
    stop_words: list[str] | None


def tokenizer_params(stored: Any, where: str) -> dict[str, Any]:
    """Return described parameters of a tokenizer, checked one by one."""
    stored = fields_of(stored, "params of the tokenizer", [], PARAMETERS)
    params = {name: from_plain(value) for name, value in stored.items()}
    check(_PARAMS, params, where)
    return params


def stored_tokenizer(data: Any, arrays: Arrays) -> StoredTokenizer:
    """Return a described tokenizer, checked; its vocabulary is taken out of the arrays.

    A ValueError reports a description that is wrong, or of a tokenizer that could not read texts.
    """
    fields = fields_of(data, "the tokenizer", ["class", "params", "fitted"])
    if fields["class"] != "HierarchicalTokenizer":
        raise ValueError(f"it has {brief(fields['class'])} where a HierarchicalTokenizer should be")
    params = DEFAULTS | tokenizer_params(fields["params"], "tokenizer.params")
    _check_reading(params)
    fitted = fields_of(fields["fitted"], "the fitted tokenizer", ["vocabulary", "stop_words"])
    match fitted["vocabulary"]:
        case {"words": str(name)}:
            fitted = fitted | {"vocabulary": unpacked_words(arrays, name)}
        case _:
            raise ValueError("the vocabulary of its tokenizer does not name arrays")
    check(_FITTED, fitted, "tokenizer")
    if params["stop_words"] == "english" and fitted["stop_words"] is None:
        raise ValueError("its tokenizer lacks the words that stop_words='english' means")
    return StoredTokenizer(params, fitted["vocabulary"], fitted["stop_words"])


def _check_reading(params: Mapping[str, Any]) -> None:
    """Check parameters from a file, which would else fail, or take gigabytes, at the first text."""
    pattern, stop_words = params["token_pattern"], params["stop_words"]
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
    if params["n_jobs"] == 0:
        raise ValueError("its n_jobs is 0; it must be None, or another integer")
    slots = (params["max_sentences"] or 1) * (params["max_words"] or 1)
    if params["output"] == "padded" and slots > _MOST_SLOTS:
        raise ValueError(
            f"its output='padded' has {slots} numbers for every document, by its max_sentences="
            f"{params['max_sentences']} and max_words={params['max_words']}"
        )


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
