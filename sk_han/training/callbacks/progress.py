"""How far training is: a bar, or lines in a log; and how long an epoch takes."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from skorch.callbacks import Callback

from sk_han.engines.engine_choice import compile_kernels
from sk_han.utils.progress import (
    duration,
    progress_bar,
    rewrites_lines,
    seconds_of_silence,
    tell,
)

_LONGEST_SILENCE = 5.0  # seconds


def progress_of(n_steps: int, n_epochs: int, verbose: int) -> Callback:
    """Return a bar where a line can be rewritten; elsewhere, as in a log, a line for each epoch."""
    with_rates = verbose > 1
    if rewrites_lines():
        return TrainingProgress(n_steps, with_rates)
    return EpochLines(n_epochs, n_steps // n_epochs, with_rates)


class TrainingProgress(Callback):
    """One bar over all epochs: loss, validation score, remaining time, perhaps words a second."""

    def __init__(self, n_steps: int, with_rates: bool) -> None:
        self.n_steps = n_steps
        self.with_rates = with_rates

    def on_train_begin(self, net: Any, X: Any = None, **kwargs: Any) -> None:
        """Open the bar."""
        seconds = compile_kernels() if net.device == "cpu" else 0.0
        if seconds > 1:
            tell(
                f"Compiled the kernels in {seconds:.1f} s; later processes read them from a cache."
            )
        self.bar_ = progress_bar(self.n_steps, desc="epoch 1", unit="batch")
        self.validation_: dict[str, str] = {}
        n_words = _words_of(X) if self.with_rates else None
        self.words_per_step_ = None if n_words is None else n_words * net.max_epochs / self.n_steps

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Show the number of the epoch."""
        self.bar_.set_description(f"epoch {len(net.history)}", refresh=False)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Advance by one training batch."""
        if training:
            loss = net.history[-1, "batches", -1, "train_loss"]
            self.bar_.set_postfix(
                loss=f"{loss:.3f}", **self.validation_, **self._rate(), refresh=False
            )
            self.bar_.update()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Show the scores of the epoch on the held-out documents."""
        shown = {name: f"{score:.3f}" for name, score in _scores_of(net).items()}
        loss = shown.pop("train_loss")
        self.validation_ = shown
        self.bar_.set_postfix(loss=loss, **shown, **self._rate())

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Close the bar."""
        self.bar_.close()

    def _rate(self) -> dict[str, str]:
        """Return the words a second, once a batch is done."""
        bar = self.bar_.format_dict
        if self.words_per_step_ is None or not bar["n"]:
            return {}
        # The bar has no rate before it was drawn again, as in a training of a tenth of a second.
        rate = bar["rate"] or bar["n"] / max(bar["elapsed"], 1e-9)
        return {"words/s": f"{self.words_per_step_ * rate:,.0f}"}


class EpochLines(Callback):
    """Write a line of scores on standard error after each epoch, perhaps with rates.

    Within an epoch that takes long, a line says every few seconds how many batches are done.
    """

    def __init__(self, n_epochs: int, n_batches: int, with_rates: bool) -> None:
        self.n_epochs, self.n_batches = n_epochs, n_batches
        self.with_rates = with_rates

    def on_train_begin(self, net: Any, X: Any = None, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_ = perf_counter()
        self.n_documents_, self.n_words_ = len(X), _words_of(X)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Write how many batches are done, if nothing was written for a while."""
        if training and seconds_of_silence() > _LONGEST_SILENCE:
            number, n_done = len(net.history), len(net.history[-1]["batches"])
            tell(f"epoch {number} of {self.n_epochs}: {n_done:,} of {self.n_batches:,} batches")

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the scores of the epoch, its time, and what is left."""
        number, epoch = len(net.history), net.history[-1]
        told = [f"{name} {score:.3f}" for name, score in _scores_of(net).items()]
        told.append(f"{epoch['dur']:.1f} s")
        if self.with_rates:
            told.append(f"{self.n_documents_ / epoch['dur']:,.0f} documents/s")
            if self.n_words_ is not None:
                told.append(f"{self.n_words_ / epoch['dur']:,.0f} words/s")
        if number < self.n_epochs:
            left = (perf_counter() - self.start_) / number * (self.n_epochs - number)
            told.append(f"{duration(left)} of training left")
        tell(f"epoch {number} of {self.n_epochs}: {', '.join(told)}")


def _scores_of(net: Any) -> dict[str, float]:
    """Return loss and measures of the last epoch."""
    epoch = net.history[-1]
    names = ["train_loss", "valid_loss", *net.measures]
    return {name: epoch[name] for name in names if name in epoch}


def _words_of(data: Any) -> int | None:
    """Return the number of words that an epoch reads, None for what has no words."""
    return getattr(getattr(data, "inputs", None), "n_words", None)


class EpochTimer(Callback):
    """Record the seconds of each epoch as "dur", by a clock that is not set back as skorch's is."""

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_ = perf_counter()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Stop it."""
        net.history.record("dur", perf_counter() - self.start_)
