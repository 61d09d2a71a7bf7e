"""How long an epoch takes."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from skorch.callbacks import Callback


class EpochTimer(Callback):
    """Record the seconds of each epoch as "dur".

    That of skorch reads the clock of the day, which can be set back during an epoch.
    """

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_ = perf_counter()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Stop it."""
        net.history.record("dur", perf_counter() - self.start_)
