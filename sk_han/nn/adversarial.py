"""Adversarial noise: the change of word vectors that raises the loss most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def adversarial_noise(vectors: Tensor, size: float) -> Iterator[None]:
    """Move word vectors along their gradient, and restore them exactly at the end.

    ``r = size * ||V||_F * G / ||G||_F`` is added to the rows V of `vectors`, (V, E), that have a
    gradient G: in linear approximation the step of its length that raises the loss most (Miyato,
    Dai and Goodfellow, 2017). Relative to V, for the network could evade the noise by longer ones.
    """
    if vectors.grad is None:
        yield
        return
    rows, gradient = rows_with_gradient(vectors.grad)
    length = gradient.norm()
    with torch.no_grad():
        before = vectors[rows]  # (U, E), a copy
        if length > 0:  # a gradient that is zero or NaN has no direction
            vectors.index_copy_(0, rows, before + gradient * (size * before.norm() / length))
    try:
        yield
    finally:
        with torch.no_grad():
            vectors.index_copy_(0, rows, before)


def rows_with_gradient(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers (U,) and the values (U, E) of the rows that are not zero."""
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        return gradient.indices()[0], gradient.values()
    rows = gradient.any(dim=1).nonzero().squeeze(1)
    return rows, gradient[rows]
