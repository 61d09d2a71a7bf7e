"""Store the state of a training from time to time, and go on from a stored one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any

from skorch.callbacks import Callback

from sk_han.training.training_state import restore_training, training_state


class Checkpointing(Callback):
    """Store the state after the first step, at the end of each epoch, and every some seconds.

    It must be the last callback: it stores what the others have made of a step or epoch. The state
    after the first step shows early that it can be stored.
    """

    def __init__(
        self,
        write: Callable[[dict[str, Any]], None],
        restoring: Callable[[], AbstractContextManager[dict[str, Any] | None]],
        seconds: float,
    ) -> None:
        self.write, self.restoring, self.seconds = write, restoring, seconds

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Restore the stored state, if there is one."""
        self.begun_: dict[str, Any] = {}
        self.due_ = monotonic()
        with self.restoring() as state:
            if state is not None:
                self.begun_ = restore_training(net, state)
                self.due_ += self.seconds

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Put the steps of a stored epoch into its history, which the net then leaves out."""
        self.order_ = _order(net)
        net.history[-1].update(self.begun_)
        self.begun_ = {}

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Store the state if it is time."""
        if training and monotonic() >= self.due_:
            self._write(training_state(net, self.order_, within_epoch=True))

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Store the state, from which a training that ends before its time does not go on."""
        if net.ended_by is None:
            self._write(training_state(net, _order(net), within_epoch=False))

    def _write(self, state: dict[str, Any]) -> None:
        self.write(state)
        self.due_ = monotonic() + self.seconds


def _order(net: Any) -> Any:
    return None if net.shuffle is None else net.shuffle.get_state(legacy=False)
