"""Indicators of labels: a row for each document, a column for each label, checked."""

from __future__ import annotations

from collections import Counter
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.array_types import Flags, Floats
from sk_han.utils.containers import listed, refuse_masked
from sk_han.utils.counts import counted
from sk_han.utils.warnings import warn_user
from sk_han.validation.labels import check_number
from sk_han.validation.texts import is_missing

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def is_indicator(y: Any) -> bool:
    """Return whether labels come in several columns, or as a sparse matrix."""
    shape = getattr(y, "shape", None)
    if shape is None and _are_rows(y):
        shape = np.asarray(y, dtype=object).shape
    return hasattr(y, "tocsr") or (shape is not None and len(shape) == 2 and shape[1] != 1)


def _are_rows(y: Any) -> bool:
    """Return whether these are rows of numbers, of one length; not collections of names."""
    rows = y if isinstance(y, (list, tuple)) else ()
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return False
    return len({len(row) for row in rows}) == 1 and not any(isinstance(v, str) for v in rows[0])


def check_indicator(y: Any, n_documents: int, name: str) -> tuple[Flags, NDArray[Any] | None]:
    """Check an indicator; return it as (D, L), and the names of a DataFrame's columns, (L,)."""
    if hasattr(y, "to_pandas") and hasattr(y, "column_names"):  # a table of Arrow
        y = y.to_pandas()
    columns = getattr(y, "columns", None)
    names = None if columns is None else check_names(columns, f"The columns of {name}")
    values = _values(y, name)
    check_number(values, n_documents, f"row in {name}")
    if values.shape[1] < 2:
        raise ValueError(
            f"{name} has {counted(values.shape[1], 'column')}; an indicator of several labels has "
            "two or more. For one label give a single column of labels, of shape (n_documents,)."
        )
    return values, names


def check_names(names: Any, what: str = "classes") -> NDArray[Any]:
    """Return names of labels, (L,), in their order; a number stands for as many without names."""
    if isinstance(names, (int, np.integer)) and not isinstance(names, bool):
        names = range(max(int(names), 0))
    found = [name.item() if isinstance(name, np.generic) else name for name in names]
    kinds = {type(name) for name in found}
    if not kinds <= {str} and not kinds <= {int}:
        raise TypeError(
            f"{what} are of the types {sorted(kind.__name__ for kind in kinds)}; names of labels "
            "are all strings or all integers. Rename them, for example by str."
        )
    twice = [name for name, count in Counter(found).items() if count > 1]
    if twice:
        raise ValueError(f"{what} have {twice[0]!r} twice; each label needs a name of its own.")
    ending = [name for name in found if isinstance(name, str) and name.endswith("\0")]
    if ending:
        raise ValueError(f"{what} have {ending[0]!r}, and NumPy drops NUL at the end of a name.")
    return np.array(found)


def in_order(values: Flags, columns: NDArray[Any] | None, names: NDArray[Any], name: str) -> Flags:
    """Return the columns of an indicator, unnamed or named, in the order of the labels, (D, L)."""
    if columns is None:
        if values.shape[1] != len(names):
            raise ValueError(
                f"{name} has {counted(values.shape[1], 'column')}, and this classifier has "
                f"{counted(len(names), 'label')}; each column is one, in the order of classes_."
            )
        return values
    place = {column: number for number, column in enumerate(columns.tolist())}
    unknown = sorted(place.keys() - set(names.tolist()))
    lacking = [label for label in names.tolist() if label not in place]
    of_this = "labels of this classifier:"
    wrong = [f"has columns that are no {of_this} {listed(unknown)}"] if unknown else []
    wrong += [f"lacks columns of {of_this} {listed(lacking)}"] if lacking else []
    if wrong:
        repair = ""
        if len(lacking) == len(names):
            repair = " Give an array of the columns in their order, or fit with the columns' names."
        raise ValueError(
            f"{name} {', and '.join(wrong)}; its labels are {listed(names.tolist(), 20)}.{repair}"
        )
    return values[:, [place[label] for label in names.tolist()]]


