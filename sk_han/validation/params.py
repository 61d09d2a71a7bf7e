"""Parameters of objects that are parameters themselves, such as ``pooling__size``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["check_nested_params"]

# What to give where a parameter is no object: by default, and for parameters that only some have.
_OBJECTS = {
    "tokenizer": {"": "HierarchicalTokenizer()"},
    "rnn": {"": "RNN()"},
    "pooling": {
        "": "Attention()",
        "hops": "MultiHopAttention()",
        "penalty": "MultiHopAttention()",
        "direction": "ContextAttention()",
        "gated": "ContextAttention()",
        "summary": "ContextAttention()",
    },
}


def check_nested_params(params: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Check that parameters inside of others have an object to be set on.

    Parameters
    ----------
    params : mapping of str to object
        To be set, such as ``{"pooling__size": 50}``.
    present : mapping of str to object
        Present parameters of the estimator.

    Raises
    ------
    ValueError
        With the object that is needed.
    """
    for name in params:
        own, _, inner = name.partition("__")
        value = params.get(own, present.get(own))
        if inner and own in _OBJECTS and (value is None or isinstance(value, str)):
            needed = _OBJECTS[own].get(inner, _OBJECTS[own][""])
            raise ValueError(
                f"{name} cannot be set: {own} is {value!r}, which has no parameters. Give an "
                f"object first, such as {own}={needed}."
            )
