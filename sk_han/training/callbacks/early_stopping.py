"""Keep the weights of the best epoch, and stop when better ones no longer come."""

from __future__ import annotations

import copy
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.callbacks.stopping import StopTraining

__all__ = ["EarlyStopping"]


class EarlyStopping(Callback):
    """Stop training when held-out documents are no longer predicted better.

    An epoch is better when its validation accuracy is higher, or as high with a lower loss: as
    training goes on a network grows more certain, and its loss rises long before its accuracy
    falls. Few documents have few accuracies, and there the loss decides.

    Parameters
    ----------
    patience : int
        Epochs without a better one before training stops.

    Attributes
    ----------
    best_epoch_ : int
        The epoch, from 1, whose weights the net has in the end.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Forget an earlier training."""
        self.best_score_ = (float("-inf"), float("-inf"))
        self.best_epoch_ = 0
        self.best_weights_: dict[str, Any] = {}

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Copy the weights of a better epoch, or end the training."""
        epoch = net.history[-1]
        score = (epoch["valid_accuracy"], -epoch["valid_loss"])
        if score > self.best_score_:
            self.best_score_, self.best_epoch_ = score, epoch["epoch"]
            self.best_weights_ = copy.deepcopy(net.module_.state_dict())
        elif epoch["epoch"] - self.best_epoch_ >= self.patience:
            raise StopTraining

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Put the best weights back."""
        net.module_.load_state_dict(self.best_weights_)
        self.best_weights_ = {}
