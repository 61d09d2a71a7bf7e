"""Labels and weights of training documents, checked."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from sk_han.utils.compat import check_sample_weight
from sk_han.utils.warnings import warn_user
from sk_han.validation.texts import is_missing

__all__ = ["as_labels", "check_labels", "document_weights", "encode_labels"]

# bool comes before number, since True is an int.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool, np.bool_),
    "number": (int, float, np.integer, np.floating),
}


def as_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """Return labels of any container as an array of shape (n_labels,).

    Strings in an array of dtype object keep this dtype. Numbers and booleans in such an array, as
    of a nullable column of pandas, get the dtype of their kind.

    Raises
    ------
    TypeError
        If labels are no strings, numbers or booleans, or of different types.
    ValueError
        If labels are missing, continuous or not one-dimensional, or end in NUL.
    """
    if y is None:
        raise ValueError(
            "This HANClassifier estimator requires y to be passed, but the target y is None."
        )
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuUS":
        labels = y
    else:
        kind = _only_kind(y, name)
        labels = np.asarray(y)
        if kind == "str" and labels.dtype == object:
            labels = _plain_strings(labels)
        elif kind == "str" and labels.dtype.kind == "U":
            labels = _plain_strings(np.asarray(y, dtype=object)).astype(str)
        else:  # NumPy's StringDType has no order
            labels = np.asarray(labels.tolist())
            if labels.dtype == np.longdouble:  # no file and no pickle of ours holds them
                labels = labels.astype(np.float64)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warn_user(
            f"A column-vector {name} was passed when a 1d array was expected. Change its shape to "
            "(n_samples,), for example with ravel().",
            DataConversionWarning,
        )
    labels = column_or_1d(labels)
    check_classification_targets(labels)
    return labels


def check_labels(y: Any, n_documents: int, name: str = "y") -> NDArray[Any]:
    """Return labels as an array of shape (n_documents,).

    Raises
    ------
    TypeError, ValueError
        As of `as_labels`, and if the number of labels is not that of the documents.
    """
    labels = as_labels(y, name)
    if len(labels) != n_documents:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_documents} documents "
            f"in {'X_val' if name == 'y_val' else 'X'}, {len(labels)} labels in {name}."
        )
    return labels


def encode_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Return the position of each label in the sorted classes, shape (n_documents,).

    Raises
    ------
    ValueError
        If a label is no class.
    """
    unseen = np.setdiff1d(labels, classes)
    if len(unseen):
        raise ValueError(
            f"{name} contains labels that are no class of this classifier: {unseen.tolist()}; "
            f"its classes are {classes.tolist()}."
        )
    return np.searchsorted(classes, labels).astype(np.int64)


def document_weights(
    sample_weight: Any, class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Compute the weight of each document in the loss: sample weight times class weight.

    Raises
    ------
    ValueError
        If `sample_weight` is negative, not finite, of another length or zero throughout, or if
        `class_weight` names a label that is no class.
    """
    weights = check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero throughout: no document is left to learn from.")
    if isinstance(class_weight, dict):
        _check_ends(class_weight, "class_weight")
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown}, which are no classes; the classes are "
                f"{classes.tolist()}."
            )
        for label, value in class_weight.items():
            is_number = isinstance(value, (int, float, np.number))
            if not is_number or not 0 <= value < np.inf or _is_beyond_floats(value):
                raise ValueError(f"class_weight of {label!r} is {value!r}; weights are >= 0.")
    if class_weight is not None:
        class_weights = compute_class_weight(class_weight, classes=classes, y=labels)
        weights = weights * class_weights[np.searchsorted(classes, labels)]
        if not weights.any():
            raise ValueError(
                f"class_weight={class_weight} leaves no document a weight to learn from."
            )
    return weights


def _only_kind(y: Any, name: str) -> str:
    """Return the kind of all labels; raise an error for missing and mixed ones."""
    # As objects: NumPy turns [1, "a"] into ["1", "a"], and [None, "a"] into ["None", "a"].
    labels = np.asarray(y, dtype=object)
    if labels.ndim == 0:
        raise ValueError(
            f"{name} must be a list or array with a label for each document; got a "
            f"{type(y).__name__}."
        )
    labels = labels.ravel()
    missing = [i for i, label in enumerate(labels) if is_missing(label) or _is_infinite(label)]
    if missing:
        raise ValueError(
            f"Input {name} contains missing labels (None, NaN or infinity), the first at position "
            f"{missing[0]}; every document needs a label."
        )
    kinds = {_kind(label) for label in labels}
    if len(kinds) > 1:
        raise TypeError(
            f"{name} mixes labels of different types: {sorted(kinds)}. Give all labels one "
            "type, for example [str(label) for label in y]."
        )
    other = kinds - _KINDS.keys()
    if other:
        kind = other.pop()
        how = "label.decode()" if kind == "bytes" else "str"
        raise TypeError(
            f"{name} holds labels of type {kind}; labels are strings, integers or "
            f"booleans, one for each document. Convert them, for example with {how}."
        )
    if kinds == {"str"}:
        _check_ends(labels, name)
    return "".join(kinds)


def _check_ends(labels: Iterable[Any], name: str) -> None:
    """Refuse strings that end in NUL: NumPy drops it, and two labels would be one class."""
    ending = [label for label in labels if isinstance(label, str) and str.endswith(label, "\0")]
    if ending:
        found = list(dict.fromkeys(map(str.__str__, ending)))
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise ValueError(
            f"{name} holds labels that end in NUL, {str(found[:3])[1:-1]}{more}: NumPy drops "
            "NUL at the end of strings, so that 'a\\0' and 'a' would be one class. Replace it, "
            "for example with label.rstrip('\\0')."
        )


def _plain_strings(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the string values of enumeration members, of which str() returns the names."""
    plain = np.empty(labels.shape, dtype=object)
    plain.ravel()[:] = [str.__str__(label) for label in labels.ravel()]
    return plain


def _is_beyond_floats(value: Any) -> bool:
    return isinstance(value, int) and value > sys.float_info.max


def _is_infinite(label: Any) -> bool:
    return isinstance(label, (float, np.floating)) and bool(np.isinf(label))


def _kind(label: Any) -> str:
    for kind, types in _KINDS.items():
        if isinstance(label, types):
            return kind
    return type(label).__name__
