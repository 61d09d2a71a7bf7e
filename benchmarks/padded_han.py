"""The HAN as it is usually written: every batch a padded cube, `nn.GRU` over padding, no mask.

It stands here as what speed is compared with; it is not a model to use.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Additive attention over the second axis, padding included."""

    def __init__(self, size: int, attention_dim: int) -> None:
        super().__init__()
        self.projection = nn.Linear(size, attention_dim)
        self.context = nn.Parameter(torch.randn(attention_dim) * 0.1)

    def forward(self, states: Tensor) -> Tensor:
        """Pool (N, L, H) to (N, H)."""
        weights = torch.softmax(torch.tanh(self.projection(states)) @ self.context, dim=1)
        return (weights.unsqueeze(2) * states).sum(1)


class PaddedHAN(nn.Module):
    """Words (D, S, W) to logits (D, C)."""

    def __init__(
        self, vocabulary_size: int, n_classes: int = 2, embedding_dim: int = 200, hidden: int = 50
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        self.word_gru = nn.GRU(embedding_dim, hidden, bidirectional=True, batch_first=True)
        self.word_attention = Attention(2 * hidden, 100)
        self.sentence_gru = nn.GRU(2 * hidden, hidden, bidirectional=True, batch_first=True)
        self.sentence_attention = Attention(2 * hidden, 100)
        self.output = nn.Linear(2 * hidden, n_classes)

    def forward(self, cube: Tensor) -> Tensor:
        """Score a padded batch."""
        D, S, W = cube.shape
        words = self.embedding(cube.view(D * S, W))  # (D * S, W, E)
        sentences = self.word_attention(self.word_gru(words)[0]).view(D, S, -1)  # (D, S, H)
        return self.output(self.sentence_attention(self.sentence_gru(sentences)[0]))  # (D, C)
