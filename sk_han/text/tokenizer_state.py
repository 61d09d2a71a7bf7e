"""A tokenizer in the state of an estimator, and in a file of a model, with what it may hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any, NamedTuple

from sk_han.options.base import Choice, Constraint, Either, InstanceOf, Range
from sk_han.storage.decoding import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.storage.model_file import Arrays, unpacked_words
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check
from sk_han.text.tokens import TOKEN_PATTERNS, compile_token_pattern
from sk_han.text.vocabulary import check_vocabulary

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
