"""Adversarial noise on word vectors: what would hurt the network most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

__all__ = ["adversarial_noise"]


@contextmanager
def adversarial_noise(vectors: Tensor, size: float) -> Iterator[None]:
    """Move word vectors along their gradient, and put them back at the end, bit by bit.

    ``r = size * ||V||_F * G / ||G||_F`` is added to the rows V of `vectors` that have a gradient G:
    to a linear approximation the step of this length that raises the loss most (Miyato, Dai and
    Goodfellow, 2017). They normalize the vectors, so that the network cannot escape by making them
    longer; here the length of the step follows that of the vectors. All places of a word move
    together, so that the distinct words of a batch are still encoded once.

    Parameters
    ----------
    vectors : Tensor, shape (V, E)
        With a dense or sparse gradient; without one nothing moves.
    size : float
        Length of the step as a share of the length of what is moved.

    References
    ----------
    Miyato, Dai, Goodfellow (2017). Adversarial Training Methods for Semi-Supervised Text
    Classification. ICLR.
    """
    if vectors.grad is None:
        yield
        return
    rows, gradient = _rows_with_gradient(vectors.grad)
    length = gradient.norm()
    with torch.no_grad():
        before = vectors[rows]  # (U, E), a copy
        if length > 0:  # else, and where it is no number, there is no direction
            vectors.index_copy_(0, rows, before + gradient * (size * before.norm() / length))
    try:
        yield
    finally:
        with torch.no_grad():
            vectors.index_copy_(0, rows, before)


def _rows_with_gradient(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers (U,) and values (U, E) of the rows that are not zero."""
    if gradient.is_sparse:
        gradient = gradient.coalesce()
        return gradient.indices()[0], gradient.values()
    rows = gradient.any(dim=1).nonzero().squeeze(1)
    return rows, gradient[rows]
