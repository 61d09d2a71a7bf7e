"""Labels in a fitted state, which prediction assumes to be distinct, and classes sorted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.storage.schema import Sizes


def labels(value: Any, where: str, sizes: Sizes) -> None:
    """Check sorted labels: a kind of a schema, whose length is K."""
    found = _checked(value, where, sizes)
    if not np.all(value[:-1] < value[1:]):
        raise ValueError(f"its {where} are not sorted and distinct")
    if any(isinstance(label, float) and not math.isfinite(label) for label in found):
        raise ValueError(f"its {where} are not finite")


def label_names(value: Any, where: str, sizes: Sizes) -> None:
    """Check names of labels in any order: a kind of a schema, whose length is K."""
    found = _checked(value, where, sizes)
    if any(type(name) not in (str, int) for name in found):
        raise ValueError(f"its {where} are not all strings or all integers")
    if len(set(found)) < len(found):
        raise ValueError(f"its {where} are not distinct")


def _checked(value: Any, where: str, sizes: Sizes) -> list[Any]:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) == 0:
        raise ValueError(f"its {where} are no array of labels")
    _check_bits(value, where)
    found: list[Any] = value.tolist()
    kinds = {float if type(label) is int else type(label) for label in found}
    if len(kinds) != 1 or not kinds <= {str, bool, float}:
        raise ValueError(f"its {where} are not all strings, all numbers or all booleans")
    if sizes.setdefault("K", len(value)) != len(value):
        raise ValueError(f"its {where} are {len(value)}, and elsewhere in it K is {sizes['K']}")
    return found


def _check_bits(array: NDArray[Any], where: str) -> None:
    """Check that bytes are characters or truth values, which NumPy does not check."""
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), array.dtype.byteorder + "u4")
        if codes.max(initial=0) > 0x10FFFF:
            raise ValueError(f"its {where} hold what is no character")
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ValueError(f"its {where} hold what is neither true nor false")
