"""Dropout that draws from a given generator, on the CPU: a seed has its noise on every device.

`torch.nn.functional.dropout` takes no generator, so that two fits in two threads would change each
other's numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor


def dropout(vectors: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Set a share `p` of the entries to zero and scale the others (Srivastava et al., 2014)."""
    if p == 0.0:
        return vectors
    keep = _bernoulli(vectors.shape, 1.0 - p, generator)
    return vectors * keep.to(vectors).div_(1.0 - p)


def word_dropout(
    word_ids: Tensor, p: float, unknown_id: int, generator: torch.Generator | None
) -> Tensor:
    """Replace a share `p` of the words by the unknown word."""
    if p == 0.0:
        return word_ids
    drop = _bernoulli(word_ids.shape, p, generator)
    return word_ids.masked_fill(drop.to(word_ids.device), unknown_id)


def _bernoulli(shape: torch.Size, p: float, generator: torch.Generator | None) -> Tensor:
    """Draw True with probability `p`, to the nearest 1 / 65,536 but not less than that.

    Four numbers of 16 bits from each of 64 take a seventh of the time of `Tensor.bernoulli_`.
    """
    n = shape.numel()
    bits = torch.empty((n + 3) // 4, dtype=torch.int64, device="cpu")
    bits.random_(-(2**63), None, generator=generator)
    smallest = 2**15 - max(round(p * 2**16), 1)
    return (bits.view(torch.int16)[:n] >= smallest).view(shape)


def row_dropout(
    n_rows: int, p: float, generator: torch.Generator | None, like: Tensor
) -> Tensor | None:
    """Draw factors (n_rows, 1) that drop a share `p` of the rows of a table; None where it is 0."""
    if p == 0.0:
        return None
    keep = _bernoulli(torch.Size((n_rows, 1)), 1.0 - p, generator)
    return keep.to(like).div_(1.0 - p)
