"""Initial weights drawn from a given generator, so that global random state does not change."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["normal_", "uniform_", "xavier_uniform_"]


@torch.no_grad()
def uniform_(tensor: Tensor, bound: float, generator: torch.Generator | None) -> None:
    """Fill with numbers between -bound and bound."""
    tensor.copy_(_single(tensor).uniform_(-bound, bound, generator=generator))


@torch.no_grad()
def normal_(tensor: Tensor, std: float, generator: torch.Generator | None) -> None:
    """Fill with normal numbers of mean 0."""
    tensor.copy_(_single(tensor).normal_(0.0, std, generator=generator))


def xavier_uniform_(weight: Tensor, generator: torch.Generator | None) -> None:
    """Fill a matrix of shape (out, in) as Glorot and Bengio (2010) advise."""
    uniform_(weight, (6.0 / (weight.shape[0] + weight.shape[1])) ** 0.5, generator)


def _single(tensor: Tensor) -> Tensor:
    # The weights of a seed must not depend on PyTorch's default dtype and device.
    return torch.empty(tensor.shape, dtype=torch.float32, device="cpu")
