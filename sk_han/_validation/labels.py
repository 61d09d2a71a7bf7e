"""Checks and conversions of the labels, weights and groups of documents."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import normal_form
from sk_han._utils.containers import Flags, Floats, Integers, label_list, listed, plain_label
from sk_han._utils.messages import (
    a_kind,
    agreeing,
    in_one_line,
    plural,
    refuse_masked,
    warn_user,
)
from sk_han._validation.cells import ERRORS, is_blank
from sk_han._validation.documents import WRITTEN_MISSING, is_missing

# Arguments of `fit`, other than y, that have a value for each document.
OF_DOCUMENTS = ("sample_weight", "groups")
_COLLECTIONS = (list, tuple, set, frozenset, dict, np.ndarray)

# bool comes before number, since True is an int.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool, np.bool_),
    "number": (int, float, np.integer, np.floating),
}

# Labels of a table that are whole numbers, which pandas writes as 1.0 if another one is missing.
# "007" is a name, and so is a number that may not fit into 64 bits.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?")

_SHOWN = 20  # classes in a message
_IN_A_TABLE = "Correct it, leave the line out, or fit a model to documents of this class, too."

# The squares of larger numbers, divided by weights, could overflow float64.
_FARTHEST = 1e100

# `warn_of_conflicts` ignores short texts, since a text such as "ok" may have two labels for good
# reasons. In 14,640 tweets about airlines, 0.2 % of the documents are in conflict.
_SHORTEST, _DOUBTFUL_SHARE, _ENOUGH_DOCUMENTS = 10, 0.01, 50


def as_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """Convert labels in any container to an array of shape (n_labels,)."""
    # A Scorer imports this module, through the targets, and works without scikit-learn.
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import type_of_target

    if y is None:
        raise ValueError(
            "This HANClassifier estimator requires y to be passed, but the target y is None."
        )
    refuse_masked(y, name)
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuU":
        array = read = y
    else:
        n_dimensions = np.asarray(y, dtype=object).ndim
        if n_dimensions == 0:
            raise ValueError(
                f"{name} must be a list or array of labels, such as ['bad', 'good']; got "
                f"{a_kind(y)}."
            )
        cells = read_labels(label_list(y), lambda i: f"{name}[{i}]")
        # NumPy makes no array of a list that holds labels and lists of one label.
        is_list = isinstance(y, (list, tuple)) and n_dimensions == 1
        array, read = np.asarray(cells if is_list else y), np.array(cells)
        # `classes_` keeps the dtype object of a column of pandas.
        if array.dtype == object and read.dtype.kind == "U":
            read = read.astype(object)
        # NumPy converts integers beyond 64 bits to floats, which would merge several classes.
        is_lost = read.dtype.kind in "fO" and {*map(type, cells)} == {int}
        # pandas 2 turns nullable columns into arrays of objects, so these may still be numbers.
        is_number = array.dtype == object and read.dtype.kind not in "UO"
        is_unknown = is_number and type_of_target(y) == "unknown"
        if array.dtype.kind == "T" or is_unknown or is_lost:
            dtype = "str" if is_lost or read.dtype.kind == "U" else read.dtype
            raise ValueError(
                f"Unknown label type: {name} holds {a_kind(cells[0])} in an array of dtype "
                f"{array.dtype}, which scikit-learn refuses. Convert it with astype({dtype})."
            )
        # The schema of fitted state has no long doubles.
        if read.dtype == np.longdouble:
            read = read.astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_user(
            f"A column-vector {name} was passed when a 1d array was expected. Change its shape to "
            "(n_samples,), for example with ravel().",
            DataConversionWarning,
        )
    return column_or_1d(read)


def read_labels(cells: Sequence[Any], place: Callable[[int], str]) -> list[Any]:
    """Convert labels to Python's types, all of one kind: strings, whole numbers or booleans.

    Errors name the `place` of a label, such as a line of a file, by its position.
    """
    labels = [plain_label(cell) for cell in cells]
    if all(isinstance(label, str) for label in labels):
        # str() of a member of an Enum would return its name, not its value.
        labels = [str.__str__(label) for label in labels]
        if ending := [i for i, label in enumerate(labels) if label.endswith("\0")]:
            raise ValueError(
                f"{place(ending[0])} ends in NUL, {labels[ending[0]]!r}: NumPy drops it, so two "
                "labels could become one class. Replace it, for example with label.rstrip('\\0')."
            )
        return labels
    without = [i for i, label in enumerate(labels) if is_missing(label) or _is_infinite(label)]
    if without:
        raise ValueError(
            f"{place(without[0])} is {labels[without[0]]}, and every document needs a label: "
            f"{plural(len(without), 'label')} of {len(labels):,} {agreeing(len(without), 'are')} "
            "missing. Leave these documents out, or give their texts as X_unlabelled."
        )
    refuse_collections(labels, place)
    first = _kind(labels[0])
    for i, label in enumerate(labels):
        kind = _kind(label)
        if not kind == first in _KINDS:
            how = "label.decode()" if kind == "bytes" else "str"
            raise TypeError(
                f"{place(i)} is {in_one_line(repr(label), 60)}, of type {kind}; labels are all "
                f"strings, all integers or all booleans, and the first is of type {first}. Convert "
                f"them, for example with {how}."
            )
        if isinstance(label, float) and not label.is_integer():
            raise ValueError(
                f"Unknown label type: continuous. {place(i)} is {label}; numbers that name classes "
                "are whole. Use HANRegressor to predict numbers."
            )
    return labels


def list_items(cell: Any) -> list[Any] | None:
    """Return the labels in a cell that is a list, or a string that spells one; otherwise None.

    A list may also be spelled ``{"choices": ["a", "b"]}``, as Label Studio does.
    """
    if isinstance(cell, str):
        text, cell = cell.strip(), None
        if text[:1] + text[-1:] in ("[]", "()", "{}"):
            # NumPy writes the items of an array without commas.
            text = re.sub(r"(['\"])\s+(['\"])", r"\1, \2", text)
            for read in (ast.literal_eval, json.loads):
                with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                    cell = read(text)
    if isinstance(cell, dict) and [*cell] == ["choices"]:
        cell = cell["choices"]
    return [*cell] if isinstance(cell, (list, tuple, set)) else None


def label_of_cell(cell: Any) -> Any:
    """Return the label in a cell of a table; None if it is blank, an error or an empty list.

    A list of several labels is returned unchanged.
    """
    items = list_items(cell)
    if items is not None and len(items) < 2:
        cell = items[0] if items else None
    # pandas turns a column of whole numbers into floats if one is missing.
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return None if is_blank(cell) or str(cell).strip() in ERRORS else cell


def table_labels(cells: Sequence[Any], place: Callable[[int], str], *, typed: bool) -> NDArray[Any]:
    """Convert the cells of a table to labels; without types, as in CSV, their kind is inferred."""
    labels = [label_of_cell(cell) for cell in cells]
    if not typed:
        labels = [label if label is None else label_text(label) for label in labels]
    labels = read_labels(labels, place)
    if typed and type(labels[0]) is not int:
        return np.array(labels)
    return label_array([*map(label_text, labels)])


def label_array(names: Sequence[str]) -> NDArray[Any]:
    """Convert names to integers or booleans if every name spells one, else to strings."""
    if all(map(_WHOLE.fullmatch, names)):
        return np.array([int(name.partition(".")[0]) for name in names], dtype=np.int64)
    if {name.lower() for name in names} <= {"true", "false"}:
        return np.array([name.lower() == "true" for name in names])
    return np.array(names)


def labels_in(cell: Any, separator: str, where: str) -> list[str]:
    """Return the names of the labels in a cell, which is a list or a string with separators."""
    if label_of_cell(cell) is None:
        return []
    values = list_items(cell)
    if values is None:
        values = cell.split(separator) if isinstance(cell, str) else [cell]
    if not all(type(value) in (str, int, bool) for value in values):
        raise ValueError(f"{where} holds {cell!r}; labels are a string, or a list of strings.")
    return [name for value in values if (name := label_text(value).strip())]


def check_labels(y: Any, n_documents: int, name: str = "y") -> NDArray[Any]:
    """Convert the labels of D documents to an array of shape (D,); see `as_labels`."""
    labels = as_labels(y, name)
    check_number(labels, n_documents, f"label in {name}")
    return labels


def check_numbers(y: Any, n_documents: int | None, name: str = "y") -> Floats:
    """Convert the target numbers of documents to an array of finite float64, (D,)."""
    from sklearn.utils import column_or_1d

    if y is None:
        raise ValueError(
            "This HANRegressor estimator requires y to be passed, but the target y is None."
        )
    refuse_masked(y, name)
    # Numbers and lists in one list would be NumPy's error.
    dtype = object if isinstance(y, (list, tuple)) else None
    values = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype)
    if values.ndim > 1 and values.shape[1] != 1:
        raise ValueError(
            f"{name} has {values.shape[1]:,} columns, and a HANRegressor predicts one number for "
            "each document. Fit a sklearn.multioutput.MultiOutputRegressor(HANRegressor())."
        )
    values = column_or_1d(values, warn=True)
    if values.dtype.kind not in "biuf":
        strange = [x for x in values.tolist() if not isinstance(x, (Real, Decimal, np.bool_))]
        if strange:
            raise ValueError(
                f"{name} has {in_one_line(repr(strange[0]), 60)}, which is not a number. Give "
                "numbers, or fit a HANClassifier to labels."
            )
    numbers: Floats = values.astype(np.float64)
    if not (np.abs(numbers) <= _FARTHEST).all():
        row = int(np.argmin(np.abs(numbers) <= _FARTHEST))
        raise ValueError(
            f"{name} contains NaN, infinity or a value too large for {numbers.dtype!r}: "
            f"{name}[{row}] is {numbers[row]}. Leave out documents without a number."
        )
    if n_documents is not None:
        check_number(numbers, n_documents, f"number in {name}")
    return numbers


def check_number(values: Any, n_documents: int, what: str) -> None:
    """Raise a ValueError unless there is a value for each document.

    `what` describes the values, and begins with the noun for one of them: "label in y_val".
    """
    if len(values) != n_documents:
        name, *where = what.split(" ", 1)
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{plural(n_documents)} in {'X_val' if what.endswith('y_val') else 'X'}, "
            f"{' '.join([plural(len(values), name), *where])}."
        )


class ClassNames:
    """A map from labels to the classes of a model, compared by value.

    A table in CSV has only text, so the label "1" stands for the class 1. If `grows` is set,
    `lookup` appends unknown labels to the classes.
    """

    grows = False

    def __init__(self, labels: list[Any]) -> None:
        self.labels = list(labels)
        self.names = [label_text(label) for label in labels]
        self._kind: type = type(next(iter(labels), None))
        keys = zip(labels, map(self._value, self.names), strict=True)
        self._numbers = {key: number for number, pair in enumerate(keys) for key in pair}

    def number(self, label: Any) -> int | None:
        """Return the number of the class that a label stands for, or None.

        "True" of pandas and "true" of JSON are the same boolean, "1.0" and "1" the same number.
        """
        is_whole = isinstance(label, float) and label.is_integer()
        # pandas turns a column of whole numbers into floats if one is missing.
        text = f"{label:.0f}" if is_whole else str(label)
        # A list of labels is not hashable, and is no class.
        with suppress(TypeError):
            for key in (label, text, self._value(label_text(label))):
                if key in self._numbers:
                    return self._numbers[key]
        return None

    def lookup(self, label: Any, where: str, repair: str = _IN_A_TABLE) -> int:
        """Return the number of the class that a label, found at `where`, stands for, or raise."""
        number = self.number(label)
        if number is None and self.grows:
            value, number = self._value(label_text(label)), len(self.names)
            self._numbers[value] = number
            self.names.append(label_text(label))
            self.labels.append(value if type(value) is self._kind else label_text(label))
        elif number is None:
            names = listed(self.names, _SHOWN, lambda name: repr(name[:40]))
            raise ValueError(
                f"{where}: {label_text(label)!r} is no class of the model; it has {names}. {repair}"
            )
        return number

    def _value(self, name: str) -> Any:
        """Return the value by which a name of a class is compared."""
        if self._kind is bool:
            return name.lower()
        number = as_number(name) if self._kind in (int, float) else None
        return name if number is None else number


def as_number(name: str) -> float | None:
    """Return the number that a name spells in Python's notation, or None; NaN is no number."""
    if name.isascii() and "_" not in name:
        for number in (int, float):
            with suppress(ValueError):
                return None if number(name) != number(name) else number(name)
    return None


