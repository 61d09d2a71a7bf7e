"""A fit and its epochs as scikit-learn's callbacks see them: tasks within a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.builder import restored_net
from sk_han.training.callbacks.stopping import StopTraining

__all__ = ["FitTasks"]


class FitTasks(Callback):
    """Tell scikit-learn's callbacks (1.9 and later) where a fit and its epochs begin and end.

    Parameters
    ----------
    estimator : HANClassifier
    X : DocumentArray
    y : ndarray
    sample_weight : array-like or None
        What `fit` was given, and callbacks are told of.
    n_epochs : int
    fitted : mapping
        The fitted attributes as they are while the network trains, all but the net.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        n_epochs: int,
        fitted: Mapping[str, Any],
    ) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.told = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.fitted = dict(fitted)
        self.fit_task = estimator._init_callback_context(max_subtasks=n_epochs)
        self.fit_task.call_on_fit_task_begin(**self.told)

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
            raise StopTraining

    def end(self, fitted: Mapping[str, Any]) -> None:
        """End the task of the fit, and forget its documents: the net holds on to its callbacks."""
        self.fit_task.call_on_fit_task_end(**self.told, reconstruction_attributes=dict(fitted))
        self.told, self.fitted, self.fit_task, self.epoch_ = {}, {}, None, None


def _copied(net: Any) -> Any:
    return restored_net(net.restoring_params, net.weights, net.device)
