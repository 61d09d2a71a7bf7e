"""Word vectors: loading from files, learning from text, and alignment with a vocabulary."""

from sk_han.embeddings._cooccurrence import learn_embeddings
from sk_han.embeddings._pretrained import Embeddings, embedding_matrix, load_embeddings

__all__ = ["Embeddings", "embedding_matrix", "learn_embeddings", "load_embeddings"]
