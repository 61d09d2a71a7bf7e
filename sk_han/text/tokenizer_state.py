"""A fitted tokenizer in the state of an estimator, and in a file of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sk_han.options.base import InstanceOf
from sk_han.storage.fields import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check
from sk_han.text.vocabulary import check_vocabulary

__all__ = ["FittedTokenizer", "tokenizer_fields", "words"]


@dataclass(frozen=True)
class FittedTokenizer:
    """Kind of a schema: a fitted tokenizer, whose ids are below the number of a letter.

    Parameters
    ----------
    letter : str
        It is bound to the number of ids, if it is not bound before.
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


def tokenizer_fields(data: Any) -> tuple[dict[str, Any], dict[str, int], list[str] | None]:
    """Return a described tokenizer, its vocabulary, and its stop words if they are stored."""
    fields = fields_of(data, "the tokenizer", ["class", "params", "fitted"])
    fitted = fields["fitted"]
    if isinstance(fitted, dict) and "vocabulary" in fitted:
        fitted = fitted | {"vocabulary": from_plain(fitted["vocabulary"])}
    check(_FITTED, fitted, "tokenizer")
    return fields, fitted["vocabulary"], fitted["stop_words"]
