"""Documents of sentence vectors: SentenceEmbedder, and the network that reads them.

The network loads on first use: an embedder does without PyTorch.
"""

from sk_han._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
