"""Callbacks: progress, early stopping, and stopping by time or Ctrl-C."""

from __future__ import annotations

import copy
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from time import perf_counter
from typing import Any, ClassVar

from skorch.callbacks import Callback, LRScheduler

from sk_han._kernels.engine import compile_kernels
from sk_han._utils.progress import duration, tell, tell_at_times


class TrainingProgress(Callback):
    """Write a line with scores after each epoch on standard error, optionally with rates.

    Within an epoch, a line every few seconds shows the number of batches so far. In a terminal this
    line is rewritten several times a second.
    """

    def __init__(self, n_batches: int, *, with_rates: bool) -> None:
        self.n_batches, self.with_rates = n_batches, with_rates

    def on_train_begin(self, net: Any, X: Any = None, **kwargs: Any) -> None:
        """Compile the kernels, and start the clock."""
        seconds = compile_kernels() if net.device == "cpu" else 0.0
        if seconds > 1:
            tell(
                f"Compiled the kernels in {seconds:.1f} s; later processes read them from a cache."
            )
        self.start_ = perf_counter()
        self.n_documents_, self.n_words_ = len(X), _n_words(net, X)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Write the number of batches so far, if nothing was written for a while."""
        if training:
            number, n_done = len(net.history), len(net.history[-1]["batches"])
            of_epoch = f"epoch {number} of {net.max_epochs}"
            tell_at_times(f"{of_epoch}: {n_done:,} of {self.n_batches:,} batches")

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the scores of the epoch, its duration, and the remaining time."""
        number, epoch = len(net.history), net.history[-1]
        parts = [f"{name} {score:.3f}" for name, score in _last_scores(net).items()]
        parts.append(duration(epoch["dur"]))
        if self.with_rates:
            parts.append(f"{self.n_documents_ / epoch['dur']:,.0f} documents/s")
            if self.n_words_ is not None:
                parts.append(f"{self.n_words_ / epoch['dur']:,.0f} words/s")
        if number < net.max_epochs:
            left = (perf_counter() - self.start_) / number * (net.max_epochs - number)
            parts.append(f"{duration(left)} of training left")
        tell(f"epoch {number} of {net.max_epochs}: {', '.join(parts)}")


def _last_scores(net: Any) -> dict[str, float]:
    """Return loss and measures of the last epoch."""
    epoch = net.history[-1]
    names = ["train_loss", "valid_loss", *net.measures]
    return {name: epoch[name] for name in names if name in epoch}


def _n_words(net: Any, data: Any) -> int | None:
    """Return the approximate number of words that an epoch reads; None for data without words."""
    inputs: Any = getattr(data, "inputs", None)
    if net.excerpt_words is None:
        return getattr(inputs, "n_words", None)
    return int(inputs.words_per_document.clip(max=net.excerpt_words).sum())


class EpochTimer(Callback):
    """Record the duration of each epoch as "dur", with a monotonic clock, unlike skorch's timer."""

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_ = perf_counter()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Record the seconds since the start."""
        net.history.record("dur", perf_counter() - self.start_)


class StopTraining(Exception):  # noqa: N818  (it is not an error)
    """Raised by a callback to end training; the current weights are kept."""


class _Stopping(Callback, ABC):
    """Base class of callbacks that end training after a step; the last epoch is still scored."""

    # The reason in `FitSummary.ended`.
    reason: ClassVar[str]

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """End the epoch if training is to end."""
        if training and net.ended_by is None and self.is_due(net):
            net.ended_by = self.reason

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """End training if the epoch was ended, or if training is to end now."""
        if net.ended_by is not None or self.is_due(net):
            net.ended_by = net.ended_by or self.reason
            raise StopTraining

    @abstractmethod
    def is_due(self, net: Any) -> bool:
        """Return whether training is to end."""


class StopAfter(_Stopping):
    """Stop training after some seconds, and keep the best epoch so far.

    The limit is for training the network, without reading texts and fitting the linear models. The
    last epoch ends when the time is over, and is scored like any other. If the share of the time
    that has passed exceeds the share of the steps, the learning rate schedule advances to the
    former, so that training ends with its low rates.

    Parameters
    ----------
    seconds : float
        Above 0.

    Raises
    ------
    ValueError
        If `seconds` is not a positive finite number.

    See Also
    --------
    StopOnInterrupt : Stops at Ctrl-C.

    Examples
    --------
    >>> from sk_han import HANClassifier, StopAfter
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(callbacks=[StopAfter(0.01)], max_epochs=50, random_state=0)
    >>> classifier.fit(texts, labels).fit_summary_.ended
    'the time'
    """

    reason = "the time"

    def __init__(self, seconds: float) -> None:
        is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if not is_number or not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"seconds must be a positive finite number; got {seconds!r}.")
        self.seconds = seconds

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.start_ = time.monotonic()
        self.first_step_: float | None = None
        # Whether the schedule is ahead of the one by steps.
        self.is_ahead_ = False

    def restart(self) -> None:
        """Start the clock again, for the rest of the time, at a new cycle of the schedule."""
        self.seconds = max(self.seconds - (time.monotonic() - self.start_), 1e-3)
        self.on_train_begin(None)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Advance the schedule, and end the epoch if the time is over."""
        if training:
            self._follow_schedule(net)
        super().on_batch_end(net, training, **kwargs)

    def is_due(self, net: Any) -> bool:
        """Return whether the time or the schedule is over."""
        ends = [s.last_epoch >= s.total_steps - 1 for s in _one_cycles(net)]
        return (self.is_ahead_ and any(ends)) or time.monotonic() - self.start_ >= self.seconds

    def _follow_schedule(self, net: Any) -> None:
        """Advance the schedule to the share of the time that has passed since the first step."""
        now = time.monotonic()
        if self.first_step_ is None:
            self.first_step_ = now
        left = self.seconds - (self.first_step_ - self.start_)
        share = min((now - self.first_step_) / left, 1.0) if left > 0 else 1.0
        for schedule in _one_cycles(net):
            while schedule.last_epoch < int(share * (schedule.total_steps - 1)):
                self.is_ahead_ = True
                schedule.step()


