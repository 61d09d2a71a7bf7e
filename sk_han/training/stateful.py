"""Estimators whose fitted state is stored as arrays and plain values."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sk_han.training.devices import available_devices, computing
from sk_han.utils.compat import VisualBlock
from sk_han.utils.files import ModelFormatError, checked_state

_Estimator = TypeVar("_Estimator")
_Stateful = TypeVar("_Stateful", bound="StatefulEstimator")


class StatefulEstimator(BaseEstimator):
    """Base of estimators whose fitted state is pickled as arrays and plain types, for any device.

    An estimator annotates its further fitted attributes, and gives them as a state and back.
    `_newest_format` increases when an older release cannot read the state.
    """

    history_: list[dict[str, float]]
    best_epoch_: int | None
    best_score_: float | None
    n_iter_: int
    device_: str

    _newest_format: ClassVar[int]

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: arrays, plain values and fitted tokenizers.

        Pickles and files of `save` hold it, without parameters. Arrays are no copies.
        """
        check_is_fitted(self)
        return snapshot_of(self)._state()

    def from_state(self: _Stateful, state: Mapping[str, Any]) -> _Stateful:
        """Restore the result of `to_state`; raise ModelFormatError if an entry is invalid."""
        with self._computing():
            replace_attributes(self, self._attributes_of(state))
        return self

    def _sk_visual_block_(self) -> VisualBlock:
        """Return the box of scikit-learn's diagram, with what a fit has come to below the name."""
        summary = vars(self).get("fit_summary_")
        block = VisualBlock("single", self, names=type(self).__name__, name_details=str(self))
        block.name_caption = None if summary is None else summary.in_short
        return block

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters and fitted state as arrays and plain types, for any device."""
        state: dict[str, Any] = {**super().__getstate__(), "_state_format": self._newest_format}
        fitted = _fitted_names(type(self)) & state.keys()
        if fitted:
            for name in fitted:
                del state[name]
            state["_fitted"] = self.to_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = checked_state(state, self, newest=self._newest_format)
        fitted = state.pop("_fitted", None)
        super().__setstate__(state)
        if fitted is not None:
            self.from_state(fitted)

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return the fitted attributes as a state."""

    @abstractmethod
    def _attributes_of(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fitted attributes that a state holds, after a check of all its entries."""

    def _computing(self: Any) -> AbstractContextManager[None]:
        """Compute with the engine and threads of the parameters."""
        return computing(self.engine, self.n_threads)


def snapshot_of(estimator: _Estimator) -> _Estimator:
    """Return a shallow copy, so that a prediction reads all attributes from one fit."""
    snapshot = object.__new__(type(estimator))
    snapshot.__dict__ = estimator.__dict__.copy()
    return snapshot


def replace_attributes(estimator: StatefulEstimator, attributes: Mapping[str, Any]) -> None:
    """Set all attributes in one assignment: another thread sees those of one fit."""
    earlier = _fitted_names(type(estimator))
    kept = {name: value for name, value in vars(estimator).items() if name not in earlier}
    estimator.__dict__ = {**kept, **attributes}


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
    """Return the fitted attributes that tell of the training, from a checked state."""
    return {
        "history_": state["history"],
        "best_epoch_": state["best_epoch"],
        "best_score_": state["best_score"],
        "n_iter_": len(state["history"]),
        "device_": device_of(state),
    }


def device_of(state: Mapping[str, Any]) -> str:
    """Return the device that a restored estimator computes with: the CPU where its own is not."""
    return state["device"] if state["device"] in available_devices() else "cpu"
