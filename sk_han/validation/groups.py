"""Groups of documents that stay together, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.containers import label_list
from sk_han.utils.warnings import warn_user
from sk_han.validation.texts import is_missing


def check_groups(groups: Any, n_documents: int) -> NDArray[np.int64]:
    """Return the number of each document's group, (D,)."""
    names = label_list(groups)
    if len(names) != n_documents:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_documents} documents "
            f"in X, {len(names)} groups."
        )
    missing = [row for row, name in enumerate(names) if is_missing(name)]
    if missing:
        raise ValueError(
            f"groups has a missing value at position {missing[0]}; give a document that belongs to "
            "none a name of its own."
        )
    number: dict[Any, int] = {}
    try:
        numbers = [number.setdefault(name, len(number)) for name in names]
    except TypeError as error:
        raise TypeError(
            f"groups are numbers or strings, one for each document: {error}."
        ) from error
    if len(number) == 1:
        warn_user(
            "All documents are of one group, so none can be held out: the weights of the last "
            "epoch are kept, and scales are typical values."
        )
    return np.array(numbers, dtype=np.int64)