class StopOnInterrupt(_Stopping):
    """Stop training at Ctrl-C, and keep the best epoch so far; a second Ctrl-C aborts the fit.

    The epoch ends after the current step, and is scored like any other. The fit then goes on with
    linear models and scales, and ``fit_summary_.ended`` is ``"an interrupt"``. Without this
    callback, and before and after the training of the network, Ctrl-C ends the fit with
    `KeyboardInterrupt`, and the estimator does not change.

    Only the main thread of a process receives Ctrl-C.

    See Also
    --------
    StopAfter : Stops after some seconds.

    Examples
    --------
    >>> from sk_han import HANClassifier, StopOnInterrupt
    >>> classifier = HANClassifier(callbacks=[StopOnInterrupt()])
    """

    reason = "an interrupt"
    is_interrupted_ = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record the first Ctrl-C within the block; further ones have their usual effect."""
        self.is_interrupted_ = False

        def handle(interrupt: Callable[[], None]) -> None:
            is_further, self.is_interrupted_ = self.is_interrupted_, True
            if is_further:
                interrupt()

        with handling_ctrl_c(handle):
            yield

    def is_due(self, net: Any) -> bool:
        """Return whether Ctrl-C was pressed, after telling the user what happens."""
        if self.is_interrupted_ and net.ended_by is None:
            tell("\nInterrupted: the best epoch so far is kept. Ctrl-C again gives up.")
        return self.is_interrupted_


def _one_cycles(net: Any) -> list[Any]:
    """Return the learning rate schedules with a fixed number of steps."""
    schedules = [c.lr_scheduler_ for _, c in net.callbacks_ if isinstance(c, LRScheduler)]
    return [schedule for schedule in schedules if hasattr(schedule, "total_steps")]


class EarlyStopping(Callback):
    """Keep the epoch with the highest accuracy, and stop after some epochs without improvement.

    Among epochs of equal accuracy the lowest validation loss decides; on its own, the loss would
    rise long before the accuracy falls. Epochs are counted from 1.
    """

    def __init__(self, n_iter_no_change: int | None) -> None:
        self.n_iter_no_change = n_iter_no_change

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Reset the state of an earlier training."""
        self.best_score_ = (float("-inf"), float("-inf"))
        self.best_epoch_ = 0
        self.best_weights_: dict[str, Any] = {}

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Copy the weights of a better epoch, or stop training."""
        epoch = net.history[-1]
        score = (epoch[next(iter(net.measures))], -epoch["valid_loss"])
        if score > self.best_score_:
            self.best_score_, self.best_epoch_ = score, epoch["epoch"]
            self.best_weights_ = copy.deepcopy(net.module_.state_dict())
        elif self.has_stopped(epoch["epoch"]):
            raise StopTraining

    def has_stopped(self, epoch: int) -> bool:
        """Return whether training ends at this epoch, because the best one was too long ago."""
        return epoch - self.best_epoch_ >= (self.n_iter_no_change or math.inf)

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Restore the best weights."""
        net.module_.load_state_dict(self.best_weights_)
        self.best_weights_ = {}


class StopWhenLearnt(Callback):
    """End training after an epoch whose training loss is below a bound.

    The documents are then memorized, gradients are nearly 0, and further epochs only add noise.
    """

    def __init__(self, loss: float) -> None:
        self.loss = loss

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Stop training."""
        if self.has_stopped(net):
            raise StopTraining

    def has_stopped(self, net: Any) -> bool:
        """Return whether training ends at the last epoch of the history."""
        return bool(net.history[-1, "train_loss"] < self.loss)


@contextmanager
def handling_ctrl_c(handle: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Call `handle` at Ctrl-C within the block, with a function that calls the previous handler.

    Only the main thread receives Ctrl-C, so in other threads nothing changes.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def handler(number: int, frame: Any) -> None:
        handle(lambda: before(number, frame))

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        # If the block has set another handler, that one stays.
        if signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, before)
