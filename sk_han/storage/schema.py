"""What the state of a fitted model holds, declared once, and the one checker that reads it.

A schema is data: the names of a state's entries, their kinds, and the shapes of arrays in letters.
A capital letter is one number in the whole state: K classes, V word ids, B binary problems. A small
letter is one number in the mapping where it first stands and inside of it, as f n-grams of one of
two models. Whatever has learnt something declares its schema beside its class, and that of an
estimator is composed of them. Pickles, files of `save`, skops and the Scorer are checked by the
same ones, before memory is taken for what they declare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any

import numpy as np

from sk_han.options.base import Constraint, Options

Sizes = dict[str, int]
# Checks a value at a place of a state, such as "network.weights"; binds letters, or compares.
Check = Callable[[Any, str, Sizes], None]
Kind = Check | Constraint  # what an entry may be


@dataclass(frozen=True)
class Array:
    """Kind: an array of finite numbers within limits; its shape is letters or numbers, as "f B"."""

    dtype: str
    shape: str
    low: float = -math.inf
    high: float = math.inf
    rising: bool = False  # each number above the one before it

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check an array."""
        letters = self.shape.split()
        if isinstance(value, np.ndarray) and value.ndim == len(letters):
            for letter, length in zip(letters, value.shape, strict=True):
                if not letter.isdigit():
                    sizes.setdefault(letter, length)
        shape = tuple(int(s) if s.isdigit() else sizes.get(s, s) for s in letters)
        found = getattr(value, "shape", None), getattr(value, "dtype", type(value).__name__)
        if not isinstance(value, np.ndarray) or found != (shape, np.dtype(self.dtype)):
            raise ValueError(
                f"its {where} has the shape {brief(found[0])} and dtype {found[1]}; it must have "
                f"{brief(shape)} and {self.dtype}"
            )
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"its {where} holds values that are no finite numbers")
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
    """Kind: plain options of a class."""

    options: type[Options]

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check options."""
        self.options.from_plain(value)


@dataclass(frozen=True)
class ListOf:
    """Kind: a list of values of one kind, and perhaps a letter for its length."""

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
    """Kind: a mapping of any names to values of one kind."""

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

    Fields are checked in their order: one whose size others refer to comes before them. Rules say
    what no field says alone: each takes the state, its place and the sizes, and raises ValueError.
    Letters that follow from others are computed from these. With `may_lack`, entries may be
    missing, as parameters that get their defaults.
    """

    fields: tuple[Field, ...]
    rules: tuple[Callable[[Any, str, Sizes], None], ...] = ()
    letters: Mapping[str, Callable[[Sizes], int]] = field(default_factory=dict)
    may_lack: bool = False

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a mapping."""
        state = _mapping(value, where)
        names = {each.name for each in self.fields}
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
        for each in self.fields:
            present = each.name in state
            if present and not (each.optional and state[each.name] is None):
                _check(each.kind, state[each.name], place + each.name, inside)
        for rule in self.rules:
            rule(state, where, inside)
        sizes |= {letter: size for letter, size in inside.items() if letter.isupper()}


@dataclass(frozen=True)
class Variants:
    """Kind: a mapping of one of several kinds, each of which has a schema and a name at `key`."""

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
    """Check a state at a place of a larger one; return what its capital letters stand for.

    `sizes` are letters that are known beforehand. A ValueError names the place of what is missing,
    too many or invalid.
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
        raise ValueError(f"its {place} is no mapping of names to values; got {brief(value)}")
    return value
