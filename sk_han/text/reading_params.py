"""Parameters of a tokenizer that come from a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from sk_han.options.base import Choice, Range
from sk_han.text.tokens import TOKEN_PATTERNS, compile_token_pattern

__all__ = ["check_reading"]

_LONGEST_PATTERN = 20_000  # it takes 150 bytes for each character, and our own have up to 9,000
# To compile a class of characters takes up to 3 ms, and a range that ignores case 15 ms.
_MOST_CLASSES, _MOST_RANGES_IGNORING_CASE = 500, 50
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")
_MOST_SLOTS = 1 << 26  # 256 MB for a document

_LIMIT = Range(Integral, 1)
# What a reader of texts needs, without scikit-learn; None is allowed where it is the default.
_CONSTRAINTS: dict[str, Choice | Range] = {
    "lowercase": Choice((True, False)),
    "tokens": Choice(tuple(TOKEN_PATTERNS)),
    "strip_accents": Choice(("ascii", "unicode")),
    "max_sentences": _LIMIT,
    "max_words": _LIMIT,
    "output": Choice(("ragged", "padded")),
}
_MAY_BE_NONE = {"strip_accents", "max_sentences", "max_words"}


def check_reading(params: Mapping[str, Any]) -> None:
    """Check parameters of a tokenizer from a file, which would else fail when it reads texts.

    Parameters
    ----------
    params : mapping of str to object
        All parameters of a `HierarchicalTokenizer`, plain ones.

    Raises
    ------
    ValueError
        If one is invalid, or asks for memory that no text is worth.
    """
    for name, constraint in _CONSTRAINTS.items():
        value = params[name]
        if not constraint.accepts(value) and not (value is None and name in _MAY_BE_NONE):
            raise ValueError(f"its {name} must be {constraint}; got {value!r}")
    pattern, stop_words = params["token_pattern"], params["stop_words"]
    if pattern is not None:
        if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
            shown = f"{len(pattern)} characters" if isinstance(pattern, str) else repr(pattern)
            raise ValueError(f"its token_pattern has {shown}")
        ignores_case = _IGNORES_CASE.search(pattern) is not None
        if pattern.count("[") > _MOST_CLASSES or (
            ignores_case and pattern.count("-") > _MOST_RANGES_IGNORING_CASE
        ):
            raise ValueError(
                "its token_pattern has more classes of characters than can be compiled"
            )
        compile_token_pattern(pattern)
    if isinstance(stop_words, str) and stop_words != "english":
        raise ValueError(f"its stop_words must be 'english' or words; got {stop_words!r}")
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
