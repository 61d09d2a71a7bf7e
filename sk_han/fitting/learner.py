"""The protocol of a learner: how a part of the model, or several together, learn in a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.parts import Pool


class ScalePrior(NamedTuple):
    """What scale the logits of a part usually have beside others; its logarithm is normal."""

    median: float
    spread: float


class Fitted(NamedTuple):
    """What a learner has learnt."""

    pool: Pool  # one part, or several with scales to each other; empty if nothing was learnt
    title: str  # what the summary of the fit calls it
    # Logits (H, K) of `FitData.validation` by models that have not learnt from it; NaN where there
    # is none, and None if nothing is known of them.
    unseen: NDArray[np.float64] | None
    prior: ScalePrior | None = None  # of the factor of its scales; None for what the network says
    beside: ScalePrior | None = None  # of other parts beside this one; the network tells it
    holds_factor: bool = False  # whether its scales have the factor of an earlier fit
    is_of_new_kind: bool = False  # whether scales of an earlier fit say nothing of it
    is_network: bool = False


class Learner(ABC):
    """How parts learn. A learner lives as long as the fit, and is never stored."""

    @classmethod
    @abstractmethod
    def of(cls, data: FitData, context: FitContext) -> Learner | None:
        """Return the learner for a fit, or None if it has nothing to learn in it.

        It checks what it can before anything learns, which may take long: the memory, say.
        """

    def prepare(self, data: FitData, context: FitContext) -> None:  # noqa: B027  (not all do)
        """Learn from text without labels, before any learner fits."""

    def teach(self, data: FitData, context: FitContext) -> Pool | None:
        """Learn what labels text to pre-train the network on; None for nothing of the kind."""
        return None

    @abstractmethod
    def fit(self, data: FitData, context: FitContext, teacher: Pool | None) -> Fitted:
        """Learn, from the beginning or on from `FitContext.before`."""
