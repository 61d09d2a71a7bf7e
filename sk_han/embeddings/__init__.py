"""Word vectors: read from files, learnt from text, aligned with a vocabulary."""

from sk_han.embeddings.alignment import (
    Embeddings,
    embedding_matrix,
    learn_embeddings,
    load_embeddings,
)

__all__ = ["Embeddings", "embedding_matrix", "learn_embeddings", "load_embeddings"]
