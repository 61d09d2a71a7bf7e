"""A line for each epoch of training, for logs."""

from __future__ import annotations

import sys
from typing import Any

from skorch.callbacks import Callback

__all__ = ["EpochLines"]


class EpochLines(Callback):
    """Write a line of scores on standard error after each epoch."""

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the scores of the epoch."""
        epoch = net.history[-1]
        names = ["train_loss", "valid_loss", *(net.measures or {})]
        scores = ", ".join(f"{name} {epoch[name]:.3f}" for name in names if name in epoch)
        # The epoch of `history`: a classifier may go on where it ended.
        print(f"epoch {len(net.history)}: {scores}", file=sys.stderr, flush=True)
