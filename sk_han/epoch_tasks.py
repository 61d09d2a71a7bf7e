"""The epochs of a fit as scikit-learn's callbacks see them: tasks within the task of the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skorch.callbacks import Callback

from sk_han.training import restored_net

__all__ = ["EpochTasks"]


class EpochTasks(Callback):
    """Tell scikit-learn's callbacks (1.9 and later) where an epoch begins and ends.

    Parameters
    ----------
    fit_task : sklearn.callback.CallbackContext
        The task of the whole fit.
    told : mapping
        What the callbacks are told of every task: estimator, X, y and metadata.
    fitted : mapping
        The fitted attributes of the estimator, all but the net.
    """

    def __init__(self, fit_task: Any, told: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
        self.fit_task = fit_task
        self.told = told
        self.fitted = fitted

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin the task of the epoch."""
        self.epoch_ = self.fit_task.subcontext(task_name="epoch")
        self.epoch_.call_on_fit_task_begin(**self.told)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """End the task of the epoch, and the training if a callback asks for it."""
        stop = self.epoch_.call_on_fit_task_end(
            **self.told,
            # Called only for callbacks that want a fitted estimator.
            reconstruction_attributes=lambda: {**self.fitted, "net_": _copied(net)},
        )
        if stop:
            raise KeyboardInterrupt  # skorch's way to end training after an epoch

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Forget the fit: the net outlives it, and would keep its documents alive."""
        self.fit_task, self.told, self.fitted, self.epoch_ = None, {}, {}, None


def _copied(net: Any) -> Any:
    return restored_net(net.restoring_params, net.weights, net.device)
