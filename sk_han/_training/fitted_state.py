"""Pickling of estimators: the fitted state as arrays and plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from sk_han._training.net import available_devices
from sk_han._utils.files import ModelFormatError, unpack_state


def getstate(estimator: Any) -> dict[str, Any]:
    """Return the state of a pickle: parameters, and the fitted state as arrays and plain types.

    The estimator has the methods `to_state` and `from_state`, and keeps its fitted state in
    `model_`. Its `_newest_format` increases if older releases cannot read the state.
    """
    state = {**BaseEstimator.__getstate__(estimator), "_state_format": estimator._newest_format}
    if state.pop("model_", None) is not None:
        state["_fitted"] = estimator.to_state()
    return state


def setstate(estimator: Any, state: Any) -> None:
    """Restore an estimator from the result of `getstate`."""
    state = unpack_state(state, estimator, newest=estimator._newest_format)
    fitted = state.pop("_fitted", None)
    BaseEstimator.__setstate__(estimator, state)
    if fitted is not None:
        estimator.from_state(fitted)


@contextmanager
def restoring(name: str) -> Iterator[None]:
    """Convert errors about an invalid state to ModelFormatError, with the estimator's name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"This {name} cannot be restored: {error}.") from error


def available_device(state: Mapping[str, Any]) -> str:
    """Return the device of a restored estimator, or the CPU if the device is not available."""
    return state["device"] if state["device"] in available_devices() else "cpu"
