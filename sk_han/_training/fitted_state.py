"""The fitted state of estimators, stored as arrays and plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from sk_han._training.net import available_devices
from sk_han._utils.files import ModelFormatError, checked_state


def getstate(estimator: Any) -> dict[str, Any]:
    """Return what a pickle holds: parameters, and the fitted state as arrays and plain types.

    The estimator has `to_state` and `from_state`, and holds all that a fit has learnt in `model_`;
    `_newest_format` increases when an older release cannot read the state.
    """
    state = {**BaseEstimator.__getstate__(estimator), "_state_format": estimator._newest_format}
    if state.pop("model_", None) is not None:
        state["_fitted"] = estimator.to_state()
    return state


def setstate(estimator: Any, state: Any) -> None:
    """Restore what `getstate` returned."""
    state = checked_state(state, estimator, newest=estimator._newest_format)
    fitted = state.pop("_fitted", None)
    BaseEstimator.__setstate__(estimator, state)
    if fitted is not None:
        estimator.from_state(fitted)


@contextmanager
def restoring(name: str) -> Iterator[None]:
    """Turn errors of an invalid state into ModelFormatError, with the name of the estimator."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"This {name} cannot be restored: {error}.") from error


def device_of(state: Mapping[str, Any]) -> str:
    """Return the device of a restored estimator: the CPU where its own is not available."""
    return state["device"] if state["device"] in available_devices() else "cpu"
