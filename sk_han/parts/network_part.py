"""The protocol of the part that reads documents with attention, whatever computes it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.parts.part import Part
from sk_han.storage.network_schema import NETWORK
from sk_han.storage.schema import Variants
from sk_han.utils.array_types import Floats

SENTENCE_NETWORK = "sentence_network"  # the kind of the part that reads sentence vectors


def _reading(what: str) -> Variants:
    return Variants("reads", {what: NETWORK.schemas[what]})


NETWORK_SCHEMAS = {"network": _reading("words"), SENTENCE_NETWORK: _reading("vectors")}


class Attribution(NamedTuple):
    """What a network says of a batch of documents, and what each word brings to a score."""

    logits: Floats  # (D, K)
    word_attention: Floats  # (T,)
    sentence_attention: Floats  # (N,)
    words: Floats  # (T,), zeros where no contributions were asked for


class NetworkPart(Part):
    """A network of words, sentences and documents, which pools them by attention."""

    kind = "network"
    SCHEMA = NETWORK_SCHEMAS[kind]

    @abstractmethod
    def attend(self, documents: DocumentArray) -> Attribution:
        """Return logits and attention, without contributions."""

    @abstractmethod
    def gradient_attention(
        self, documents: DocumentArray, score: Callable[[NDArray[Any]], Floats]
    ) -> Attribution:
        """Multiply the attention by the gradient of a score at it.

        ``score(logits)`` is the factor of each, (D, K); ``score[rows]`` that of some documents.
        """

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words; see `Part.attributions`."""
        return self.gradient_attention(documents, ConstantScore(factors)).words


@dataclass(frozen=True)
class ConstantScore:
    """A score whose factors are known, whatever the logits."""

    factors: Floats

    def __getitem__(self, rows: Any) -> ConstantScore:
        return ConstantScore(self.factors[rows])

    def __call__(self, logits: NDArray[Any]) -> Floats:
        """Return the factors, (D, K)."""
        return self.factors
