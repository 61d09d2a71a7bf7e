"""The score that is explained: the log-odds of a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.inspection.methods.target_labels import Asked
from sk_han.parts import Pool
from sk_han.parts.pool import NETWORK


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of a label of each document, linearized at its logits, as the network sees them.

    With the logits ``z`` of the pool and one class ``t`` of several the log-odds are
    ``z_t - log(sum_{c != t} exp(z_c))``, and ``z_t - sum_{c != t} q_c z_c`` has the same gradient,
    with the softmax ``q`` over the other classes. For two classes, and against one class ``o``,
    both are ``z_t - z_o``.
    """

    pool: Pool
    added: NDArray[np.float64]  # (D, K), scaled logits of the parts beside the network
    asked: Asked  # of D documents

    @classmethod
    def of(cls, pool: Pool, documents: DocumentArray, asked: Asked) -> LogOdds:
        """Return the score of what is asked of documents."""
        return cls(pool, pool.others.logits(documents), asked)

    def __getitem__(self, rows: Any) -> LogOdds:
        return replace(self, added=self.added[rows], asked=self.asked[rows])

    def at(self, position: float, start: NDArray[np.float64]) -> LogOdds:
        """Return the score at a position from 0, where `start` is added, to 1, the documents."""
        return replace(self, added=start + position * (self.added - start))

    def toward(self, targets: NDArray[np.int64]) -> LogOdds:
        """Return the score of these labels."""
        return replace(self, asked=replace(self.asked, targets=targets))

    def __call__(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the factors of the network's logits, shape (D, K)."""
        return self.pool.scales[NETWORK] * self.factors(self.logits(network_logits))

    def logits(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the logits of the pool, shape (D, K)."""
        return self.pool.scales[NETWORK] * network_logits.astype(np.float64) + self.added

    def targets_of(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the explained labels, shape (D,)."""
        return self.asked.labels(self.pool.target, logits)

    def factors(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factors of the pool's logits, shape (D, K)."""
        return self.pool.target.factors(logits, self.targets_of(logits), self.asked.rivals)

    def of_logits(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of the explained labels, shape (D,)."""
        return self.pool.target.log_odds(logits, self.targets_of(logits), self.asked.rivals)
