"""The fitted state of estimators: set at once, stored as arrays and plain values."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from sk_han.training.net import available_devices
from sk_han.utils.compat import VisualBlock
from sk_han.utils.files import ModelFormatError, checked_state

_Estimator = TypeVar("_Estimator")


def snapshot_of(estimator: _Estimator) -> _Estimator:
    """Return a shallow copy, so that a prediction reads all attributes from one fit."""
    snapshot = object.__new__(type(estimator))
    snapshot.__dict__ = estimator.__dict__.copy()
    return snapshot


def replace_attributes(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Set all fitted attributes in one assignment: another thread sees those of one fit."""
    earlier = _fitted_names(type(estimator))
    kept = {name: value for name, value in vars(estimator).items() if name not in earlier}
    estimator.__dict__ = {**kept, **attributes}


def getstate(estimator: Any) -> dict[str, Any]:
    """Return what a pickle holds: parameters, and the fitted state as arrays and plain types.

    The estimator has `to_state` and `from_state`, and annotates its fitted attributes;
    `_newest_format` increases when an older release cannot read the state.
    """
    state: dict[str, Any] = BaseEstimator.__getstate__(estimator)
    fitted = _fitted_names(type(estimator)) & state.keys()
    kept = {name: value for name, value in state.items() if name not in fitted}
    stored = {"_fitted": estimator.to_state()} if fitted else {}
    return {**kept, "_state_format": estimator._newest_format, **stored}


def setstate(estimator: Any, state: Any) -> None:
    """Restore what `getstate` returned."""
    state = checked_state(state, estimator, newest=estimator._newest_format)
    fitted = state.pop("_fitted", None)
    BaseEstimator.__setstate__(estimator, state)
    if fitted is not None:
        estimator.from_state(fitted)


def visual_block(estimator: Any) -> VisualBlock:
    """Return the box of scikit-learn's diagram, with the result of the fit below the name."""
    summary = getattr(estimator, "fit_summary_", None)
    name = type(estimator).__name__
    block = VisualBlock("single", estimator, names=name, name_details=str(estimator))
    block.name_caption = None if summary is None else summary.in_short
    return block


def _fitted_names(estimator: type) -> set[str]:
    """Return the names of fitted attributes that a class and its bases annotate."""
    annotated = (name for base in estimator.__mro__ for name in inspect.get_annotations(base))
    return {name for name in annotated if name.endswith("_")}


@contextmanager
def restoring(name: str) -> Iterator[None]:
    """Turn errors of an invalid state into ModelFormatError, with the name of the estimator."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise ModelFormatError(f"This {name} cannot be restored: {error}.") from error


def restored_training(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes about the training, from a checked state."""
    return {
        "history_": state["history"],
        "best_epoch_": state["best_epoch"],
        "best_score_": state["best_score"],
        "n_iter_": len(state["history"]),
        "device_": device_of(state),
    }


def device_of(state: Mapping[str, Any]) -> str:
    """Return the device of a restored estimator: the CPU where its own is not available."""
    return state["device"] if state["device"] in available_devices() else "cpu"
