"""The protocol of a part of a model: what scores documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from sk_han.documents import Coalitions, DocumentArray
from sk_han.storage.schema import Schema, Variants
from sk_han.targets import Target
from sk_han.utils.array_types import Floats

_WORDS_AT_ONCE = 1 << 18  # of documents that are copies of parts of others


class Part(ABC):
    """A model that scores documents, one of those that a `Pool` adds up.

    A part is learnt once and does not change. Loading one loads neither PyTorch nor SciPy.
    """

    kind: ClassVar[str]  # the name under which its kind is stored
    SCHEMA: ClassVar[Schema | Variants]  # of its state; letters: K scores, B binary problems
    # Whether its scores are sums over n-grams; it then has `ngram_range`, `ngram_attributions` and
    # `class_weights` of an `NgramModel`.
    sums_ngrams: ClassVar[bool] = False

    def check(self, documents: DocumentArray) -> None:  # noqa: B027  (most read word ids alone)
        """Check that a user's documents hold what the part reads, or raise a ValueError."""

    @abstractmethod
    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K)."""

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences of the documents, shape (M, K)."""
        portions = coalitions.portions(documents.words_per_sentence, _WORDS_AT_ONCE)
        return np.concatenate([self.logits(some.documents(documents)) for some in portions])

    @abstractmethod
    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, by factors (D, K), among the words, (T,)."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return what it has learnt as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Any, target: Target, device: str) -> Part:
        """Restore a part for a device from a state that `SCHEMA` has checked."""
