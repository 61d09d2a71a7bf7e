"""Parameters of a tokenizer that come from a file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from sk_han.options.base import Choice, Constraint, Either, InstanceOf, Range
from sk_han.text.tokens import TOKEN_PATTERNS, compile_token_pattern

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


def check_reading(params: Mapping[str, Any]) -> None:
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
