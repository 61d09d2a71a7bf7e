"""What the state of each fitted estimator says about its training."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from reprlib import repr as brief
from typing import Any

from sk_han.options.base import InstanceOf, Range
from sk_han.storage.schema import ByName, Field, ListOf, Sizes


def _number(value: Any, where: str, sizes: Sizes) -> None:
    if type(value) not in (int, float):  # NaN too: a diverged loss is told, and nothing computed
        raise ValueError(f"its {where} is no number; got {brief(value)}")


def _accuracy(value: Any, where: str, sizes: Sizes) -> None:
    if type(value) is not float or not 0 <= value <= 1:
        raise ValueError(f"its {where} must be an accuracy; got {brief(value)}")


TRAINING = (
    Field("history", ListOf(ByName(_number))),
    Field("best_epoch", Range(Integral, 1), optional=True),
    Field("best_score", _accuracy, optional=True),
    Field("device", InstanceOf(str)),
)


def check_best_epoch(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    """Check that the best epoch is one of the history: a rule of a schema with `TRAINING`."""
    n_epochs, epoch, score = len(state["history"]), state["best_epoch"], state["best_score"]
    if epoch is not None and epoch > n_epochs:
        raise ValueError(f"its best_epoch must be one of {n_epochs}; got {epoch}")
    if (epoch is None) != (score is None):
        raise ValueError("its best_epoch and best_score go together: both or neither")
