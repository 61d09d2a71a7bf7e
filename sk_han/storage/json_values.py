"""Plain Python values as JSON, and back without loss.

JSON has no tuples and no infinity, and its keys are strings. So an object with a single key names
the type: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"float": "inf"}``,
``{"options": {...}}``, and ``{"code_points": [...]}`` for a string with lone surrogates, which
UTF-8 lacks.
"""

from __future__ import annotations

import math
import re
from types import NoneType
from typing import Any

import numpy as np

from sk_han.options import Options

_KEYS = (str, int, float, NoneType, np.bool_, np.number)
_SPECIAL_FLOATS = ("nan", "inf", "-inf")
_SURROGATE = re.compile("[\ud800-\udfff]")


def to_plain(value: Any) -> Any:
    """Return a value in JSON's types."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        text = str.__str__(value)  # str() of a member of an Enum is its name
        has_surrogates = not text.isascii() and _SURROGATE.search(text)
        return {"code_points": [*map(ord, text)]} if has_surrogates else text
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, Options):
        return {"options": value.to_plain()}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, _KEYS):
                raise TypeError(f"a key that is a {type(key).__qualname__} is no plain value")
            if _is_long(key):
                raise TypeError("a key that is an integer beyond 64 bits is no plain value")
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} is no plain value")


def from_plain(data: Any) -> Any:
    """Return the value of which `data` is the result of `to_plain`."""
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"tuple": list(items)} if len(data) == 1:
            return tuple(from_plain(item) for item in items)
        case {"dict": list(pairs)} if len(data) == 1:
            return _dict_of(pairs)
        case {"options": dict(options)} if len(data) == 1:
            return Options.from_plain(options)
        case {"float": str(name)} if len(data) == 1 and name in _SPECIAL_FLOATS:
            return float(name)
        case {"code_points": list(codes)} if len(data) == 1:
            return "".join(map(chr, codes))
    raise ValueError(f"an object with the keys {sorted(data)} stands where a value should")


def _is_long(key: Any) -> bool:
    """Return whether a key is an integer beyond 64 bits; many of these can share one hash."""
    return isinstance(key, int) and not -(2**63) <= key < 2**64


def _dict_of(pairs: list[Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("an entry of a dict is no pair of key and value")
        key, value = pair
        if type(key) is not str:  # of a vocabulary all are
            key = from_plain(key)
            if not isinstance(key, _KEYS) or _is_long(key):
                raise ValueError(f"a dict has a key that is a {type(key).__name__} or too large")
        if key in found:
            raise ValueError(f"a dict has the key {repr(key)[:40]} twice")
        found[key] = value if type(value) is int else from_plain(value)
    return found
