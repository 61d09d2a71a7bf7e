"""Imports from scikit-learn's private modules, and constraints that estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

# scikit-learn validates the parameters of its own estimators by these, from 1.6 to 1.9 without a
# change that concerns us, but has no public name for them.
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

# scikit-learn recommends this function to third parties, but its name still has an underscore.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from sk_han._options import Constraint, Either, InstanceOf, Range
from sk_han._utils.messages import in_one_line

__all__ = [
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "to_sklearn",
    "validate_parameter_constraints",
]


def to_sklearn(constraint: Constraint) -> list[Any]:
    """Return the constraint of an option as constraints of scikit-learn."""
    if isinstance(constraint, Either):
        return [part for inner in constraint.constraints for part in to_sklearn(inner)]
    if isinstance(constraint, InstanceOf):
        return [constraint.kind]
    if isinstance(constraint, Range):
        closed = "left" if constraint.includes_low else "neither"
        high = None if constraint.high == float("inf") else constraint.high
        kind = RealNotInt if constraint.kind is float else constraint.kind
        return [Interval(kind, constraint.low, high, closed=closed)]
    strings = {value for value in constraint.values if isinstance(value, str)}
    allowed = [*constraint.classes, *[StrOptions(strings)] * bool(strings)]
    allowed += ["boolean"] * (True in constraint.values) + [None] * (None in constraint.values)
    return allowed


POSITIVE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FRACTION = Interval(Real, 0, 1, closed="neither")

# A larger learning rate would overflow single precision in the products of the optimizer.
LEARNING_RATE = Interval(Real, 0, 1e36, closed="right")


def check_nested_params(params: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Raise a ValueError if a nested parameter (pooling__size) has no object to be set on."""
    for name in params:
        own, _, inner = name.partition("__")
        value = params.get(own, present.get(own))
        if inner and own in present and not hasattr(value, "set_params"):
            raise ValueError(
                f"{name} cannot be set: {own} is {in_one_line(repr(value), 60)}, which has no "
                f"parameters. Set {own} itself, or first give it an object with {inner}."
            )
