"""The network part, computed by its skorch net."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sk_han._documents import Coalitions, DocumentArray
from sk_han._parts.pool import Attribution, NetworkPart, Score
from sk_han._targets import Target
from sk_han._training.builder import net_to_state, stored_net
from sk_han._training.net import Net
from sk_han._utils.containers import Floats

# Sentences of the sets that are scored at once, which limits the memory.
_SENTENCES_AT_ONCE = 1 << 16


class TrainedNetwork(NetworkPart):
    """The network part with its PyTorch module; see `NetworkPart`."""

    def __init__(self, net: Net) -> None:
        self.net = net

    @property
    def batch_size(self) -> int:
        """Number of documents that it reads at once."""
        return int(self.net.valid_batch_size)

    @property
    def options(self) -> Any:
        """The options that the network was built from."""
        return self.net.module_.options

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K)."""
        return self.net.outputs(documents).astype(np.float64)

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences, (M, K); the words of each sentence are encoded once."""
        vectors = self.net.compute("sentence_vectors", documents).vectors
        one_each = np.ones(len(vectors), dtype=np.int64)
        logits = [
            self.net.read_sentences(vectors, sets)
            for sets in coalitions.portions(one_each, _SENTENCES_AT_ONCE)
        ]
        return np.concatenate(logits).astype(np.float64)

    def vectors(self, documents: DocumentArray) -> NDArray[np.float32]:
        """Return the input of the last layer, shape (D, H)."""
        return self.net.outputs(documents, "vectors")

    def attend(self, documents: DocumentArray) -> Attribution:
        """Return logits and attention, without contributions."""
        output = self.net.compute("attend", documents)
        return Attribution(
            _array(output.logits),
            _array(output.word_attention),
            _array(output.sentence_attention),
            np.zeros(documents.n_words),
        )

    def gradient_attention(self, documents: DocumentArray, score: Score) -> Attribution:
        """Multiply the attention by the gradient of a score at it."""
        attribution = self.net.compute("gradient_attention", documents, score)
        return Attribution(*map(_array, attribution))

    def to_state(self) -> dict[str, Any]:
        """Return sizes, options and weights."""
        return net_to_state(self.net)

    @classmethod
    def from_state(cls, state: Any, target: Target, device: str) -> TrainedNetwork:
        """Restore a network, for prediction alone."""
        return cls(stored_net(state, device))


def _array(values: Tensor) -> Floats:
    return values.numpy(force=True).astype(np.float64)
