"""Several labels a document in one column of a table: separated in a cell, or a list of JSON."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.cli.arguments import UsageError
from sk_han.cli.tables import ClassNames, named, records, where_of
from sk_han.datasets.tables import Record
from sk_han.targets import AnyOfLabels, Target
from sk_han.utils.containers import listed
from sk_han.utils.counts import counted
from sk_han.utils.warnings import warn_user

_SEPARATOR = ";"  # of a model of several labels, if none is given


@dataclass(frozen=True)
class LabelColumns:
    """An indicator with names, as `fit` takes it of a DataFrame; pandas is no dependency."""

    columns: list[Any]
    values: NDArray[np.bool_]  # (D, L)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (D, L)."""
        return self.values.shape

    def to_numpy(self) -> NDArray[np.bool_]:
        """Return the values."""
        return self.values

    def __getitem__(self, rows: NDArray[np.int64]) -> LabelColumns:
        return LabelColumns(self.columns, self.values[rows])


@dataclass(frozen=True)
class LabelSets:
    """How the sets of a model's labels are read from cells and written into them."""

    classes: ClassNames
    separator: str
    thresholds: Any = None  # of a fitted model, (L,)

    def __post_init__(self) -> None:
        for name in self.classes.names:
            _check_whole(name, self.separator)
            if not name.strip():
                raise ValueError(f"the label {name!r} is blank, and a blank cell has no label.")

    def numbers(self, cell: Any, where: str) -> list[int]:
        """Return the numbers of the labels of a cell."""
        labels = _labels_of(self.separator, cell, where, self._as_named)
        return [self.classes.checked(label, where) for label in labels]

    @cached_property
    def _as_named(self) -> dict[str, str]:
        """The name of each label with and without blanks around it."""
        names = self.classes.names
        return {name.strip(): name for name in names} | {name: name for name in names}

    def indicator(self, numbers: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Return a row for each set of numbers, (D, L)."""
        t = np.zeros((len(numbers), len(self.classes.names)), dtype=bool)
        for row, of_document in zip(t, numbers, strict=True):
            row[list(of_document)] = True
        return t

    def decided(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which labels the model gives, (D, L)."""
        found: NDArray[np.bool_] = probabilities >= self.thresholds
        return found

    def written(self, row: NDArray[np.bool_]) -> str:
        """Return the labels of a document as a cell."""
        return self.separator.join(self.classes.names[number] for number in np.flatnonzero(row))


def sets_of(target: Target, arguments: argparse.Namespace) -> LabelSets | None:
    """Return how sets of labels are written, None for a model of one label a document."""
    given = arguments.separator
    if isinstance(target, AnyOfLabels):
        classes = ClassNames(target.names.tolist())
        return LabelSets(classes, _checked(given), target.thresholds)
    if given is not None:
        raise UsageError(
            "--separator is for models of several labels a document, and this one gives each "
            "document one of its classes. Leave it out, or fit a model with --separator."
        )
    return None


def _checked(given: str | None) -> str:
    """Return a separator of labels that is not empty."""
    separator = _SEPARATOR if given is None else given
    if not separator:
        raise UsageError(f"--separator stands between labels, such as ';'; got {separator!r}.")
    return separator


def _labels_of(
    separator: str, cell: Any, where: str, known: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return the labels of a cell: none of an empty one, those of a list of JSON.

    Blanks around a label of a cell do not count, but for a known label that has some.
    """
    if cell is None:
        return []
    if isinstance(cell, str):
        parts = [part if part in known else part.strip() for part in cell.split(separator)]
        return [known.get(part, part) for part in parts if part]
    values = cell if isinstance(cell, list) else [cell]
    if not all(type(value) in (str, int, bool) for value in values):
        raise ValueError(f"{where} holds {cell!r}; labels are a string, or a list of strings.")
    names = [named(value) for value in values]
    for name in names:
        _check_whole(name, separator, f"{where}: ")
    return names


def read_labelled(
    name: str, arguments: argparse.Namespace, names: list[Any] | None = None
) -> tuple[list[Record], LabelColumns]:
    """Return the documents of a table and the indicator of their labels: those named, or all."""
    separator = _checked(arguments.separator)
    found = list(records(name, arguments, others=[arguments.label]))
    cells = [record.others[0] for record in found]
    places = [where_of(name, record, arguments) for record in found]
    if names is None:
        pairs = zip(cells, places, strict=True)
        names = sorted({label for pair in pairs for label in _labels_of(separator, *pair)})
        if len(names) < 2:
            raise ValueError(
                f"{name}: {arguments.label!r} has {counted(len(names), 'label')} between "
                f"separators {separator!r}; several labels a document need two or more. Is another "
                "separator meant, or a single label a document, without --separator?"
            )
        warn_of_joined(names)
    sets = LabelSets(ClassNames(names), separator)
    numbers = [sets.numbers(cell, place) for cell, place in zip(cells, places, strict=True)]
    return found, LabelColumns(names, sets.indicator(numbers))


def warn_of_joined(names: Sequence[Any]) -> None:
    """Warn of a label that is others in one cell, joined by a separator that was not given."""
    known = set(map(named, names))
    for separator in ";|,":
        for name in sorted(known):
            parts = [part.strip() for part in name.split(separator)]
            if len(parts) > 1 and known.issuperset(parts):
                warn_user(
                    f"{name[:40]!r} is taken for one label, and {listed(parts)} are labels too. If "
                    f"these are several labels of a document, give --separator {separator!r}."
                )
                return


def _check_whole(label: str, separator: str, where: str = "") -> None:
    if separator in label:
        raise ValueError(
            f"{where}the label {label!r} holds the separator {separator!r}; give another one by "
            "--separator."
        )
