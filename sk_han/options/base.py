"""Options: named values with constraints, which searches can set and files can store."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, TypeVar


@dataclass(frozen=True)
class Range:
    """Constraint: an integer or a number of at least `low` (or above it) and below `high`."""

    kind: type
    low: float
    high: float = math.inf
    includes_low: bool = True

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if isinstance(value, bool) or not isinstance(value, self.kind):
            return False
        number: Any = value
        above = self.low <= number if self.includes_low else self.low < number
        return bool(above and number < self.high)

    def __str__(self) -> str:
        kind = "an integer" if self.kind is Integral else "a number"
        below = "" if self.high == math.inf else f" and below {self.high:g}"
        return f"{kind} {'of at least' if self.includes_low else 'above'} {self.low:g}{below}"


@dataclass(frozen=True)
class Choice:
    """Constraint: one of some values (strings, booleans), or an object of some classes."""

    values: tuple[Any, ...]
    classes: tuple[type, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if isinstance(value, self.classes):
            return True
        return any(type(value) is type(v) and value == v for v in self.values)

    def __str__(self) -> str:
        names = [*map(repr, self.values), *(f"{each.__name__}(...)" for each in self.classes)]
        return "one of " * (len(names) > 1) + ", ".join(names)


@dataclass(frozen=True)
class InstanceOf:
    """Constraint: a value of a type."""

    kind: type

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        return "a string" if self.kind is str else f"a {self.kind.__name__}"


@dataclass(frozen=True)
class Either:
    """Constraint: what one of several constraints allows."""

    constraints: tuple[Range | Choice | InstanceOf, ...]

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        return any(constraint.accepts(value) for constraint in self.constraints)

    def __str__(self) -> str:
        return " or ".join(map(str, self.constraints))


Constraint = Range | Choice | InstanceOf | Either


def option(default: Any, constraint: Range | Choice) -> Any:
    """Declare an option of a dataclass, with its default and its constraint."""
    return dataclasses.field(default=default, metadata={"constraint": constraint})


_OptionsT = TypeVar("_OptionsT", bound="Options")


@dataclass(kw_only=True)
class Options:
    """Named options that scikit-learn's ``clone`` and searches can copy and set."""

    @classmethod
    def constraints(cls) -> dict[str, Range | Choice]:
        """Return the constraint of each option, by name."""
        return {field.name: field.metadata["constraint"] for field in fields(cls)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name, as scikit-learn's estimators do."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in list(params.items()):
            if deep and isinstance(value, Options):
                params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Options:
        """Set options by name, as scikit-learn's estimators do."""
        known = [field.name for field in fields(self)]
        # An option is set before the options inside it, in any order of the arguments.
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            own, _, inner = name.partition("__")
            if own not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. Valid parameters are: "
                    f"{known}."
                )
            held = getattr(self, own)
            if inner and not isinstance(held, Options):
                raise ValueError(
                    f"{name!r} cannot be set: {own} is {held!r}, which has no parameters. Set "
                    f"{own} to an object that has {inner!r} first."
                )
            if inner:
                held.set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def copy(self: _OptionsT) -> _OptionsT:
        """Return a copy with Python numbers in place of the NumPy scalars that searches pass."""
        params = self.get_params(deep=False)
        for name, value in params.items():
            if isinstance(value, Options):
                params[name] = value.copy()
            elif hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
                params[name] = value.item()
        return type(self)(**params)

    def to_plain(self) -> dict[str, Any]:
        """Return the options as values that JSON can hold, with the class under ``"class"``."""
        plain = {
            name: value.to_plain() if isinstance(value, Options) else value
            for name, value in self.copy().get_params(deep=False).items()
        }
        return {"class": type(self).__name__} | plain

    @classmethod
    def from_plain(cls: type[_OptionsT], plain: Any) -> _OptionsT:
        """Create options from the result of `to_plain`. Missing options get their defaults."""
        kinds = [each for each in (cls, *_subclasses(cls)) if fields(each)]
        classes = {each.__name__: each for each in kinds}
        name = plain.get("class") if isinstance(plain, dict) else None
        if not isinstance(name, str) or name not in classes:
            raise ValueError(f"{_short(plain)} is none of the options {sorted(classes)}")
        kind = classes[name]
        params = {name: value for name, value in plain.items() if name != "class"}
        unknown = sorted(params.keys() - kind.constraints().keys())
        if unknown:
            raise ValueError(f"{kind.__name__} has no options {_short(unknown)}")
        for name, value in params.items():
            if isinstance(value, dict):
                params[name] = Options.from_plain(value)
        options = kind(**params)
        options.check()
        return options

    def check(self) -> None:
        """Check every option; the message names the invalid one, its value and the constraint."""
        for name, constraint in self.constraints().items():
            value = getattr(self, name)
            if not constraint.accepts(value):
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} must be {constraint}. Got "
                    f"{_short(value)} instead."
                )
            if isinstance(value, Options):
                value.check()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _subclasses(cls: type[_OptionsT]) -> list[type[_OptionsT]]:
    return [each for child in cls.__subclasses__() for each in (child, *_subclasses(child))]
