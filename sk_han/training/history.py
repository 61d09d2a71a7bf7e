"""What was recorded for each epoch, as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from sk_han.training.callbacks import EarlyStopping
from sk_han.training.net import Net


def training_attributes(net: Net, epochs_before: Sequence[dict[str, float]] = ()) -> dict[str, Any]:
    """Return the fitted attributes that tell of a trained net, after epochs of earlier fits."""
    history = [*epochs_before, *plain_history(net, first_epoch=len(epochs_before) + 1)]
    return {"net_": net, "history_": history, "n_iter_": len(history), **best_of(net)}


def best_of(net: Net) -> dict[str, Any]:
    """Return the epoch of the kept weights, and its accuracy on the held-out data."""
    for _, callback in net.callbacks_:
        if isinstance(callback, EarlyStopping) and callback.best_epoch_:
            epoch, score = callback.best_epoch_, float(callback.best_score_[0])
            return {"best_epoch_": epoch, "best_score_": score}
    return {"best_epoch_": None, "best_score_": None}


def end_of(net: Net) -> str:
    """Return why training ended, as `FitSummary.ended` has it."""
    n_epochs = len(net.history)
    if net.ended_by is not None:
        return net.ended_by
    if n_epochs >= net.max_epochs:
        return "all epochs"
    early = [c for _, c in net.callbacks_ if isinstance(c, EarlyStopping)]
    return "no improvement" if any(c.has_stopped(n_epochs) for c in early) else "a callback"


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
