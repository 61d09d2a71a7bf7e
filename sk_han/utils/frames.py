"""Tables of pandas that hold any string.

pandas 3 keeps strings as UTF-8, which has no lone surrogates; texts of broken files have some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(columns: Mapping[str, Any], door: str) -> DataFrame:
    """Return a pandas DataFrame of columns, those of strings as objects; the door asked for it."""
    pandas = import_optional("pandas", None, door)
    return pandas.DataFrame(
        {
            name: pandas.Series(values, dtype=column_dtype(values))
            for name, values in columns.items()
        }
    )


def column_dtype(values: Iterable[Any]) -> type | None:
    """Return `object` if there are strings among the values, else None: pandas may choose."""
    return object if any(isinstance(value, str) for value in values) else None
