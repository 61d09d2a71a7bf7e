"""Schemas of fitted state, and the one function that checks a state against them.

A schema is data: the names of the entries of a state, their kinds, and the shapes of arrays in
letters. A capital letter stands for one number in the whole state: K classes, V word ids, B binary
problems. A small letter, such as f for the n-grams of one model, is local to the mapping where it
first occurs and to what is inside it. Each class with a fitted state declares its schema next to
itself, and the schema of an estimator is composed of these. The same schemas check pickles, files
of `save` and skops, and what a Scorer loads, before memory is allocated for what they declare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._options import (
    Constraint,
    InstanceOf,
    NetworkOptions,
    Options,
    Range,
)
from sk_han._utils.files import LARGEST_NUMBER

Sizes = dict[str, int]
Shapes = Mapping[str, tuple[int, ...]]  # of weights, by their names

# A check takes a value, its place in the state, such as "network.weights", and the letters bound so
# far. It binds letters that it meets first, and compares the others.
Check = Callable[[Any, str, Sizes], None]
Kind = Check | Constraint


@dataclass(frozen=True)
class Array:
    """Kind: an array of finite numbers within limits, with a shape such as "f B" or "2 K"."""

    dtype: str
    shape: str
    low: float = -math.inf
    high: float = math.inf
    rising: bool = False  # strictly increasing

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check an array."""
        letters = self.shape.split()
        if isinstance(value, np.ndarray) and value.ndim == len(letters):
            for letter, length in zip(letters, value.shape, strict=True):
                if not letter.isdigit():
                    sizes.setdefault(letter, length)
        shape = tuple(int(s) if s.isdigit() else sizes.get(s, s) for s in letters)
        own_shape = getattr(value, "shape", None)
        dtype = getattr(value, "dtype", type(value).__name__)
        is_right = own_shape == shape and dtype == np.dtype(self.dtype)
        if not isinstance(value, np.ndarray) or not is_right:
            raise ValueError(
                f"its {where} has the shape {brief(own_shape)} and dtype {dtype}; it must have "
                f"{brief(shape)} and {self.dtype}"
            )
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"its {where} holds values that are not finite numbers")
        if value.size and not (value.min() >= self.low and value.max() <= self.high):
            raise ValueError(f"its {where} holds values beyond {self.low:g} to {self.high:g}")
        if self.rising and np.any(value[1:] <= value[:-1]):
            raise ValueError(f"its {where} does not rise")


@dataclass(frozen=True)
class Size:
    """Kind: an integer that is the length of arrays."""

    letter: str
    low: int = 1

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a size."""
        if type(value) is not int or value < self.low:
            raise ValueError(
                f"its {where} must be an integer of at least {self.low}; got {brief(value)}"
            )
        if sizes.setdefault(self.letter, value) != value:
            raise ValueError(
                f"its {where} is {value}, and elsewhere in it {self.letter} is {sizes[self.letter]}"
            )


@dataclass(frozen=True)
class OptionsOf:
    """Kind: options of a class, such as `NetworkOptions`, in plain types."""

    options: type[Options]

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check options."""
        self.options.from_plain(value)


@dataclass(frozen=True)
class ListOf:
    """Kind: a list of values of one kind; `length` may be a letter for the number of values."""

    item: Kind
    length: str = ""

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a list."""
        if not isinstance(value, list):
            raise ValueError(f"its {where} must be a list; got {brief(value)}")
        if self.length and sizes.setdefault(self.length, len(value)) != len(value):
            raise ValueError(
                f"its {where} must be a list of {sizes[self.length]}; it has {len(value)} entries"
            )
        for number, item in enumerate(value):
            _check(self.item, item, f"{where}[{number}]", sizes)


@dataclass(frozen=True)
class ByName:
    """Kind: a mapping from arbitrary names to values of one kind."""

    item: Kind

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a mapping."""
        for name, item in _mapping(value, where).items():
            _check(self.item, item, f"{where}.{name[:50]}", sizes)


