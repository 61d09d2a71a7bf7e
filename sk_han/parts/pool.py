"""The pool of models that score documents: the sum of their scaled logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.documents.lazy import portions

__all__ = ["ScoringModel", "pooled_logits"]


class ScoringModel(Protocol):
    """A model that scores documents: the network or the linear model."""

    def logits(self, documents: DocumentArray) -> NDArray[Any]:
        """Score documents, shape (D, C)."""


def pooled_logits(
    documents: DocumentArray, models: Sequence[tuple[float, ScoringModel]]
) -> NDArray[np.float64]:
    """Compute the sum of scaled logits, shape (D, C): a logarithmic opinion pool.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)
    models : sequence of (scale, model)
        At least one.
    """
    # What lies on the disk is read once for all models.
    pooled = [_pooled(portion.in_memory(), models) for portion in portions(documents)]
    return pooled[0] if len(pooled) == 1 else np.concatenate(pooled)


def _pooled(
    documents: DocumentArray, models: Sequence[tuple[float, ScoringModel]]
) -> NDArray[np.float64]:
    scaled = [scale * model.logits(documents).astype(np.float64) for scale, model in models]
    total: NDArray[np.float64] = sum(scaled[1:], start=scaled[0])
    return total
