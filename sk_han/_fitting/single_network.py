"""Base class of the estimators with a single network, and what their fits share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sk_han._model.fit_summary import TRAINING_SUMMARY
from sk_han._options import Options
from sk_han._storage.schema import (
    TRAINING,
    Check,
    Field,
    Schema,
    Sizes,
    check,
    check_best_epoch,
    options_and_weights,
)
from sk_han._training.builder import new_net, predicting_net, stop_reason, training_attributes
from sk_han._training.fitted_state import (
    available_device,
    getstate,
    restoring,
    setstate,
)
from sk_han._training.net import Net, computing
from sk_han._utils.compat import check_nested_params
from sk_han._utils.progress import Stages, tell
from sk_han._validation.labels import document_weights, warn_of_early_stopping

_Estimator = TypeVar("_Estimator", bound="SingleNetworkEstimator")
_STORED = "history", "best_epoch", "best_score", "fit_summary"


class SingleNetworkEstimator(BaseEstimator):
    """Base class of estimators with one network and the training options of `HANClassifier`.

    A subclass declares the schema of its state (`network_schema`), the fitted attributes that are
    saved unchanged, the options of its network, and the class of its net. `model_` holds all fitted
    attributes by name. A fit replaces it in one assignment, so another thread never sees the
    attributes of two fits.
    """

    model_: Mapping[str, Any]

    _newest_format = 1
    _schema: ClassVar[Schema]
    _own_state: ClassVar[tuple[str, ...]]
    _options: ClassVar[type[Options]]
    _make_net: ClassVar[Callable[..., Net]]

    __getstate__ = getstate
    __setstate__ = setstate

    def __getattr__(self, name: str) -> Any:
        model = vars(self).get("model_", {})
        if name not in model:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return model[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *vars(self).get("model_", {})]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        return tags

    def set_params(self: _Estimator, **params: Any) -> _Estimator:
        """Set parameters; raise a ValueError for ``a__b`` if the value of `a` has no parameters."""
        check_nested_params(params, self.get_params(deep=False))
        return super().set_params(**params)

    @abstractmethod
    def _network_sizes(self, state: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
        """Return the arguments of the network that are no options, from a checked state."""

    def _learn(self: _Estimator, learn: Callable[..., dict[str, Any]], *data: Any) -> _Estimator:
        """Fit by calling `learn`, and set the attributes that it returns; an error sets none."""
        with self._computing(), torch.inference_mode(False):
            self.model_ = learn(self, *data)
        if self.verbose:
            tell(self.fit_summary_)
        return self

    def _new_net(
        self, sizes: Mapping[str, Any], make_net: Callable[..., Net], **training: Any
    ) -> Any:
        """Create a net with initial weights; `training` holds further arguments of `new_net`."""
        names = ("batch_size", "lr", "n_iter_no_change", "callbacks", "verbose")
        options = {name: getattr(self, name) for name in self._options.constraints()}
        training = {name: getattr(self, name) for name in names} | training
        return new_net(options | dict(sizes), make_net=make_net, **training)

    def _computing(self) -> AbstractContextManager[None]:
        """Return a context that computes with the `engine` and `n_threads` of the parameters."""
        return computing(self.engine, self.n_threads)

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: arrays, plain values and fitted tokenizers.

        Pickles and files of `save` hold this state and the parameters. Arrays are not copied.
        """
        check_is_fitted(self)
        return self._state(self.model_)

    def _state(self, model: Mapping[str, Any]) -> dict[str, Any]:
        net, names = model["net_"], (*self._own_state, *_STORED, "device")
        return {
            **{name: model[f"{name}_"] for name in names},
            "network": {"options": net.module_.options.to_plain(), "weights": net.weights},
        }

    def from_state(self: _Estimator, state: Mapping[str, Any]) -> _Estimator:
        """Restore a state from `to_state`; raise a ModelFormatError if an entry is invalid."""
        with self._computing(), restoring(type(self).__name__):
            sizes = self._network_sizes(state, check(self._schema, state))
            network, names = state["network"], (*self._own_state, *_STORED)
            stored = {f"{name}_": state[name] for name in names}
            arrays = {
                n: value.copy() for n, value in stored.items() if isinstance(value, np.ndarray)
            }
            net = predicting_net(
                self._make_net,
                self._options.from_plain(network["options"]),
                network["weights"],
                available_device(state),
                **{f"module__{name}": value for name, value in sizes.items()},
            )
            self.model_ = {
                **stored,
                **arrays,
                "n_iter_": len(state["history"]),
                "device_": net.device,
                "net_": net,
            }
        return self


def network_schema(
    *fields: Field,
    options: type[Options],
    rules: tuple[Check, ...] = (),
) -> Schema:
    """Return the schema of a state: the fields of the estimator, its network, and its training."""
    summary = Field("fit_summary", TRAINING_SUMMARY, optional=True)
    own = (*fields, Field("network", options_and_weights(options)), summary)
    return Schema((*own, *TRAINING), rules=(check_best_epoch, *rules))


def relative_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Check weights, (n_samples,), and scale them to at most 1, since only their ratios matter."""
    weights = document_weights(sample_weight, None, np.zeros(n_samples), np.zeros(1))
    return weights / weights.max()


def warn_of_no_stop(estimator: Any, units: str, share: str, repair: str) -> None:
    """Warn if early stopping has no effect; `share` names what validation_fraction divides."""
    fraction, patience = estimator.validation_fraction, estimator.n_iter_no_change
    if patience is not None:
        of = " is None" if fraction is None else f"={fraction:g} of {share}"
        warn_of_early_stopping(patience, units, f"validation_fraction{of}", repair)


def trained_attributes(
    net: Net, training: Any, validation: Any, unit: str, stages: Stages
) -> dict[str, Any]:
    """Train a net, and return the fitted attributes that describe it."""
    with stages("network"):
        net.train(training, validation)
    attributes = training_attributes(net)
    summary = {
        "unit": unit,
        "n_trained": len(training),
        "n_scored": 0 if validation is None else len(validation),
        "n_epochs": attributes["n_iter_"],
        "kept_epoch": attributes["best_epoch_"],
        "ended": stop_reason(net),
        "accuracy": attributes["best_score_"],
        "seconds": dict(stages.seconds),
        "total_seconds": stages.total,
    }
    return {"device_": net.device, "fit_summary_": summary, **attributes}
