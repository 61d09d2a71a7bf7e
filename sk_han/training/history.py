"""What was recorded for each epoch, as plain numbers."""

from __future__ import annotations

from numbers import Real

from sk_han.training.net import Net

__all__ = ["plain_history"]


def plain_history(net: Net, first_epoch: int = 1) -> list[dict[str, float]]:
    """Return the recorded numbers of each epoch, without those of its batches."""
    return [
        {"epoch": number}
        | {
            name: float(value)
            for name, value in epoch.items()
            if isinstance(value, Real)
            and not isinstance(value, bool)
            and name != "epoch"
            and not name.endswith("_batch_count")
        }
        for number, epoch in enumerate(net.history, start=first_epoch)
    ]
