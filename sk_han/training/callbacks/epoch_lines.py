"""A line for each epoch of training, for logs."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from skorch.callbacks import Callback

from sk_han.utils.progress import duration, tell

__all__ = ["EpochLines", "scores_of", "words_of"]


class EpochLines(Callback):
    """Write a line of scores on standard error after each epoch, perhaps with rates."""

    def __init__(self, n_epochs: int, with_rates: bool = False) -> None:
        self.n_epochs = n_epochs
        self.with_rates = with_rates

    def on_train_begin(self, net: Any, X: Any = None, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_, self.n_done_ = perf_counter(), 0
        self.n_documents_, self.n_words_ = len(X), words_of(X)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the scores of the epoch, its time, and what is left."""
        self.n_done_ += 1
        # The epoch of `history`: a checkpoint brings those before it.
        number, epoch = len(net.history), net.history[-1]
        told = [f"{name} {score:.3f}" for name, score in scores_of(net).items()]
        told.append(f"{epoch['dur']:.1f} s")
        if self.with_rates:
            told.append(f"{self.n_documents_ / epoch['dur']:,.0f} documents/s")
            if self.n_words_ is not None:
                told.append(f"{self.n_words_ / epoch['dur']:,.0f} words/s")
        if number < self.n_epochs:
            left = (perf_counter() - self.start_) / self.n_done_ * (self.n_epochs - number)
            told.append(f"{duration(left)} left")
        line = f"epoch {number} of {self.n_epochs}: {', '.join(told)}"
        tell(line)


def scores_of(net: Any) -> dict[str, float]:
    """Return loss and measures of the last epoch."""
    epoch = net.history[-1]
    names = ["train_loss", "valid_loss", *(net.measures or {})]
    return {name: epoch[name] for name in names if name in epoch}


def words_of(data: Any) -> int | None:
    """Return the number of words that an epoch reads, None for what has no words."""
    return getattr(getattr(data, "inputs", None), "n_words", None)