def _values(y: Any, name: str) -> Flags:
    """Return an indicator as booleans, (D, L)."""
    refuse_masked(y, name)
    if hasattr(y, "tocsr"):
        values = y.tocsr().toarray()
    else:
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype == object:  # columns of several types, or nullable ones
        if any(is_missing(value) for value in values.ravel()):
            raise ValueError(
                f"{name} has missing values; each is 1 if the document has the label, else 0."
            )
        if all(isinstance(value, _NUMBERS) for value in values.ravel()):
            values = values.astype(np.float64)
    if values.dtype.kind not in "biuf":
        others = {type(v).__name__ for v in values.ravel() if not isinstance(v, _NUMBERS)}
        raise TypeError(
            f"{name} of shape {values.shape} holds {sorted(others)}; an indicator holds 1 "
            "where a document has the label of the column, else 0."
        )
    if values.ndim != 2:
        raise ValueError(f"{name} has the shape {values.shape}; an indicator has two dimensions.")
    other = values[(values != 0) & (values != 1)]
    if len(other):
        raise ValueError(
            f"{name} of shape {values.shape} holds {other[0]}; an indicator of several labels a "
            "document holds 0 and 1 alone. Several columns of classes or numbers cannot be learnt "
            "at once: fit one classifier for each."
        )
    return values.astype(bool)


def warn_of_labels(t: Flags, names: NDArray[Any]) -> None:
    """Warn of labels that no document has, or all have; refuse data without any label."""
    counts = t.sum(axis=0)
    if not counts.any():
        raise ValueError("y is 0 throughout: no document has a label to learn.")
    for rows, what in ((counts == 0, "no document has"), (counts == len(t), "all documents have")):
        if rows.any():
            found = names[rows].tolist()
            warn_user(
                f"{len(found):,} of {len(names):,} labels cannot be learnt, since {what} "
                f"{'it' if len(found) == 1 else 'them'}: {listed(found)}. Each gets about the same "
                "probability for all documents."
            )


def weights_of_sides(class_weight: Any, t: Flags, weights: Floats, names: NDArray[Any]) -> Floats:
    """Return the weights of documents without and with each label, (2, L)."""
    sides = np.ones((2, len(names)))
    if isinstance(class_weight, str):  # "balanced"
        with_label = weights @ t
        both = np.stack([weights.sum() - with_label, with_label])
        np.divide(weights.sum() / 2, both, out=sides, where=(both > 0).all(axis=0))
        return sides
    if isinstance(class_weight, dict):
        number = {label: i for i, label in enumerate(names.tolist())}
        unknown = [label for label in class_weight if label not in number]
        if unknown:
            raise ValueError(
                f"class_weight names {listed(unknown)}, which are no labels; the labels are "
                f"{listed(names.tolist(), 20)}. The value of a label is the weight of documents "
                "with it."
            )
        given = [(1, number[label], value) for label, value in class_weight.items()]
    else:
        is_by_label = len(class_weight) == len(names)
        if not is_by_label or not all(
            isinstance(each, dict) and each.keys() <= {0, 1} for each in class_weight
        ):
            raise ValueError(
                "A list as class_weight has a dict {0: weight, 1: weight} for each of the "
                f"{len(names)} labels; got {brief(class_weight)}."
            )
        given = [
            (side, i, value) for i, each in enumerate(class_weight) for side, value in each.items()
        ]
    for side, label, value in given:
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not 0 <= value < 1e100:
            raise ValueError(
                f"class_weight of {names.tolist()[label]!r} is {brief(value)}; weights are >= 0."
            )
        sides[side, label] = value
    unread = np.flatnonzero(~sides.any(axis=0))
    if len(unread):
        raise ValueError(
            f"class_weight of {names.tolist()[unread[0]]!r} is 0 for documents with the label and "
            "without it, so nothing is left to learn from; give one of them a weight, or leave the "
            "column out of y."
        )
    return sides
