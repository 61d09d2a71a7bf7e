"""AdamW that touches only the rows of an embedding that a batch used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["RowwiseAdamW"]


class RowwiseAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW` that takes sparse gradients, and updates their rows alone.

    A batch uses a few thousand of the vocabulary's words, and a dense step would read and write
    all of them. Moments and weight decay of the other rows wait until the row is used again, as
    in `torch.optim.SparseAdam`; parameters with a dense gradient are updated as ever.

    Parameters
    ----------
    params : iterable
    **kwargs
        Of `torch.optim.AdamW`.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.grad.is_sparse:
                    self._step_rows(parameter, group)
                    parameter.grad = None  # the dense step below passes over it
        super().step()
        return loss

    def _step_rows(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient = parameter.grad.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
        state = self.state[parameter]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        step, (beta1, beta2) = state["step"].item(), group["betas"]

        mean = state["exp_avg"][rows].lerp_(values, 1 - beta1)
        square = state["exp_avg_sq"][rows].mul_(beta2).addcmul_(values, values, value=1 - beta2)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        denominator = square.div_(1 - beta2**step).sqrt_().add_(group["eps"])
        change = mean.div_(denominator).mul_(-group["lr"] / (1 - beta1**step))
        if group["weight_decay"]:
            change.add_(parameter[rows], alpha=-group["lr"] * group["weight_decay"])
        parameter.index_add_(0, rows, change)
