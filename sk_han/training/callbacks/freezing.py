"""Freeze the word vectors in the first epochs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from skorch.callbacks import Callback


class FrozenEmbedding(Callback):
    """Train the word vectors after the first epochs, whose gradients would damage them.

    Howard and Ruder (2018) unfreeze layers from the top for the same reason.
    """

    def __init__(self, n_epochs: float) -> None:
        self.n_epochs = n_epochs

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Freeze or unfreeze the vectors."""
        net.module_.embedding.weight.requires_grad_(len(net.history) > self.n_epochs)


def epochs_frozen(freeze_embedding: bool | int) -> float:
    """Return the number of epochs that `freeze_embedding` means: True means all epochs, not one."""
    if isinstance(freeze_embedding, (bool, np.bool_)):
        return math.inf if freeze_embedding else 0
    return freeze_embedding