def label_text(label: Any) -> str:
    """Return a label as text, with booleans in lower case as in JSON."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def unknown_labels_note(n_documents: int, labels: list[Any]) -> str:
    """Return a note on documents whose labels are not labels of the model."""
    return (
        f"{plural(n_documents)} {agreeing(n_documents, 'have')} a label that the model does not "
        f"know, {listed(labels)}: it cannot be right there, and each counts as a mistake."
    )


def class_numbers(labels: NDArray[Any], classes: list[Any]) -> Integers:
    """Encode labels (D,) as positions in the classes, compared by value; unknown ones are -1."""
    distinct, places = np.unique(labels, return_inverse=True)
    names = ClassNames(classes)
    numbers = [names.number(label) for label in distinct.tolist()]
    return np.array([-1 if number is None else number for number in numbers], np.int64)[places]


def encode_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> Integers:
    """Encode labels (D,) as positions in the classes, (D,); raise a ValueError for unknown ones."""
    numbers = class_numbers(labels, classes.tolist())
    unseen = np.unique(labels[numbers < 0])
    if len(unseen):
        raise ValueError(
            f"{name} contains labels that are not classes of this classifier: "
            f"{listed(unseen.tolist())}; its classes are {listed(classes.tolist(), 20)}."
        )
    return numbers


def document_weights(
    sample_weight: Any, class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]
) -> Floats:
    """Compute the weight of each document in the loss, (D,): sample weight times class weight."""
    from sk_han._utils.compat import check_sample_weight

    refuse_masked(sample_weight, "sample_weight")
    if isinstance(sample_weight, (dict, str)):
        raise TypeError(
            f"sample_weight has a number for each document; got {sample_weight!r}. Weights of "
            "classes are the parameter HANClassifier(class_weight=...)."
        )
    try:
        weights = check_sample_weight(
            sample_weight, labels, dtype=np.float64, ensure_non_negative=True
        )
    except (ValueError, OverflowError) as error:
        # Texts given as the third positional argument would be quoted whole in NumPy's error.
        if "string to float" in str(error):
            raise ValueError(
                "sample_weight, the third argument, has a number for each document; got strings. "
                "Name the other arguments: fit(X, y, X_unlabelled=texts)."
            ) from None
        raise ValueError(
            f"sample_weight: {str(error).rstrip('.!')}; it takes a finite number >= 0 for each of "
            f"{plural(len(labels))}."
        ) from error
    if not weights.any():
        raise ValueError("sample_weight is zero throughout: no document is left to learn from.")
    if class_weight is not None:
        with np.errstate(over="ignore", under="ignore"):
            weights = weights * _class_weights(class_weight, labels, classes)
        if not weights.any():
            raise ValueError(f"class_weight={class_weight} leaves all documents without weight.")
    smallest, largest = weights[weights > 0].min(), weights.max()
    if largest / _FARTHEST > smallest:
        raise ValueError(
            f"Weights of documents range from {smallest:.3g} to {largest:.3g}, too far to compute "
            f"with: sample_weight times class_weight may differ by a factor of {_FARTHEST:g}. "
            "Give a weight of 0 to leave a document out."
        )
    return weights


def _class_weights(class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return the class weight of each document, (D,)."""
    if isinstance(class_weight, list):
        raise ValueError(
            f"class_weight={class_weight!r}: a list is for several labels per document. Give a "
            "dict, such as {label: weight}, or 'balanced'."
        )
    # "balanced" balances the classes that have documents: a fold of a search may lack one.
    if not isinstance(class_weight, dict):
        _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
        balanced: Floats = len(labels) / (len(counts) * counts.astype(np.float64))
        return balanced[numbers]
    for label, value in class_weight.items():
        is_weight = isinstance(value, (int, float, np.number)) and 0 <= value < np.inf
        is_beyond_floats = isinstance(value, int) and value > sys.float_info.max
        if not is_weight or is_beyond_floats:
            raise ValueError(f"class_weight of {label!r} is {value!r}; weights are >= 0.")
    names = classes.tolist()
    places = map(ClassNames(names).number, class_weight)
    by_label = {
        _plain(label) if place is None else names[place]: float(value)
        for place, (label, value) in zip(places, class_weight.items(), strict=True)
    }
    unknown = [label for label in by_label if label not in names]
    without = [label for label in names if label not in by_label]
    # As in scikit-learn, unknown labels alone are no error, since a fold of a search may lack the
    # class that has a weight.
    if unknown and without:
        raise ValueError(
            f"class_weight names {listed(unknown)}, which are not classes, and has no weight of "
            f"{listed(without)}; the classes are {listed(names, 20)}."
        )
    weights = np.array([by_label.get(label, 1.0) for label in names])
    return weights[class_numbers(labels, names)]


