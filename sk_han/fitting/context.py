"""FitContext: what each step of a fit may ask for, in one argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import check_random_state

from sk_han.fitting.checkpoints.fingerprint import settings_fingerprint
from sk_han.fitting.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.fitting.settings import Settings
from sk_han.fitting.state import FittedModel
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.data_parallel import Ranks, next_number
from sk_han.training.devices_and_threads import resolve_device
from sk_han.utils.stage_times import Stages

_MAY_DIFFER_BETWEEN_RANKS = {
    "callbacks",
    "device",
    "engine",
    "n_threads",
    "the device",
    "the engine",
    "tokenizer__n_jobs",
}


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
        ranks: Ranks | None,
        *,
        begin_task: Callable[..., FitTasks],
        checkpoint: Any = None,
        is_portion: bool = False,
    ) -> None:
        if ranks is not None and is_portion:
            raise ValueError(
                "partial_fit learns in a single process, and this one belongs to a group of "
                f"{ranks.size}. Call fit, or torch.distributed.destroy_process_group() before it."
            )
        self.settings, self.before, self.is_portion = settings, before, is_portion
        self.ranks, self.begin_task = ranks, begin_task
        self.device = resolve_device(settings.device)
        is_first = ranks is None or ranks.is_first
        self.checkpoints = FitCheckpoints(checkpoint, writes=is_first)
        self.checkpoints.check(self._settings_fingerprint)
        seed = settings.random_state if ranks is None else ranks.seed(settings.random_state)
        self.rng = self.checkpoints.random_state(
            check_random_state(seed), own=settings.random_state is not None
        )
        self.stages = Stages(settings.verbose if is_first else 0)
        self.is_stopped = False  # whether a callback has ended the training of a network

    @property
    def learns_on(self) -> bool:
        """Whether this is another portion of what was learnt before."""
        return self.before is not None and self.is_portion

    @property
    def earlier_history(self) -> list[dict[str, float]]:
        """The epochs of the portions before this one."""
        return self.before.history if self.before is not None and self.learns_on else []

    def check_same_fit(self, fingerprint: Callable[[], dict[str, str]]) -> None:
        """Raise a ValueError unless a checkpoint is of these data, and all ranks have the same."""
        self.checkpoints.check(fingerprint)
        if self.ranks is None:
            return
        settings = self._settings_fingerprint()
        facts: dict[str, Any] = {
            "random_state": next_number(self.rng),
            "a fitted model to go on from": self.before is not None,
            **fingerprint(),
        }
        same = {name: v for name, v in settings.items() if name not in _MAY_DIFFER_BETWEEN_RANKS}
        self.ranks.check_same(same | facts)

    def dismiss_others(self) -> str | None:
        """Let the other ranks go; return which one this process is, or None for the first."""
        if self.ranks is None:
            return None
        self.ranks.dismiss()
        return None if self.ranks.is_first else f"rank {self.ranks.rank} of {self.ranks.size}"

    def _settings_fingerprint(self) -> dict[str, str]:
        weights = None if self.before is None else self.before.pool.network.net.weights
        return settings_fingerprint(vars(self.settings), self.device, weights)
