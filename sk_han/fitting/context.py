"""FitContext: what each step of a fit may ask for, in one argument."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.utils import check_random_state

from sk_han.fitting.settings import Settings
from sk_han.fitting.state import FittedModel
from sk_han.training.callbacks import FitTasks
from sk_han.training.devices import resolve_device
from sk_han.utils.progress import Stages


class FitContext:
    """The services of one fit, and what it goes on from.

    A portion is one epoch at the constant learning rate, on all documents (`partial_fit`).
    `begin_task` takes documents, labels, the number of epochs, and what gives the attributes that
    are fitted so far; it returns the task of the fit for scikit-learn's callbacks.
    """

    task: FitTasks  # from when the number of epochs is known

    def __init__(
        self,
        settings: Settings,
        before: FittedModel | None,
        *,
        begin_task: Callable[..., FitTasks],
        is_portion: bool,
    ) -> None:
        self.settings, self.before, self.is_portion = settings, before, is_portion
        self.begin_task = begin_task
        self.device = resolve_device(settings.device)
        self.rng = check_random_state(settings.random_state)
        self.stages = Stages(settings.verbose)
        self.is_stopped = False  # whether a callback has ended the training of a network

    @property
    def learns_on(self) -> bool:
        """Whether this is another portion of what was learnt before."""
        return self.before is not None and self.is_portion

    @property
    def earlier_history(self) -> list[dict[str, float]]:
        """The epochs of the portions before this one."""
        return self.before.history if self.before is not None and self.learns_on else []
