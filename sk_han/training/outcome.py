"""What training has come to: whether a network has learnt anything at all."""

from __future__ import annotations

import numpy as np

from sk_han.documents import LabelledDocuments
from sk_han.targets import Target
from sk_han.training.net import Net
from sk_han.utils.warnings import warn_user

__all__ = ["warned_that_nothing_is_learnt"]

_N_DOCUMENTS = 1000
# After a single epoch of a few documents the loss is up to 0.3 above that of a guess that takes all
# classes for alike, with labels drawn at random below it; with lr=10 it is 0.6 above, with 100 10.
_MARGIN = 0.5


def warned_that_nothing_is_learnt(
    net: Net, target: Target, training: LabelledDocuments, lr: float
) -> bool:
    """Warn if a blind guess tells much more of the training documents than the network.

    Parameters
    ----------
    net : Net
        Trained, with logits of the target.
    target : Target
    training : LabelledDocuments
        What it was trained on; up to 1,000 of them are read.
    lr : float
        The learning rate, for the message.

    Returns
    -------
    bool
        Whether it warned.
    """
    rows = np.linspace(0, len(training) - 1, min(len(training), _N_DOCUMENTS)).astype(np.int64)
    some = training[rows]
    logits = net.logits(some.documents).astype(np.float64)
    loss, _ = target.loss(logits, some.targets, some.weights / some.weights.sum())
    of_frequencies = target.loss_of_frequencies(some.targets, some.weights)
    if loss <= target.loss_of_nothing() + _MARGIN:
        return False
    warn_user(
        f"The network has learnt nothing: on its training documents its loss is {loss:.3g}, "
        f"and that of the class frequencies alone {of_frequencies:.3g}. Lower lr={lr:g} (by "
        "default 0.006), train for more epochs, or check that labels belong to their documents."
    )
    return True
