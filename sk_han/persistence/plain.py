"""Plain Python values as JSON, and back without loss.

JSON has no tuples, no keys but strings and no infinity, so an object with a single key says what
it is: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}`` and ``{"float": "inf"}``.
"""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import numpy as np

__all__ = ["from_plain", "to_plain"]

_KEYS = (str, int, float, NoneType, np.bool_, np.number)
_SPECIAL_FLOATS = ("nan", "inf", "-inf")


def to_plain(value: Any) -> Any:
    """Give a value in JSON's types.

    Parameters
    ----------
    value : None, bool, int, float, str, NumPy scalar, or list, tuple or dict of such
        NumPy scalars become Python's numbers.

    Raises
    ------
    TypeError
        If the value, or one inside it, is anything else.

    Examples
    --------
    >>> from sk_han.persistence.plain import from_plain, to_plain
    >>> to_plain({1: (2.5, None)})
    {'dict': [[1, {'tuple': [2.5, None]}]]}
    >>> from_plain(to_plain({1: (2.5, None)}))
    {1: (2.5, None)}
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str.__str__(value)  # str() of a member of an Enum is its name
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, _KEYS):
                raise TypeError(f"a key that is a {type(key).__qualname__} is no plain value")
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} is no plain value")


def from_plain(data: Any) -> Any:
    """Give the value that `to_plain` made `data` from.

    Raises
    ------
    TypeError, ValueError
        If `data` is nothing that `to_plain` gives.
    """
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"tuple": list(items)} if len(data) == 1:
            return tuple(from_plain(item) for item in items)
        case {"dict": list(pairs)} if len(data) == 1:
            return _dict_of(pairs)
        case {"float": str(name)} if len(data) == 1 and name in _SPECIAL_FLOATS:
            return float(name)
    raise ValueError(f"an object with the keys {sorted(data)} stands where a value should")


def _is_long(key: Any) -> bool:
    """Whether it is an integer beyond 64 bits: of such, any number may share a hash."""
    return isinstance(key, int) and not -(2**63) <= key < 2**64


def _dict_of(pairs: list[Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("an entry of a dict is no pair of key and value")
        key = from_plain(pair[0])
        if not isinstance(key, _KEYS) or _is_long(key):
            raise ValueError(f"a dict has a key that is a {type(key).__name__} or too large")
        if key in found:
            raise ValueError(f"a dict has the key {repr(key)[:40]} twice")
        found[key] = from_plain(pair[1])
    return found
