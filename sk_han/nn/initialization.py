"""Initial weights drawn from a given generator, so that global random state does not change."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor, nn

_Module = TypeVar("_Module", bound=nn.Module)


def parameter(*shape: int) -> nn.Parameter:
    """Return a weight of zeros in single precision on the CPU, whatever PyTorch's defaults are."""
    return nn.Parameter(torch.zeros(shape, dtype=torch.float32, device="cpu"))


def with_memory(module: _Module) -> _Module:
    """Give the weights of a layer from the meta device memory on the CPU, in single precision.

    There PyTorch draws none by its global generator. Its own `to_empty` and `skip_init` import
    SymPy, which takes half a second of a new process.
    """
    for name, weight in list(module.named_parameters()):
        empty = torch.empty(weight.shape, dtype=torch.float32, device="cpu")
        setattr(module, name, nn.Parameter(empty))
    return module


def uniform_(tensor: Tensor, bound: float, generator: torch.Generator | None) -> None:
    """Fill with numbers between -bound and bound."""
    _fill(tensor, _single(tensor).uniform_(-bound, bound, generator=generator))


def normal_(tensor: Tensor, std: float, generator: torch.Generator | None) -> None:
    """Fill with normal numbers of mean 0."""
    _fill(tensor, _single(tensor).normal_(0.0, std, generator=generator))


def xavier_uniform_(weight: Tensor, generator: torch.Generator | None) -> None:
    """Fill a matrix of shape (out, in) as Glorot and Bengio (2010) advise."""
    uniform_(weight, (6.0 / (weight.shape[0] + weight.shape[1])) ** 0.5, generator)


@torch.no_grad()
def _fill(tensor: Tensor, drawn: Tensor) -> None:
    # Every drawn weight of every network comes through here: tests shake them (tests/shaking.py).
    tensor.copy_(drawn)


def _single(tensor: Tensor) -> Tensor:
    # The weights of a seed must not depend on PyTorch's default dtype and device.
    return torch.empty(tensor.shape, dtype=torch.float32, device="cpu")
