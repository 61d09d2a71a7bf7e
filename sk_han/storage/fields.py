"""Check of the keys of objects in a stored description."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["fields_of"]


def fields_of(
    data: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Return `data` if it is an object with these keys and no others.

    Raises
    ------
    ValueError
        If it is not; the message names `what` it is and the keys.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{what} is a {type(data).__name__}, and should be an object")
    lacking = [name for name in required if name not in data]
    if lacking:
        raise ValueError(f"{what} lacks {lacking}")
    unknown = [name for name in data if name not in {*required, *optional}]
    if unknown:
        shown = [name[:40] for name in unknown[:5]]
        raise ValueError(f"{what} has {shown}, which this release of sk_han does not know")
    return data
