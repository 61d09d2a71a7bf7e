"""Documents of sentence vectors: SentenceEmbedder, and the network that reads them.

The network loads on first use: an embedder does without PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sk_han.sentence_vectors._embedder import SentenceEmbedder

if TYPE_CHECKING:
    from sk_han.sentence_vectors._network import SentenceNetwork

__all__ = ["SentenceEmbedder", "SentenceNetwork"]


def __getattr__(name: str) -> Any:
    if name != "SentenceNetwork":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sk_han.sentence_vectors._network import SentenceNetwork

    return SentenceNetwork
