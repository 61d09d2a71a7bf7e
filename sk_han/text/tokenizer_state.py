"""A fitted tokenizer in the state of an estimator, and in a file of a model."""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any, NamedTuple

from sk_han.options.base import InstanceOf
from sk_han.storage.decoding import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check
from sk_han.text.reading_params import DEFAULTS, PARAMETERS, check_reading
from sk_han.text.vocabulary import check_vocabulary


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


def stored_tokenizer(data: Any) -> StoredTokenizer:
    """Return a described tokenizer, checked; ValueError if it is none, or could not read texts."""
    fields = fields_of(data, "the tokenizer", ["class", "params", "fitted"])
    if fields["class"] != "HierarchicalTokenizer":
        raise ValueError(f"it has {brief(fields['class'])} where a HierarchicalTokenizer should be")
    params = tokenizer_params(fields["params"], "tokenizer.params")
    check_reading(DEFAULTS | params)
    fitted = fields["fitted"]
    if isinstance(fitted, dict) and "vocabulary" in fitted:
        fitted = fitted | {"vocabulary": from_plain(fitted["vocabulary"])}
    check(_FITTED, fitted, "tokenizer")
    if params.get("stop_words") == "english" and fitted["stop_words"] is None:
        raise ValueError("its tokenizer lacks the words that stop_words='english' means")
    return StoredTokenizer(params, fitted["vocabulary"], fitted["stop_words"])
