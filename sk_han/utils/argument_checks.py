"""Checks of what users give to functions, by NumPy alone."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Check that a parameter is one of some strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}; got {value!r}.")


def check_count(name: str, value: Any) -> None:
    """Check that a parameter is an integer of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def random_source(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """Return the source of random numbers that a parameter names; ValueError if it names none."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be an integer >= 0, a RandomState, a Generator or None; got "
            f"{random_state!r}."
        ) from error
