"""FitContext: what each step of a fit may ask for, in one argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sk_han.fitting.checkpoints.fingerprint import settings_fingerprint
from sk_han.fitting.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.fitting.settings import Settings
from sk_han.fitting.state import FittedModel
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.computing import resolve_device
from sk_han.training.data_parallel import Ranks, next_number
from sk_han.utils.stages import Stages

_MAY_DIFFER_BETWEEN_RANKS = {
    "callbacks",
    "device",
    "engine",
    "n_threads",
    "the device",
    "the engine",
    "tokenizer__n_jobs",
}


@dataclass
class FitContext:
    """The services of one fit, and what it goes on from."""

    settings: Settings
    before: FittedModel | None  # which the fit goes on from
    is_portion: bool  # one epoch at the constant learning rate, on all documents (`partial_fit`)
    device: str
    rng: np.random.RandomState  # source of all random numbers
    checkpoints: FitCheckpoints
    ranks: Ranks | None  # the processes that train the network together
    stages: Stages  # measure the time, and tell of progress
    # Takes documents, labels, the number of epochs, and what gives the attributes that are fitted
    # so far; returns the task of the fit for scikit-learn's callbacks.
    begin_task: Callable[..., FitTasks]
    task: FitTasks | None = None  # from when the number of epochs is known

    @classmethod
    def begin(
        cls,
        settings: Settings,
        before: FittedModel | None,
        ranks: Ranks | None,
        *,
        is_portion: bool,
        checkpoint: Any,
        begin_task: Callable[..., FitTasks],
    ) -> FitContext:
        """Find the device, an earlier checkpoint and the source of random numbers."""
        if ranks is not None and is_portion:
            raise ValueError(
                "partial_fit learns in a single process, and this one belongs to a group of "
                f"{ranks.size}. Call fit, or torch.distributed.destroy_process_group() before it."
            )
        device = resolve_device(settings.device)
        is_first = ranks is None or ranks.is_first
        checkpoints = FitCheckpoints(checkpoint, writes=is_first)
        checkpoints.check(_settings_fingerprint, settings, device, before)
        seed = settings.random_state if ranks is None else ranks.seed(settings.random_state)
        rng = checkpoints.random_state(
            check_random_state(seed), own=settings.random_state is not None
        )
        stages = Stages(settings.verbose if is_first else 0)
        return cls(
            settings, before, is_portion, device, rng, checkpoints, ranks, stages, begin_task
        )

    @property
    def learns_on(self) -> bool:
        """Whether this is another portion of what was learnt before."""
        return self.before is not None and self.is_portion

    @property
    def earlier_history(self) -> list[dict[str, float]]:
        """The epochs of the portions before this one."""
        return self.before.history if self.before is not None and self.is_portion else []

    @property
    def is_alone(self) -> bool:
        """Whether a single process trains, and without checkpoints."""
        return self.ranks is None and not self.checkpoints.is_kept

    def check_same_fit(self, fingerprint: Callable[[], dict[str, str]]) -> None:
        """Raise a ValueError unless a checkpoint is of these data, and all ranks have the same."""
        self.checkpoints.check(fingerprint)
        if self.ranks is None:
            return
        settings = _settings_fingerprint(self.settings, self.device, self.before)
        facts: dict[str, Any] = {
            "random_state": next_number(self.rng),
            "a fitted model to go on from": self.before is not None,
            **fingerprint(),
        }
        same = {name: v for name, v in settings.items() if name not in _MAY_DIFFER_BETWEEN_RANKS}
        self.ranks.check_same(same | facts)

    def end_task(self, attributes: Mapping[str, Any]) -> None:
        """End the task of the fit, and tell scikit-learn's callbacks the fitted attributes."""
        assert self.task is not None
        self.task.end(attributes)

    def dismiss_others(self) -> str | None:
        """Let the other ranks go; return which one this process is, or None for the first."""
        if self.ranks is None:
            return None
        self.ranks.dismiss()
        return None if self.ranks.is_first else f"rank {self.ranks.rank} of {self.ranks.size}"


def _settings_fingerprint(
    settings: Settings, device: str, before: FittedModel | None
) -> dict[str, str]:
    weights = None if before is None else before.pool.network.net.weights
    return settings_fingerprint(settings.as_dict(), device, weights)