@dataclass(frozen=True)
class Field:
    """An entry of a state, which may be None if it is optional."""

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True)
class Schema:
    """Kind: a mapping with these entries and no others.

    Fields are checked in order, so a field that binds a letter stands before those that use it.
    A rule relates several fields: it takes the state, its place and the sizes, and raises a
    ValueError. `letters` computes letters from others. With `may_lack`, entries may be missing,
    such as parameters that then get their defaults.
    """

    fields: tuple[Field, ...]
    rules: tuple[Callable[[Any, str, Sizes], None], ...] = ()
    letters: Mapping[str, Callable[[Sizes], int]] = field(default_factory=dict)
    may_lack: bool = False

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a mapping."""
        state = _mapping(value, where)
        names = {entry.name for entry in self.fields}
        lacking = [] if self.may_lack else sorted(names - state.keys())
        unknown = sorted(name[:50] for name in state.keys() - names)
        faults = [f"lacks {lacking}"] if lacking else []
        faults += [f"has {unknown} too many"] if unknown else []
        if faults:
            raise ValueError(f"its {where or 'fitted state'} {' and '.join(faults)}")
        inside = dict(sizes)
        for letter, size_of in self.letters.items():
            inside[letter] = size_of(inside)
        place = f"{where}." if where else ""
        for entry in self.fields:
            present = entry.name in state
            if present and not (entry.optional and state[entry.name] is None):
                _check(entry.kind, state[entry.name], place + entry.name, inside)
        for rule in self.rules:
            rule(state, where, inside)
        # Only capital letters hold outside of this mapping.
        sizes |= {letter: size for letter, size in inside.items() if letter.isupper()}


@dataclass(frozen=True)
class Variants:
    """Kind: a mapping that follows one of several schemas, chosen by the name stored at `key`."""

    key: str
    schemas: Mapping[str, Schema]

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a mapping."""
        state = _mapping(value, where)
        name = state.get(self.key)
        if not isinstance(name, str) or name not in self.schemas:
            raise ValueError(
                f"its {where or 'fitted state'} has the {self.key} {brief(name)}; known here are "
                f"{[*self.schemas]}"
            )
        rest = {key: inner for key, inner in state.items() if key != self.key}
        self.schemas[name](rest, where, sizes)


def check(kind: Kind, state: Any, where: str = "", **sizes: int) -> Sizes:
    """Check a state, at a place of a larger one, and return the numbers of its capital letters.

    `sizes` binds letters beforehand. A ValueError names the place of a missing, superfluous or
    invalid entry.
    """
    _check(kind, state, where, sizes)
    return sizes


def _check(kind: Kind, value: Any, where: str, sizes: Sizes) -> None:
    if callable(kind):
        kind(value, where, sizes)
    elif not kind.accepts(value):
        raise ValueError(f"its {where} must be {kind}; got {brief(value)}")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        place = where or "fitted state"
        raise ValueError(f"its {place} is not a mapping of names to values; got {brief(value)}")
    return value


