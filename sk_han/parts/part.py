"""The protocol of a part of a model: what scores documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.storage.schema import Schema, Variants
from sk_han.targets import Target

__all__ = ["Part"]


class Part(ABC):
    """A model that scores documents, one of those that a `Pool` adds up.

    A part is learnt once and does not change. Loading one loads neither PyTorch nor SciPy.

    Attributes
    ----------
    kind : str
        The name under which its kind is stored.
    SCHEMA : kind of `sk_han.storage.schema`
        What its state holds, in letters of the target: K scores, B binary problems.
    sums_ngrams : bool
        Whether its scores are sums over n-grams; it then has `ngram_range`, `ngram_attributions`
        and `class_weights` of an `NgramModel`.
    """

    kind: ClassVar[str]
    SCHEMA: ClassVar[Schema | Variants]
    sums_ngrams: ClassVar[bool] = False

    @abstractmethod
    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Score documents, shape (D, K)."""

    @abstractmethod
    def attributions(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Divide a linear score of the logits among the words.

        Parameters
        ----------
        documents : DocumentArray of shape (D,)
        factors : ndarray of shape (D, K)
            Factors of the logits in the score of each document.

        Returns
        -------
        ndarray of shape (n_words,)
        """

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return what it has learnt as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Any, target: Target, device: str) -> Part:
        """Restore a part for a device from a state that `SCHEMA` has checked."""
