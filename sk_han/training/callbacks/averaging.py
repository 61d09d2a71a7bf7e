"""The moving average of a network's weights, which predicts better than the last weights."""

from __future__ import annotations

from typing import Any

import torch
from skorch.callbacks import Callback
from torch import Tensor


class WeightAveraging(Callback):
    """Replace the weights by their exponential moving average in validation and after training.

    After step t, ``m_t = d m_{t-1} + (1 - d) w_t`` over ``1 - d^t`` is the average, unbiased by
    ``m_0 = 0``, a correction of Kingma and Ba (2015); in the average of Polyak and Juditsky (1992)
    all steps weigh the same. A step changes few word vectors, and k steps without a change are
    averaged at once, ``m_{t+k} = d^k m_t + (1 - d^k) w_t``: before each step only the rows that it
    changes.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Reset the state of an earlier training."""
        self.step_ = 0
        self.averages_ = [_Average(p, self.decay) for p in net.module_.parameters()]

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Restore the weights, to train them further."""
        for average in self.averages_:
            average.restore_weights()

    def on_grad_computed(self, net: Any, **kwargs: Any) -> None:
        """Average the weights that a step is about to change."""
        for average in self.averages_:
            average.before_step(self.step_)
        self.step_ += 1

    def on_batch_begin(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        """Validate with the averages."""
        if not training:
            self._use_averages()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Put the averages in place, for other callbacks to copy and score."""
        self._use_averages()

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Keep the averages, and drop the weights that they replaced."""
        self.averages_ = []

    def state_dict(self) -> dict[str, Any]:
        """Return the averages, for a checkpoint."""
        return {"step": self.step_, "averages": [average.state() for average in self.averages_]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the averages of a checkpoint."""
        self.step_ = int(state["step"])
        for average, stored in zip(self.averages_, state["averages"], strict=True):
            average.restore(stored)

    def _use_averages(self) -> None:
        for average in self.averages_:
            average.use(self.step_)


class _Average:
    """The average of one parameter, and the last averaged step of each of its rows."""

    def __init__(self, parameter: Tensor, decay: float) -> None:
        self.parameter, self.decay = parameter, decay
        n_rows = len(parameter) if parameter.dim() else 1
        self.weights = parameter.detach().view(n_rows, -1)  # shares the parameter's memory
        self.mean: Tensor | None = None  # stays None for a parameter that is not trained
        self.own_weights: Tensor | None = None

    def before_step(self, step: int) -> None:
        """Average the rows that have a gradient; the step does not change the others."""
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

    def use(self, step: int) -> None:
        """Replace the weights by the average."""
        if self.mean is not None and self.own_weights is None:
            self._catch_up(self.mean, slice(None), step)
            self.own_weights = self.weights.clone()
            torch.div(self.mean, 1 - self.decay**step, out=self.weights)

    def restore_weights(self) -> None:
        """Restore the weights after `use`."""
        if self.own_weights is not None:
            self.weights.copy_(self.own_weights)
            self.own_weights = None

    def state(self) -> dict[str, Tensor] | None:
        """Return the average, or None if there is none yet."""
        if self.mean is None:
            return None
        state = {"mean": self.mean, "steps": self.averaged_steps}
        return state if self.own_weights is None else {**state, "weights": self.own_weights}

    def restore(self, state: dict[str, Tensor] | None) -> None:
        """Set the average to that of `state`."""
        if state is None:
            return
        n_rows = len(self.weights)
        self.mean = _like(self.weights, state["mean"])
        self.averaged_steps = _like(self.weights.new_zeros(n_rows, 1), state["steps"])
        if "weights" in state:
            self.own_weights = _like(self.weights, state["weights"])

    def _catch_up(self, mean: Tensor, rows: Tensor | slice, step: int) -> None:
        decay = self.decay ** (step - self.averaged_steps[rows])
        mean[rows] = torch.lerp(self.weights[rows], mean[rows], decay)
        self.averaged_steps[rows] = step


def _like(tensor: Tensor, stored: Tensor) -> Tensor:
    """Return a stored tensor of the same shape, on the same device."""
    if stored.shape != tensor.shape:
        raise ValueError(f"an average has the shape {tuple(stored.shape)}")
    return stored.to(tensor)
