"""Word vectors: read from files or learned from text, and aligned with a vocabulary."""

from sk_han.embeddings.cooccurrence import learn_embeddings
from sk_han.embeddings.pretrained import Embeddings, embedding_matrix, load_embeddings

__all__ = ["Embeddings", "embedding_matrix", "learn_embeddings", "load_embeddings"]
