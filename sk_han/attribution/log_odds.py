"""The score that is explained: the log-odds of a class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.softmax import log_sum_exp, softmax

__all__ = ["LogOdds", "log_odds"]


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of the target of each document, linearized at its logits.

    With the logits ``z`` of the classifier and the target ``t`` the log-odds are
    ``z_t - log(sum_{c != t} exp(z_c))``, and ``z_t - sum_{c != t} q_c z_c`` has the same gradient,
    with the softmax ``q`` over the other classes. For two classes both are ``z_t - z_o``.

    Attributes
    ----------
    scale : float
        Factor of the network's logits in those of the classifier.
    added : ndarray of shape (D, C)
        The scaled logits of the linear models, which are added.
    targets : ndarray of int64, shape (D,)
        Number of the class; -1 for the predicted one.
    """

    scale: float
    added: NDArray[np.float64]
    targets: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> LogOdds:
        return replace(self, added=self.added[rows], targets=self.targets[rows])

    def at(self, position: float, start: NDArray[np.float64]) -> LogOdds:
        """Return the score at a position from 0, where `start` is added, to 1, the documents."""
        return replace(self, added=start + position * (self.added - start))

    def toward(self, targets: NDArray[np.int64]) -> LogOdds:
        """Return the score of these targets."""
        return replace(self, targets=targets)

    def __call__(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the factors of the network's logits, shape (D, C)."""
        return self.scale * self.factors(self.logits(network_logits))

    def logits(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the logits of the classifier, shape (D, C)."""
        return self.scale * network_logits.astype(np.float64) + self.added

    def targets_of(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the explained classes, shape (D,)."""
        return np.where(self.targets >= 0, self.targets, logits.argmax(axis=1))

    def factors(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factors of the classifier's logits, shape (D, C); zero with one class."""
        if logits.shape[1] == 1:
            return np.zeros_like(logits)
        is_target = _is_target(logits, self.targets_of(logits))
        with np.errstate(under="ignore"):  # beside a very likely class, others may round to 0
            return is_target - softmax(np.where(is_target, -np.inf, logits))


def log_odds(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the log-odds of the targets, shape (D,); zero with one class."""
    if logits.shape[1] == 1:
        return np.zeros(len(logits))
    is_target = _is_target(logits, targets)
    with np.errstate(under="ignore"):
        others = log_sum_exp(np.where(is_target, -np.inf, logits))
    return logits[is_target] - others


def _is_target(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.arange(logits.shape[1]) == targets[:, np.newaxis]
