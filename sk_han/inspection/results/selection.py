"""Positions and true labels that users hand to a list of explanations, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.utils.containers import label_list, plain_label
from sk_han.validation.indicators import check_indicator, in_order, is_indicator


def checked_positions(index: Any, n: int) -> list[int]:
    """Return the positions that integers or booleans choose among n explanations."""
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
    """Return true labels, a class for each explanation; of several labels a tuple for each."""
    n_documents = len(explanations)
    if n_documents and explanations[0].labels is not None:
        return _label_sets(y_true, explanations[0].classes, n_documents)
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


def _label_sets(y_true: Any, classes: NDArray[Any], n_documents: int) -> list[tuple[Any, ...]]:
    """Return the true labels of each document, of an indicator or of tuples of names."""
    if isinstance(y_true, (list, np.ndarray)) and all(isinstance(row, tuple) for row in y_true):
        found = [tuple(map(plain_label, row)) for row in y_true]
        unknown = {label for row in found for label in row} - set(classes.tolist())
        if len(found) != n_documents or unknown:
            raise ValueError(
                f"y_true must hold the labels of each of the {n_documents} documents, of "
                f"{classes.tolist()[:20]}; got {len(found)} tuples, and unknown are "
                f"{list(unknown)[:5]}."
            )
        return [tuple(label for label in classes.tolist() if label in row) for row in found]
    if not is_indicator(y_true):
        raise ValueError(
            "A model of several labels a document has an indicator as y_true, of shape "
            f"({n_documents}, {len(classes)}): 1 where a document has the label of the column, "
            f"else 0; got a {type(y_true).__name__}."
        )
    t = in_order(*check_indicator(y_true, n_documents, "y_true"), classes, "y_true")
    return [tuple(classes[row].tolist()) for row in t]
