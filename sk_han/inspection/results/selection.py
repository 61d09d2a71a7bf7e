"""Positions and true labels that users hand to a list of explanations, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.utils.containers import label_list

__all__ = ["checked_labels", "checked_positions"]


def checked_positions(index: Any, n: int) -> list[int]:
    """Return the positions that integers or booleans choose among n explanations.

    Examples
    --------
    >>> from sk_han.inspection.results.selection import checked_positions
    >>> checked_positions([2, -1], 4), checked_positions([True, False, True], 3)
    ([2, 3], [0, 2])
    """
    chosen = np.asarray(index)
    if chosen.ndim != 1:
        raise TypeError(
            "An ExplanationList takes an integer, a slice, or a sequence of integers or booleans; "
            f"got {index!r}."
        )
    if len(chosen) == 0:
        return []
    if chosen.dtype == object and all(isinstance(one, (bool, np.bool_)) for one in chosen):
        chosen = chosen.astype(bool)  # a nullable column of pandas
    if chosen.dtype == bool:
        if len(chosen) != n:
            raise IndexError(
                f"A boolean index needs one value for each of the {n} explanations; got "
                f"{len(chosen)}."
            )
        return np.flatnonzero(chosen).tolist()
    if not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError(
            "An ExplanationList takes integers or booleans as an index; got values of the type "
            f"{chosen.dtype}, the first of them {chosen[0]!r}."
        )
    outside = chosen[(chosen < -n) | (chosen >= n)]
    if len(outside):
        raise IndexError(f"There are {n} explanations, and none at position {outside[0]}.")
    return (chosen % n).tolist()


def checked_labels(y_true: Any, explanations: Sequence[DocumentExplanation]) -> list[Any]:
    """Return true labels, one for each explanation, each of them a class.

    Raises
    ------
    ValueError
    """
    n_documents = len(explanations)
    true = label_list(y_true)
    if len(true) != n_documents or any(map(np.ndim, true)):
        raise ValueError(
            f"y_true must hold one label for each of the {n_documents} documents, "
            f"shape ({n_documents},); got the shape {np.asarray(y_true, dtype=object).shape}."
        )
    for i, (label, explanation) in enumerate(zip(true, explanations, strict=True)):
        classes = explanation.classes.tolist()
        if label not in classes:
            raise ValueError(
                f"y_true[{i}] is {label!r}, which is none of the classes {classes}. Give labels of "
                "classes_, and leave out documents of classes that the classifier was not fitted "
                "on."
            )
    return true
