"""Training utilities: an optimizer, gradient clipping, adversarial noise, a multilabel loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from sk_han._kernels import engine
from sk_han.nn._encoders import kernels_cover, on_arrays


class RowwiseAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW` that accepts sparse gradients, and then updates only their rows.

    Moments and weight decay of a row are updated only in steps whose gradient has the row, as in
    `torch.optim.SparseAdam`. Parameters with a dense gradient are updated as usual.
    """

    # PyTorch wraps these methods to exclude them from compilation, and imports its compiler for
    # that, which costs a second and 66 MB in each process that fits.
    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)
    _step_dense = inspect.unwrap(torch.optim.AdamW.step)

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
                    # The dense step below skips parameters without a gradient.
                    parameter.grad = None
        self._step_dense()
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
        step, (beta1, beta2), eps = state["step"].item(), group["betas"], group["eps"]
        means, squares = state["exp_avg"], state["exp_avg_sq"]
        rate, kept = group["lr"] / (1 - beta1**step), 1 - group["lr"] * group["weight_decay"]
        if parameter.is_contiguous() and kernels_cover(parameter):
            settings = [beta1, beta2, rate, (1 - beta2**step) ** 0.5, eps, kept]
            own = parameter, means, squares, rows, values
            on_arrays(engine.update_rows, *own, np.array(settings, dtype=np.float32))
            return

        mean = means[rows].lerp_(values, 1 - beta1)
        square = squares[rows].mul_(beta2).addcmul_(values, values, value=1 - beta2)
        means.index_copy_(0, rows, mean)
        squares.index_copy_(0, rows, square)
        denominator = square.div_(1 - beta2**step).sqrt_().add_(eps)
        updated = parameter[rows].mul_(kept).addcdiv_(mean, denominator, value=-rate)
        parameter.index_copy_(0, rows, updated)


@torch.no_grad()
def clip_gradient_norm(parameters: Iterable[Tensor], max_norm: float) -> None:
    """Clip the common norm of all gradients, including sparse ones, to `max_norm`."""
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


@contextmanager
def adversarial_noise(vectors: Tensor, size: float) -> Iterator[None]:
    """Add adversarial noise to word vectors inside the block, and restore them exactly at its end.

    ``r = size * ||V||_F * G / ||G||_F`` is added to the rows V of `vectors`, (V, E), that have a
    gradient G: in linear approximation, the noise of this length that increases the loss most
    (Miyato, Dai and Goodfellow, 2017). The length is relative to that of V, because the network
    could evade noise of a fixed length by making its vectors longer.
    """
    if vectors.grad is None:
        yield
        return
    if vectors.grad.is_sparse:
        sparse = vectors.grad.coalesce()
        rows, gradient = sparse.indices()[0], sparse.values()  # (U,), (U, E)
    else:
        rows = vectors.grad.any(dim=1).nonzero().squeeze(1)
        gradient = vectors.grad[rows]
    length = gradient.norm()
    with torch.no_grad():
        before = vectors[rows]  # (U, E), a copy
        # A gradient that is zero or NaN has no direction.
        if length > 0:
            vectors.index_copy_(0, rows, before + gradient * (size * before.norm() / length))
    try:
        yield
    finally:
        with torch.no_grad():
            vectors.index_copy_(0, rows, before)


class BinaryLosses(nn.Module):
    """Sum of the binary cross-entropies of all labels of a document.

    `positive` and `negative` are weights (L,) of documents with each label and without it.
    `label_smoothing` moves this share of the truth to the uniform distribution over both (Szegedy
    et al., 2016).
    """

    positive: Tensor | None
    negative: Tensor | None

    def __init__(
        self,
        positive: Tensor | None = None,
        negative: Tensor | None = None,
        reduction: str = "none",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if reduction != "none":
            raise ValueError(f"reduction must be 'none'; got {reduction!r}.")
        # The weights belong to this fit, so they are not part of the stored state.
        self.register_buffer("positive", positive, persistent=False)
        self.register_buffer("negative", negative, persistent=False)
        self.label_smoothing = label_smoothing

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each document, (D,), for logits (D, L) and truths from 0 to 1."""
        truths = targets.to(logits)
        if self.label_smoothing:
            truths = truths * (1 - self.label_smoothing) + self.label_smoothing / 2
        weights = None
        if self.positive is not None and self.negative is not None:
            weights = truths * self.positive + (1 - truths) * self.negative
        losses = binary_cross_entropy_with_logits(logits, truths, weights, reduction="none")
        return losses.sum(dim=1)