def refuse_collections(y: Any, name: str | Callable[[int], str]) -> None:
    """Raise a TypeError if a document has a collection of labels, unless y is an indicator."""
    items: Any = y if isinstance(y, (list, tuple)) else ()
    if len(getattr(y, "shape", ())) == 1:
        items = np.asarray(y, dtype=object)
    if _are_rows(y):
        return
    for i, item in enumerate(items):
        if isinstance(plain_label(item), _COLLECTIONS):
            raise TypeError(
                f"{name(i) if callable(name) else f'{name}[{i}]'} holds a collection of labels, "
                f"{in_one_line(repr(item), 60)}. Give several labels per document as an indicator: "
                "binarizer = sklearn.preprocessing.MultiLabelBinarizer(); Y = "
                "binarizer.fit_transform(y), on the command line by --separator ';'."
            )


def _plain(label: Any) -> Any:
    return str.__str__(label) if isinstance(label, str) else label


def _is_infinite(label: Any) -> bool:
    return isinstance(label, (float, np.floating)) and bool(np.isinf(label))


def _kind(label: Any) -> str:
    kinds = (kind for kind, types in _KINDS.items() if isinstance(label, types))
    return next(kinds, type(label).__name__)


def check_groups(groups: Any, n_documents: int) -> Integers:
    """Encode the group of each document as an integer, (D,)."""
    names = label_list(groups)
    check_number(names, n_documents, "group")
    missing = [row for row, name in enumerate(names) if is_missing(name)]
    if missing:
        raise ValueError(
            f"groups has a missing value at position {missing[0]}; give a document without a group "
            "a name of its own."
        )
    number: dict[Any, int] = {}
    try:
        numbers = [number.setdefault(name, len(number)) for name in names]
    except TypeError as error:
        raise TypeError(f"groups are numbers or strings, one per document: {error}.") from error
    return np.array(numbers, dtype=np.int64)


