"""A training between two steps as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import torch
from skorch.callbacks import EpochScoring, LRScheduler, PassthroughScoring
from torch import Tensor
from torch.optim.lr_scheduler import OneCycleLR

from sk_han.training.builder import OPTIMIZERS
from sk_han.training.callbacks.early_stopping import EarlyStopping
from sk_han.training.net import Net
from sk_han.utils.counts import counted

# What steps change of a schedule; the rest are its arguments.
_STEPS_OF_A_SCHEDULE = ("last_epoch", "_step_count", "_last_lr", "_get_lr_called_within_step")


def training_state(net: Net, order: Any, *, within_epoch: bool) -> dict[str, Any]:
    """Return all that a training needs to go on to the same bits, as arrays and plain values.

    `order` is the state of `net.shuffle` before it drew the order of the next steps, which is that
    of the last epoch if `within_epoch`. Arrays share the memory of the net.
    """
    callbacks = {name: _callback_state(callback) for name, callback in net.callbacks_}
    return {
        "weights": _as_arrays(net.module_.state_dict()),
        "criterion": _as_arrays(net.criterion_.state_dict()),
        "optimizer": _as_arrays(net.optimizer_.state_dict()),
        "callbacks": _as_arrays(callbacks),
        "history": [
            _plain_values(epoch) | {"batches": [_plain_values(batch) for batch in epoch["batches"]]}
            for epoch in net.history
        ],
        "within_epoch": within_epoch,
        "stop_requested": net.stop_requested,
        "noise": net.module_.generator.get_state().numpy(),
        "order": order,
    }


def restore_training(net: Net, state: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a begun training to an earlier state; return what it has of the epoch that goes on."""
    epochs = [_checked_epoch(epoch) for epoch in state["history"]]
    if len(epochs) > net.max_epochs:
        raise ValueError(f"it has {counted(len(epochs), 'epoch')} of {net.max_epochs}")
    net.module_.load_state_dict(_as_tensors(state["weights"]))
    net.criterion_.load_state_dict(_as_tensors(state["criterion"]))
    _restore_optimizer(net.optimizer_, _as_tensors(state["optimizer"]))
    callbacks = _as_tensors(state["callbacks"])
    for name, callback in net.callbacks_:
        if callbacks.get(name) is not None:
            _restore_callback(callback, callbacks[name])
            if isinstance(callback, EarlyStopping) and callback.best_weights_:
                _check_shapes(callback.best_weights_, net.module_.state_dict())
    net.module_.generator.set_state(torch.tensor(state["noise"]))
    if net.shuffle is not None:
        set_random_state(net.shuffle, state["order"])
    net.stop_requested = bool(state["stop_requested"])
    begun = epochs.pop() if state["within_epoch"] else {}
    net.history.extend(epochs)
    return begun


def set_random_state(random_state: np.random.RandomState, state: Any) -> None:
    """Set a stored state of ``get_state(legacy=False)``; check what NumPy does not."""
    own = random_state.get_state(legacy=False)
    _check_like(own, state)
    for name, value in own["state"].items():
        if np.shape(state["state"][name]) != np.shape(value):
            raise ValueError(f"the {name} of a random generator has another length")
    if not 0 <= state["state"].get("pos", 0) <= 624:  # NumPy would read behind the 624 numbers
        raise ValueError(f"a random generator is at the position {state['state']['pos']}")
    random_state.set_state(state)


def _callback_state(callback: Any) -> Any:
    """Return what a callback knows of the steps before; None if it has no way to tell."""
    if hasattr(callback, "state_dict") and hasattr(callback, "load_state_dict"):
        return callback.state_dict()
    if isinstance(callback, LRScheduler):
        return callback.lr_scheduler_.state_dict() | {"batch_idx_": callback.batch_idx_}
    if isinstance(callback, (EpochScoring, PassthroughScoring)):
        return {"best_score_": callback.best_score_}
    return None


