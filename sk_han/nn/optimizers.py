"""AdamW that updates only those rows of an embedding that a batch used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from sk_han.nn.buffers import scratch
from sk_han.nn.compiled import kernels_for, update_rows

__all__ = ["RowwiseAdamW", "clip_gradient_norm"]


class RowwiseAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW` that takes sparse gradients, and updates their rows alone.

    A batch uses a few thousand of the vocabulary's words; a dense step would read and write all
    of them. Moments and weight decay of the other rows do not change until the row is used again,
    as in `torch.optim.SparseAdam`. Parameters with a dense gradient are updated as usual.

    Parameters
    ----------
    params : iterable
    **kwargs
        Of `torch.optim.AdamW`.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and gradient.is_sparse:
                    self._step_rows(parameter, gradient.coalesce(), group)
                    parameter.grad = None  # so that the dense step below skips it
        super().step()
        return loss

    def _step_rows(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        rows, values = gradient.indices()[0], gradient.values()
        if group["amsgrad"] or group["maximize"]:
            raise ValueError("RowwiseAdamW takes sparse gradients without amsgrad and maximize.")
        state = self.state[parameter]
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32, device="cpu")
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        step, (beta1, beta2) = state["step"].item(), group["betas"]
        compiled = kernels_for("adamw", parameter)
        if compiled is not None and parameter.is_contiguous():
            settings = [
                beta1,
                beta2,
                group["lr"] / (1 - beta1**step),
                (1 - beta2**step) ** 0.5,
                group["eps"],
                1 - group["lr"] * group["weight_decay"],
            ]
            update_rows(
                compiled, parameter, state["exp_avg"], state["exp_avg_sq"], rows, values, settings
            )
            return

        mean = _take(state["exp_avg"], rows, "mean").lerp_(values, 1 - beta1)
        square = _take(state["exp_avg_sq"], rows, "square").mul_(beta2)
        square.addcmul_(values, values, value=1 - beta2)
        state["exp_avg"].index_copy_(0, rows, mean)
        state["exp_avg_sq"].index_copy_(0, rows, square)
        denominator = square.div_(1 - beta2**step).sqrt_().add_(group["eps"])
        updated = _take(parameter, rows, "updated").mul_(1 - group["lr"] * group["weight_decay"])
        updated.addcdiv_(mean, denominator, value=-group["lr"] / (1 - beta1**step))
        parameter.index_copy_(0, rows, updated)


@torch.no_grad()
def clip_gradient_norm(parameters: Iterable[Tensor], max_norm: float) -> None:
    """Scale gradients down to a common norm of at most `max_norm`, sparse ones too.

    `torch.nn.utils.clip_grad_norm_` takes dense gradients only.
    """
    values = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
                values.append(parameter.grad.values())
            else:
                values.append(parameter.grad)
    norm = torch.nn.utils.get_total_norm(values)
    if norm > max_norm:
        for value in values:
            value.mul_(max_norm / norm)


def _take(table: Tensor, rows: Tensor, name: str) -> Tensor:
    """Copy rows into reused memory."""
    return torch.index_select(table, 0, rows, out=scratch(name, (len(rows), table.shape[1]), table))