def check_several_groups(groups: Any, n_documents: int, needed: str) -> Integers:
    """Encode groups, (D,), of which there must be several; `needed` says why, for the message."""
    numbers = check_groups(groups, n_documents)
    if not numbers.any():
        raise ValueError(f"All documents are of one group, {label_list(groups)[0]!r}; {needed}.")
    return numbers


_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def is_indicator(y: Any) -> bool:
    """Return whether labels have several columns, or are a sparse matrix."""
    shape = getattr(y, "shape", None)
    if shape is None and _are_rows(y):
        shape = np.asarray(y, dtype=object).shape
    return hasattr(y, "tocsr") or (shape is not None and len(shape) == 2 and shape[1] != 1)


def _are_rows(y: Any) -> bool:
    """Return whether y is a list of rows of numbers of one length, not collections of names."""
    rows = y if isinstance(y, (list, tuple)) else ()
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        return False
    return len({len(row) for row in rows}) == 1 and not any(isinstance(v, str) for v in rows[0])


def check_indicator(y: Any, n_documents: int, name: str) -> tuple[Flags, NDArray[Any] | None]:
    """Check an indicator; return it as (D, L), and the column names of a DataFrame, (L,)."""
    refuse_collections(y, name)
    # A table of Arrow has these two.
    if hasattr(y, "to_pandas") and hasattr(y, "column_names"):
        y = y.to_pandas()
    columns = getattr(y, "columns", None)
    names = None if columns is None else check_names(columns, f"The columns of {name}")
    values = _values(y, name)
    check_number(values, n_documents, f"row in {name}")
    if values.shape[1] < 2:
        raise ValueError(
            f"{name} has {plural(values.shape[1], 'column')}; an indicator of several labels has "
            "two or more. For one label per document, give labels of shape (n_documents,)."
        )
    return values, names


