"""The class of each document that is explained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.containers import label_list

__all__ = ["class_numbers", "wrong_length"]


def class_numbers(
    target: Any, classes: NDArray[Any], n_documents: int | None
) -> NDArray[np.int64] | int:
    """Return the class numbers of target labels.

    Parameters
    ----------
    target : label, array-like of n_documents labels, or None
    classes : ndarray of shape (n_classes,)
    n_documents : int or None
        None where it is not known yet.

    Returns
    -------
    ndarray of int64, shape (n_documents,), or int
        One number is for all documents; -1 is the predicted class.

    Raises
    ------
    ValueError
        If a label is no class, or if the number of labels is not that of the documents.
    """
    if target is None:
        return -1
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    if hasattr(target, "as_py"):  # one of Arrow, which NumPy takes for a sequence
        target = target.as_py()
    is_one = not isinstance(target, (list, tuple)) and np.ndim(target) == 0
    labels = label_list(target)
    numbers = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        number = _number(label, number_of)
        if number is None:
            name = "target" if is_one else f"target[{i}]"
            raise ValueError(
                f"{name} is {label!r}; the classes are {classes.tolist()}. Give one of them for "
                "all documents, or a list of one for each."
            )
        numbers[i] = number
    if is_one:
        return int(numbers[0])
    if n_documents not in (None, len(numbers)):
        raise wrong_length(len(numbers), f"{n_documents} documents")
    return numbers


def wrong_length(n_labels: int, documents: str) -> ValueError:
    """Return the error for a number of targets that is not that of the documents."""
    return ValueError(
        f"target has {n_labels} labels for {documents}; give one label for each, or one for all."
    )


def _number(label: Any, number_of: dict[Any, int]) -> int | None:
    try:
        return number_of.get(label)
    except TypeError:  # a list or a dict, which has no hash
        return None
