"""What another processor's rounding does to training, on this one: initial weights a little off.

With ``SK_HAN_TEST_SHAKE=SEED`` in the environment, each initial weight that a network draws, and
each initial word vector, is multiplied by ``1 + 1e-6 z`` with a normal ``z``: some ten roundings of
single precision. A test that is red then holds what chaos decided: it trained at so high a rate, or
asked so narrow a question, that the last bits of the weights answer it. ``make test-shaken`` runs
the fast tests under five seeds, without those marked ``drawn``, which hold the drawn numbers
themselves. Processes that tests start are not shaken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray

from sk_han.embeddings import _cooccurrence as cooccurrence
from sk_han.nn import _encoders as encoders

SIZE = 1e-6


def factors(shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Return ``1 + SIZE z``: the same for the same shape, so that equal weights stay equal."""
    return 1 + SIZE * np.random.default_rng((seed, *shape)).normal(size=shape)


@contextmanager
def shaking(seed: int) -> Iterator[None]:
    """Shake the initial weights and word vectors of networks."""
    fill, learn_vectors = encoders._fill, cooccurrence.cooccurrence_vectors

    def shaken_fill(tensor: torch.Tensor, drawn: torch.Tensor) -> None:
        if not drawn.is_meta:  # where only the shapes of weights are asked for
            drawn = drawn * torch.from_numpy(factors(tuple(drawn.shape), seed))
        fill(tensor, drawn)

    def shaken_vectors(*args, **kwargs):
        vectors, learnt = learn_vectors(*args, **kwargs)
        return (vectors * factors(vectors.shape, seed)).astype(np.float32), learnt

    with (
        patch.object(encoders, "_fill", shaken_fill),
        patch.object(cooccurrence, "cooccurrence_vectors", shaken_vectors),
    ):
        yield
