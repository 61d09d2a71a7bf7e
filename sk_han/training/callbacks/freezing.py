"""Keep the word vectors as they are for the first epochs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from skorch.callbacks import Callback

__all__ = ["FrozenEmbedding", "epochs_frozen"]


class FrozenEmbedding(Callback):
    """Train the word vectors only after the first epochs.

    At the start the layers above are noise, and their gradients would pull pretrained vectors
    apart before the layers have learnt to read them (Howard and Ruder, 2018, unfreeze for the same
    reason from the top).

    Parameters
    ----------
    n_epochs : float
        Number of epochs in which the vectors stay as they are; infinity for all.
    """

    def __init__(self, n_epochs: float) -> None:
        self.n_epochs = n_epochs

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Freeze the vectors, or let them go."""
        net.module_.embedding.weight.requires_grad_(len(net.history) > self.n_epochs)


def epochs_frozen(freeze_embedding: bool | int) -> float:
    """Give the number of epochs that `freeze_embedding` of `HANClassifier` stands for.

    True is not 1 here: it stands for all.
    """
    if isinstance(freeze_embedding, (bool, np.bool_)):
        return math.inf if freeze_embedding else 0
    return freeze_embedding
