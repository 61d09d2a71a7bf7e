"""Callbacks that end a training and keep what it has come to: after a time, or at Ctrl-C."""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar

from skorch.callbacks import Callback, LRScheduler

from sk_han.utils.progress import tell
from sk_han.utils.signals import handling_ctrl_c

# What may stand between a person and the fit: what fits one estimator, once.
_DIRECT = ("sklearn.base", "sklearn.pipeline", "sklearn.compose", "sklearn.utils")


class StopTraining(Exception):  # noqa: N818  (no error: training is over)
    """Raised by a callback to end training; the current weights are kept."""


class _Stopping(Callback, ABC):
    """End a training behind a step; its epoch is scored."""

    reason: ClassVar[str]  # as `FitSummary.ended` has it

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """End the epoch if it is time."""
        if training and net.ended_by is None and self.is_due(net):
            net.ended_by = self.reason

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """End the training if the epoch was ended, or if it is time now."""
        if net.ended_by is not None or self.is_due(net):
            net.ended_by = net.ended_by or self.reason
            raise StopTraining

    @abstractmethod
    def is_due(self, net: Any) -> bool:
        """Return whether training is to end."""


class StopAfter(_Stopping):
    """Stop training after some seconds, and keep the best epoch so far.

    The seconds are those of the network's training by the clock, whatever the number of epochs:
    reading texts before it and learning the linear models after it are not in them. The last epoch
    ends where the time does, and is scored as any other. The schedule of learning rates is followed
    by the share of the time that has passed, where that is more than the share of the steps: so
    training ends at its low rates.

    Parameters
    ----------
    seconds : float
        Above 0.

    Raises
    ------
    ValueError
        If the seconds are no positive finite number.

    See Also
    --------
    StopOnInterrupt : Stops when a person says so.

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
        self.is_ahead_ = False  # of the schedule by steps alone

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Go on in the schedule, and end the epoch if the time is over."""
        if training:
            self._follow_schedule(net)
        super().on_batch_end(net, training, **kwargs)

    def is_due(self, net: Any) -> bool:
        """Return whether the time is over, or the schedule."""
        ends = [each.last_epoch >= each.total_steps - 1 for each in _one_cycles(net)]
        return (self.is_ahead_ and any(ends)) or time.monotonic() - self.start_ >= self.seconds

    def _follow_schedule(self, net: Any) -> None:
        """Advance to the share of the time that has passed since the first step."""
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
    """Stop training at Ctrl-C, and keep the best epoch so far; a second Ctrl-C gives up.

    The epoch ends after the current step, and is scored as any other. Then the fit goes on to its
    end, linear models and scales too, and ``fit_summary_.ended`` is ``"an interrupt"``. Without
    this callback Ctrl-C ends the fit with `KeyboardInterrupt` and changes nothing, as it does
    before and after the training of the network. In an interactive shell and in a notebook a `fit`
    that is called by itself has the callback without being asked; searches and other wrappers of
    scikit-learn have not.

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
        """Note the first Ctrl-C within the block; further ones do what they did before."""
        self.is_interrupted_ = False

        def handle(interrupt: Callable[[], None]) -> None:
            is_further, self.is_interrupted_ = self.is_interrupted_, True
            if is_further:
                interrupt()

        with handling_ctrl_c(handle):
            yield

    def is_due(self, net: Any) -> bool:
        """Return whether Ctrl-C was pressed; say what happens."""
        if self.is_interrupted_ and net.ended_by is None:
            tell("\nInterrupted: the best epoch so far is kept. Ctrl-C again gives up.")
        return self.is_interrupted_


def stops_for_a_person() -> bool:
    """Return whether the fit was called by itself, in an interactive shell or a notebook."""
    if not hasattr(sys, "ps1"):
        return False
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        is_wrapper = name.split(".")[0] in ("joblib", "sklearn") and not name.startswith(_DIRECT)
        if is_wrapper or name.startswith("sk_han.inspection"):
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return True


def _one_cycles(net: Any) -> list[Any]:
    """Return the schedules of learning rates that have an end."""
    schedules = [c.lr_scheduler_ for _, c in net.callbacks_ if isinstance(c, LRScheduler)]
    return [schedule for schedule in schedules if hasattr(schedule, "total_steps")]
