"""A fit and its epochs as tasks of scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.callbacks.stopping import StopTraining


class FitTasks(Callback):
    """Notify scikit-learn's callbacks (1.9 and later) of the start and end of fit and epochs."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_epochs: int,
        fitted_so_far: Callable[[Any], Mapping[str, Any]],
        *,
        sample_weight: Any = None,
    ) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.arguments = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.fitted_so_far: Callable[[Any], Mapping[str, Any]] | None = fitted_so_far
        self.fit_task = estimator._init_callback_context(max_subtasks=n_epochs)
        self.fit_task.call_on_fit_task_begin(**self.arguments)

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Begin the task of the epoch."""
        self.epoch_ = self.fit_task.subcontext(task_name="epoch")
        self.epoch_.call_on_fit_task_begin(**self.arguments)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """End the task of the epoch, and stop the training if a callback requests it."""
        assert self.fitted_so_far is not None
        stop = self.epoch_.call_on_fit_task_end(
            **self.arguments,
            # for callbacks that want a fitted estimator
            reconstruction_attributes=lambda: dict(self.fitted_so_far(net)),
        )
        if stop:
            raise StopTraining

    def end(self, fitted: Mapping[str, Any]) -> None:
        """End the task of the fit, and drop its documents, since the net keeps its callbacks."""
        self.fit_task.call_on_fit_task_end(**self.arguments, reconstruction_attributes=dict(fitted))
        self.arguments, self.fitted_so_far, self.fit_task, self.epoch_ = {}, None, None, None
