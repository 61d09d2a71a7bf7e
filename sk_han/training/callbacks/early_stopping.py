"""Keep the weights of the best epoch, and stop when epochs no longer improve."""

from __future__ import annotations

import copy
import math
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.callbacks.stopping import StopTraining


class EarlyStopping(Callback):
    """Keep the epoch of the highest accuracy, then the lowest loss, and stop if none improves.

    The loss of a network rises long before its accuracy falls, so that it decides only between
    equal accuracies. Epochs count from 1; a score is the measure, and minus the validation loss.
    """

    def __init__(self, n_iter_no_change: int | None) -> None:
        self.n_iter_no_change = n_iter_no_change

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Reset the state of an earlier training."""
        self.best_score_ = (float("-inf"), float("-inf"))
        self.best_epoch_ = 0
        self.best_weights_: dict[str, Any] = {}

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Copy the weights of a better epoch, or stop the training."""
        epoch = net.history[-1]
        score = (epoch["valid_accuracy"], -epoch["valid_loss"])
        if score > self.best_score_:
            self.best_score_, self.best_epoch_ = score, epoch["epoch"]
            self.best_weights_ = copy.deepcopy(net.module_.state_dict())
        elif self.has_stopped(epoch["epoch"]):
            raise StopTraining

    def has_stopped(self, epoch: int) -> bool:
        """Return whether the best epoch was so long ago at this one that training ends."""
        return epoch - self.best_epoch_ >= (self.n_iter_no_change or math.inf)

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Restore the best weights."""
        net.module_.load_state_dict(self.best_weights_)
        self.best_weights_ = {}