def check_fields(
    data: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Check that `data`, called `what` in errors, is an object with these keys, and return it."""
    if not isinstance(data, dict):
        raise ValueError(f"{what} is a {type(data).__name__}, and should be an object")
    lacking = [name for name in required if name not in data]
    if lacking:
        raise ValueError(f"{what} lacks {lacking}")
    unknown = [name for name in data if name not in {*required, *optional}]
    if unknown:
        shown = [name[:40] for name in unknown[:5]]
        raise ValueError(f"{what} has {shown}, which this release of sk_han does not know")
    return data


def labels(value: Any, where: str, sizes: Sizes) -> None:
    """Kind: an array of sorted, distinct labels, of length K."""
    _label_list(value, where, sizes)
    if not np.all(value[:-1] < value[1:]):
        raise ValueError(f"its {where} are not sorted and distinct")
    labels_in_order(value, where, sizes)


def labels_in_order(value: Any, where: str, sizes: Sizes) -> None:
    """Kind: an array of distinct labels in any order, of length K."""
    items = _label_list(value, where, sizes)
    if len(set(items)) < len(items):
        raise ValueError(f"its {where} are not distinct")
    if any(isinstance(label, float) and not math.isfinite(label) for label in items):
        raise ValueError(f"its {where} are not finite")


def strings(value: Any, where: str, sizes: Sizes) -> None:
    """Kind: an array of sorted, distinct strings."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind != "U":
        raise ValueError(f"its {where} are not an array of strings")
    _check_bits(value, where)
    if not np.all(value[:-1] < value[1:]):
        raise ValueError(f"its {where} are not sorted and distinct")


def label_names(value: Any, where: str, sizes: Sizes) -> None:
    """Kind: an array of distinct label names, strings or integers, in any order, of length K."""
    names = _label_list(value, where, sizes)
    if any(type(name) not in (str, int) for name in names):
        raise ValueError(f"its {where} are not all strings or all integers")
    if len(set(names)) < len(names):
        raise ValueError(f"its {where} are not distinct")


def _label_list(value: Any, where: str, sizes: Sizes) -> list[Any]:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) == 0:
        raise ValueError(f"its {where} are not an array of labels")
    _check_bits(value, where)
    items: list[Any] = value.tolist()
    kinds = {float if type(label) is int else type(label) for label in items}
    if len(kinds) != 1 or not kinds <= {str, bool, float}:
        raise ValueError(f"its {where} are not all strings, all numbers or all booleans")
    if sizes.setdefault("K", len(value)) != len(value):
        raise ValueError(f"its {where} are {len(value)}, and elsewhere in it K is {sizes['K']}")
    return items


def _check_bits(array: NDArray[Any], where: str) -> None:
    """Check that the bytes of strings or booleans are valid, which NumPy takes on trust."""
    if array.dtype.kind == "U":
        codes = np.frombuffer(array.tobytes(), array.dtype.byteorder + "u4")
        if codes.max(initial=0) > 0x10FFFF:
            raise ValueError(f"its {where} hold code points that are not characters")
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ValueError(f"its {where} hold what is neither true nor false")


def _number(value: Any, where: str, sizes: Sizes) -> None:
    # NaN is valid: a loss that diverged is kept in the history and only reported.
    if type(value) not in (int, float):
        raise ValueError(f"its {where} is not a number; got {brief(value)}")


def _score(value: Any, where: str, sizes: Sizes) -> None:
    if type(value) is not float or not -math.inf < value <= 1:
        raise ValueError(f"its {where} must be an accuracy or R2; got {brief(value)}")


TRAINING = (
    Field("history", ListOf(ByName(_number))),
    Field("best_epoch", Range(Integral, 1), optional=True),
    Field("best_score", _score, optional=True),
    Field("device", InstanceOf(str)),
)


def check_best_epoch(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    """Rule for schemas with `TRAINING`: check that the best epoch is one of the history."""
    n_epochs, epoch, score = len(state["history"]), state["best_epoch"], state["best_score"]
    if epoch is not None and epoch > n_epochs:
        raise ValueError(f"its best_epoch must be one of {n_epochs}; got {epoch}")
    if (epoch is None) != (score is None):
        raise ValueError("its best_epoch and best_score go together: both or neither")


def check_weights(weights: Mapping[str, Any], shapes: Shapes) -> None:
    """Check names, shapes and values of weights, before a network of their size is allocated."""
    kinds = {
        name: Array("float32", " ".join(map(str, shape)), -LARGEST_NUMBER, LARGEST_NUMBER)
        for name, shape in shapes.items()
    }
    fields = tuple(Field(name, kind) for name, kind in kinds.items())
    check(Schema(fields), weights, "network.weights")


def options_and_weights(options: type[Options]) -> Schema:
    """Return the schema of a network; `check_weights` checks the weights, once shapes are known."""
    return Schema((Field("options", OptionsOf(options)), Field("weights", InstanceOf(Mapping))))


# V is the number of word ids, including those of padding and the unknown word; K of classes.
NETWORK_STATE = Schema(
    (
        Field("vocabulary_size", Size("V", 2)),
        Field("max_words", Range(Integral, 1)),
        Field("n_classes", Size("K")),
        Field("valid_batch_size", Range(Integral, 1)),
        *options_and_weights(NetworkOptions).fields,
    )
)
