"""A fit and its epochs as tasks of scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.callbacks.interrupts import StopTraining
from sk_han.training.history import plain_history
from sk_han.training.net_state import copied_net

__all__ = ["FitTasks"]


class FitTasks(Callback):
    """Notify scikit-learn's callbacks (1.9 and later) of the start and end of fit and epochs.

    Parameters
    ----------
    estimator : HANClassifier
    X : DocumentArray
    y : ndarray
    sample_weight : array-like or None
        Arguments of `fit`, which callbacks receive.
    n_epochs : int
    fitted : mapping
        The fitted attributes during training, without the net.
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
        self.arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.fitted = dict(fitted)
        self.fit_task = estimator._init_callback_context(max_subtasks=n_epochs)
        self.fit_task.call_on_fit_task_begin(**self.arguments)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin the task of the epoch."""
        self.epoch_ = self.fit_task.subcontext(task_name="epoch")
        self.epoch_.call_on_fit_task_begin(**self.arguments)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """End the task of the epoch, and stop the training if a callback requests it."""

        def fitted_so_far() -> dict[str, Any]:
            history = plain_history(net)
            so_far = {"net_": copied_net(net), "history_": history, "n_iter_": len(history)}
            not_known = dict.fromkeys(("best_epoch_", "best_score_", "fit_summary_"))
            return {**self.fitted, **not_known, **so_far}

        stop = self.epoch_.call_on_fit_task_end(
            **self.arguments,
            reconstruction_attributes=fitted_so_far,  # for callbacks that want a fitted estimator
        )
        if stop:
            raise StopTraining

    def end(self, fitted: Mapping[str, Any]) -> None:
        """End the task of the fit, and drop its documents, since the net keeps its callbacks."""
        self.fit_task.call_on_fit_task_end(**self.arguments, reconstruction_attributes=dict(fitted))
        self.arguments, self.fitted, self.fit_task, self.epoch_ = {}, {}, None, None
