"""The part of a model that reads sentence vectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sk_han.documents import DocumentArray
from sk_han.parts.network import NETWORK_SCHEMAS, SENTENCE_NETWORK, Attribution
from sk_han.parts.trained_network import TrainedNetwork
from sk_han.sentence_vectors.network import sentence_gradient
from sk_han.sentence_vectors.training import sentence_net_from_state
from sk_han.targets import Target


class TrainedSentenceNetwork(TrainedNetwork):
    """A network over sentence vectors; words share what their sentence brings."""

    kind = SENTENCE_NETWORK
    SCHEMA = NETWORK_SCHEMAS[kind]

    def gradient_attention(
        self, documents: DocumentArray, score: Callable[..., Any]
    ) -> Attribution:
        """Multiply sentence vectors by the gradient of a score at them."""
        return self._attribution(sentence_gradient, documents, score)

    def gradient_input(
        self, documents: DocumentArray, score: Callable[..., Any], position: float = 1.0
    ) -> Attribution:
        """Multiply sentence vectors by the gradient of a score at a multiple of them."""
        return self._attribution(partial(sentence_gradient, by=position), documents, score)

    @classmethod
    def from_state(cls, state: Any, target: Target, device: str) -> TrainedSentenceNetwork:
        """Restore a network, for prediction alone."""
        return cls(sentence_net_from_state(state, device))
