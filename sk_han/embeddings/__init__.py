"""Word vectors: read from files or learnt from text, and aligned with a vocabulary."""

from sk_han.embeddings.alignment import (
    Embeddings,
    embedding_matrix,
    learn_embeddings,
    load_embeddings,
)

__all__ = ["Embeddings", "embedding_matrix", "learn_embeddings", "load_embeddings"]
