"""A fitted tokenizer in a file of a model."""

from __future__ import annotations

from typing import Any

from sk_han.storage.fields import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.text.vocabulary import check_vocabulary

__all__ = ["tokenizer_fields"]


def tokenizer_fields(data: Any) -> tuple[dict[str, Any], dict[str, int], list[str] | None]:
    """Return a described tokenizer, its vocabulary, and its stop words if they are stored."""
    fields = fields_of(data, "the tokenizer", ["class", "params", "fitted"])
    fitted = fields_of(fields["fitted"], "the fitted tokenizer", ["vocabulary"], ["stop_words"])
    vocabulary = from_plain(fitted["vocabulary"])
    if not isinstance(vocabulary, dict):
        raise ValueError("the tokenizer's vocabulary is no dict")
    stop_words = fitted.get("stop_words")
    match stop_words:
        case None:
            return fields, check_vocabulary(vocabulary), None
        case [*words] if all(isinstance(word, str) for word in words):
            return fields, check_vocabulary(vocabulary), words
    raise ValueError("the tokenizer's stop words are no list of strings")
