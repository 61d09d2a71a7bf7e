"""Parameters of several estimators, and those of objects that are parameters themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

from sk_han.utils.compat import Interval, validate_parameter_constraints

POSITIVE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FRACTION = Interval(Real, 0, 1, closed="neither")
# A larger one overflows single precision in the products of the optimizer.
LEARNING_RATE = Interval(Real, 0, 1e36, closed="right")

# What to give where a parameter is no object: by default, and for parameters that only some have.
_OBJECTS = {
    "tokenizer": {"": "HierarchicalTokenizer()"},
    "rnn": {"": "RNN()"},
    "pooling": {
        "": "Attention()",
        "hops": "MultiHopAttention()",
        "penalty": "MultiHopAttention()",
        "direction": "ContextAttention()",
        "gated": "ContextAttention()",
        "summary": "ContextAttention()",
    },
}


def check_params(estimator: Any, but: Collection[str]) -> None:
    """Check parameters that may be set after the fit, but for those that only a fit uses."""
    # In a quarter of the time of `_validate_params`, which takes longer than to read a short text.
    constraints = {
        name: each for name, each in estimator._parameter_constraints.items() if name not in but
    }
    given = {name: getattr(estimator, name) for name in constraints}
    validate_parameter_constraints(constraints, given, type(estimator).__name__)


def check_nested_params(params: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Check that parameters inside of others (pooling__size) have an object to be set on."""
    for name in params:
        own, _, inner = name.partition("__")
        value = params.get(own, present.get(own))
        if inner and own in _OBJECTS and (value is None or isinstance(value, str)):
            needed = _OBJECTS[own].get(inner, _OBJECTS[own][""])
            raise ValueError(
                f"{name} cannot be set: {own} is {value!r}, which has no parameters. Give an "
                f"object first, such as {own}={needed}."
            )