def _restore_callback(callback: Any, state: Any) -> None:
    if hasattr(callback, "load_state_dict"):
        callback.load_state_dict(state)
    elif isinstance(callback, LRScheduler):
        _check_like(_callback_state(callback), state)
        _check_schedule(callback.lr_scheduler_, state)
        callback.batch_idx_ = state.pop("batch_idx_")
        callback.lr_scheduler_.load_state_dict(state)
    else:
        callback.best_score_ = float(state["best_score_"])


def _restore_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    _check_like(optimizer.state_dict()["param_groups"], state["param_groups"])
    if type(optimizer) in OPTIMIZERS.values():  # compiled code trusts the shapes
        _check_flags(optimizer.state_dict()["param_groups"], state["param_groups"])
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for number, moments in state["state"].items():
            _check_moments(moments, parameters[number], optimizer)
    optimizer.load_state_dict(state)


def _check_flags(groups: list[dict[str, Any]], stored: list[dict[str, Any]]) -> None:
    """Check that what is no number in the options of an optimizer is as in its own."""
    for own, other in zip(groups, stored, strict=True):
        for name, value in own.items():
            if (value is None or isinstance(value, bool)) and other[name] is not value:
                raise ValueError(f"{name} of its optimizer is {other[name]!r:.100}, not {value!r}")


def _check_moments(
    moments: Mapping[str, Any], parameter: Tensor, optimizer: torch.optim.Optimizer
) -> None:
    needed = set() if isinstance(optimizer, torch.optim.SGD) else {"step", "exp_avg", "exp_avg_sq"}
    if not needed <= moments.keys():
        raise ValueError(f"it lacks moments of a weight: {sorted(needed - moments.keys())}")
    for name, moment in moments.items():
        expected = () if name == "step" else parameter.shape
        if (moment is None and name in needed) or (moment is not None and moment.shape != expected):
            raise ValueError(f"the {name} of a weight is not of its shape")


def _check_schedule(schedule: Any, state: Mapping[str, Any]) -> None:
    """Check that one cycle is the net's own, which has the names of rates in it."""
    if isinstance(schedule, OneCycleLR):
        for name, value in schedule.state_dict().items():
            if name not in _STEPS_OF_A_SCHEDULE and state[name] != value:
                raise ValueError(f"{name} of its schedule is {state[name]!r:.100}, not {value!r}")


def _check_shapes(weights: dict[str, Any], own: Mapping[str, Any]) -> None:
    found, expected = ({n: tuple(w.shape) for n, w in part.items()} for part in (weights, own))
    if found != expected:
        raise ValueError(f"it has weights of the shapes {found}")


def _check_like(own: Any, stored: Any) -> None:
    """Check that a value has the keys and types of one's own, before it replaces it."""
    numbers = isinstance(own, Real) and isinstance(stored, Real)
    if own is None or numbers:
        return
    if type(own) is not type(stored):
        raise TypeError(f"it has a {type(stored).__name__} for a {type(own).__name__}")
    if isinstance(own, dict):
        if own.keys() != stored.keys():
            raise ValueError(f"it has the names {sorted(stored)} for {sorted(own)}")
        own, stored = list(own.values()), [stored[key] for key in own]
    if isinstance(own, (list, tuple)):
        for one, other in zip(own, stored, strict=True):
            _check_like(one, other)


def _plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    plain = (bool, np.bool_, Real, str, type(None))
    return {name: value for name, value in values.items() if isinstance(value, plain)}


def _checked_epoch(epoch: Any) -> dict[str, Any]:
    batches = epoch["batches"]
    if not isinstance(batches, list) or not all(isinstance(batch, dict) for batch in batches):
        raise TypeError("its history has no batches")
    return dict(epoch)


def _as_arrays(value: Any) -> Any:
    return _mapped(value, Tensor, lambda tensor: tensor.numpy(force=True))


def _as_tensors(value: Any) -> Any:
    return _mapped(value, np.ndarray, lambda array: torch.tensor(array))


def _mapped(value: Any, kind: type, change: Any) -> Any:
    """Change all values of one kind inside of dicts, lists and tuples."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, kind, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_mapped(item, kind, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value
