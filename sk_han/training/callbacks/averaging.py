"""The running average of a network's weights, which predicts better than the last ones."""

from __future__ import annotations

from typing import Any

import torch
from skorch.callbacks import Callback
from torch import Tensor

__all__ = ["WeightAveraging"]


class WeightAveraging(Callback):
    """Validate with, and in the end keep, the exponential moving average of the weights.

    After step t of weights w_t the average is ``m_t = d m_{t-1} + (1 - d) w_t`` with ``m_0 = 0``,
    and ``m_t / (1 - d^t)`` stands in for the weights: without the correction the first steps
    count as zeros. (Polyak and Juditsky, 1992, average all steps alike; the correction is that
    of Kingma and Ba, 2015.)

    A step changes few of the word vectors, and k steps without a change are averaged at once:
    ``m_{t+k} = d^k m_t + (1 - d^k) w_t``. So a step averages the rows that it is about to change,
    and validation catches up with the others.

    Parameters
    ----------
    decay : float
        The share d of the average that stays in a step: about the last ``1 / (1 - d)`` steps
        count.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Forget an earlier training."""
        self.step_ = 0
        self.averages_ = [_Average(p, self.decay) for p in net.module_.parameters()]

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Train on from the weights themselves."""
        for average in self.averages_:
            average.stand_down()

    def on_grad_computed(self, net: Any, **kwargs: Any) -> None:
        """Average the weights that a step is about to change."""
        for average in self.averages_:
            average.before_step(self.step_)
        self.step_ += 1

    def on_batch_begin(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Validate with the averages."""
        if not training:
            self._stand_in()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Let other callbacks copy and score the averages."""
        self._stand_in()

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Keep the averages, and forget the weights that they stand in for."""
        self.averages_ = []

    def _stand_in(self) -> None:
        for average in self.averages_:
            average.stand_in(self.step_)


class _Average:
    """The average of one parameter, and up to which step each of its rows is averaged."""

    def __init__(self, parameter: Tensor, decay: float) -> None:
        self.parameter, self.decay = parameter, decay
        n_rows = len(parameter) if parameter.dim() else 1
        self.weights = parameter.detach().view(n_rows, -1)  # shares the parameter's memory
        self.mean: Tensor | None = None  # a parameter that is not learnt stays as it is
        self.own_weights: Tensor | None = None

    def before_step(self, step: int) -> None:
        """Average the rows that have a gradient; the others will be the same after the step."""
        gradient = self.parameter.grad
        if gradient is None:
            return
        if self.mean is None:
            self.mean = torch.zeros_like(self.weights)
            self.averaged_steps = self.weights.new_zeros(len(self.weights), 1)
        if gradient.is_sparse:
            self.parameter.grad = gradient.coalesce()
            self._catch_up(self.mean, self.parameter.grad.indices()[0], step)
        else:
            self._catch_up(self.mean, slice(None), step)

    def stand_in(self, step: int) -> None:
        """Put the average in place of the weights."""
        if self.mean is not None and self.own_weights is None:
            self._catch_up(self.mean, slice(None), step)
            self.own_weights = self.weights.clone()
            torch.div(self.mean, 1 - self.decay**step, out=self.weights)

    def stand_down(self) -> None:
        """Put the weights back."""
        if self.own_weights is not None:
            self.weights.copy_(self.own_weights)
            self.own_weights = None

    def _catch_up(self, mean: Tensor, rows: Tensor | slice, step: int) -> None:
        stays = self.decay ** (step - self.averaged_steps[rows])
        mean[rows] = torch.lerp(self.weights[rows], mean[rows], stays)
        self.averaged_steps[rows] = step