def check_names(names: Any, what: str = "classes") -> NDArray[Any]:
    """Check label names, (L,), and keep their order; an integer L stands for the names 0 to L-1."""
    if isinstance(names, (int, np.integer)) and not isinstance(names, bool):
        names = range(max(int(names), 0))
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    kinds = {type(name) for name in names}
    if not kinds <= {str} and not kinds <= {int}:
        raise TypeError(
            f"{what} are of the types {sorted(kind.__name__ for kind in kinds)}; names of labels "
            "are all strings or all integers. Rename them, for example by str."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{what} have {twice[0]!r} twice; each label needs a name of its own.")
    ending = [name for name in names if isinstance(name, str) and name.endswith("\0")]
    if ending:
        raise ValueError(f"{what} have {ending[0]!r}, and NumPy drops NUL at the end of a name.")
    return np.array(names)


def in_label_order(
    values: Flags, columns: NDArray[Any] | None, names: NDArray[Any], name: str
) -> Flags:
    """Return an indicator with its columns in the order of the labels, (D, L).

    `columns` are the names of its columns, if it has any.
    """
    if columns is None:
        if values.shape[1] != len(names):
            raise ValueError(
                f"{name} has {plural(values.shape[1], 'column')}, and this classifier has "
                f"{plural(len(names), 'label')}; give a column for each, in the order of classes_."
            )
        return values
    place = {column: number for number, column in enumerate(columns.tolist())}
    unknown = sorted(place.keys() - set(names.tolist()))
    lacking = [label for label in names.tolist() if label not in place]
    of_this = "labels of this classifier:"
    wrong = [f"has columns that are not {of_this} {listed(unknown)}"] if unknown else []
    wrong += [f"lacks columns of {of_this} {listed(lacking)}"] if lacking else []
    if wrong:
        repair = ""
        if len(lacking) == len(names):
            repair = " Give an array of the columns in their order, or fit with the columns' names."
        raise ValueError(
            f"{name} {', and '.join(wrong)}; its labels are {listed(names.tolist(), 20)}.{repair}"
        )
    return values[:, [place[label] for label in names.tolist()]]


def append_unknown(
    values: Flags, columns: NDArray[Any] | None, names: NDArray[Any], name: str
) -> tuple[Flags, list[Any]]:
    """Order the columns of an indicator by `in_label_order`, and append those of unknown labels.

    Also return the names of the unknown labels.
    """
    if columns is None or not np.isin(names, columns).all():
        return in_label_order(values, columns, names, name), []
    is_label = np.isin(columns, names)
    ordered = in_label_order(values[:, is_label], columns[is_label], names, name)
    return np.hstack([ordered, values[:, ~is_label]]), columns[~is_label].tolist()


def _values(y: Any, name: str) -> Flags:
    """Convert an indicator to booleans, (D, L)."""
    refuse_masked(y, name)
    if hasattr(y, "tocsr"):
        values = y.tocsr().toarray()
    else:
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    # Columns of several types, or nullable ones, are arrays of objects.
    if values.dtype == object:
        missing = np.array([is_missing(cell) for cell in values.flat], bool).reshape(values.shape)
        values = np.where(missing, np.nan, values)
        if all(isinstance(value, _NUMBERS) for value in values.ravel()):
            values = values.astype(np.float64)
    if values.dtype.kind not in "biuf":
        others = {type(v).__name__ for v in values.ravel() if not isinstance(v, _NUMBERS)}
        raise TypeError(
            f"{name} of shape {values.shape} holds {sorted(others)}; an indicator holds 1 "
            "where a document has the label of the column, else 0. Convert it by astype(int)."
        )
    if values.ndim != 2:
        raise ValueError(f"{name} has the shape {values.shape}; an indicator has two dimensions.")
    other = values[(values != 0) & (values != 1)]
    if len(other) and (np.isnan(other) | (other == -1)).all():
        raise ValueError(
            f"{name} of shape {values.shape} holds {other[0]:g}, as where labels are missing. Give "
            "0 where a document lacks a label, or leave out documents with unknown labels."
        )
    if len(other):
        raise ValueError(
            f"{name} of shape {values.shape} holds {other[0]}; an indicator of several labels "
            "holds 0 and 1 alone. For several columns of classes, fit one classifier for each."
        )
    return values.astype(bool)


def warn_of_order(X: Any, y: Any, name: str, documents: str = "X") -> None:
    """Warn if labels or weights have the pandas index of X in another order."""
    index: Any = getattr(X, "index", None)
    other: Any = getattr(y, "index", None)
    # A list has a method `index`, too. Only a permutation is suspicious: rows are matched by
    # position, and it is common to filter X and to reset the index of y.
    if not hasattr(index, "is_unique") or not hasattr(other, "is_unique"):
        return
    if len(index) != len(other) or index.equals(other):
        return
    if index.nlevels != other.nlevels or not index.is_unique:
        return
    if other.is_unique and other.isin(index).all():
        warn_user(
            f"{documents} and {name} have the same index in another order, but are matched by "
            f"position. Give {name}.loc[{documents}.index] or, if the positions are right, "
            f"{name}.set_axis({documents}.index)."
        )


def warn_of_names(names: NDArray[Any]) -> None:
    """Warn of class names, (C,), that differ only in blanks, case or Unicode form, or are blank."""
    alike: dict[str, list[str]] = {}
    for name in names.tolist():
        if isinstance(name, str):
            alike.setdefault(" ".join(normal_form(name.casefold()).split()), []).append(name)
    pairs = [" and ".join(map(repr, same)) for same in alike.values() if len(same) > 1]
    if pairs:
        warn_user(
            f"Labels differ by blanks, capitals or code points alone: {listed(pairs, write=str)}. "
            "They are learnt as different ones; if they are the same, spell them alike."
        )
    texts = [name for name in names.tolist() if isinstance(name, str)]
    missing = [name for name in texts if is_blank(name) or name.strip() in WRITTEN_MISSING | ERRORS]
    if missing:
        warn_user(
            f"Labels look like missing values, and are learnt as any others: {listed(missing)}. If "
            "they mean that there is no label, leave out their documents."
        )
    warn_of_joined(texts)


# The first are never part of a class name. The others may be, and count as separators only if
# their pieces recur in other names, or are names themselves.
_SEPARATORS, _DOUBTFUL_SEPARATORS = ";|\n\t", ",#/+ "


def warn_of_joined(names: Sequence[str]) -> None:
    """Warn of a label that looks like several labels of one document, in a list or joined."""
    joined = next(((name, items, "") for name in names if (items := list_items(name))), None)
    for separator in _SEPARATORS + _DOUBTFUL_SEPARATORS:
        pieces = {name: [*filter(None, map(str.strip, name.split(separator)))] for name in names}
        distinct = {piece for items in pieces.values() for piece in items}
        # Where labels are joined, the same pieces recur in many names, so there are fewer pieces
        # than names. The paths of a tree of labels have more: each leaf is in one name alone. A
        # blank separates words ("very good"), and 4/5 is a rating.
        recur = separator != " " and len(distinct) <= len(names)
        recur = recur and not all(map(str.isdecimal, distinct))
        for name, items in pieces.items():
            is_sure = separator in _SEPARATORS or recur or (distinct and {*names}.issuperset(items))
            if joined is None and len(items) > 1 and is_sure:
                joined = name, items, separator
    if joined is not None:
        name, items, separator = joined
        how = f"label.split({separator!r})" if separator else "ast.literal_eval(label)"
        warn_user(
            f"{in_one_line(repr(name), 60)} is learnt as one label, and looks like several: "
            f"{listed(items)}. If a document has several labels, split them by {how} for a "
            f"MultiLabelBinarizer; on the command line, give --separator {separator or ','!r}."
        )


def warn_of_conflicts(n_words: Integers, n_documents: int) -> None:
    """Warn if many documents of ten words or more equal a document with another label.

    `n_words` holds the number of words of each document that has such a duplicate.
    """
    n_conflicting = int(np.count_nonzero(n_words >= _SHORTEST))
    if n_documents < _ENOUGH_DOCUMENTS or n_conflicting <= _DOUBTFUL_SHARE * n_documents:
        return
    warn_user(
        f"{n_conflicting:,} of {n_documents:,} documents {agreeing(n_conflicting, 'have')} "
        f"{_SHORTEST} words or more, and the same words as one with another label: no model can "
        "get both right. audit_labels(...).conflicts or sk-han audit lists them."
    )


def warn_of_early_stopping(n_iter_no_change: int, units: str, why: str, repair: str) -> None:
    """Warn that training cannot stop early, since no units ("documents") are held out."""
    warn_user(
        f"n_iter_no_change={n_iter_no_change} has no effect without held-out {units}, and {why}. "
        f"{repair}, or set n_iter_no_change=None."
    )
