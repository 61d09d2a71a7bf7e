"""The loss of attention beside the words that people marked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sk_han.documents import MARKED
from sk_han.nn.penalties import missed_marks

__all__ = ["loss_of_marks"]

# Of 0.03, 0.1 and 0.5 this was best on two folds of film reviews (docs/what_was_tried.md).
_STRENGTH = 0.1


def loss_of_marks(output: Any, data: Any) -> Tensor:
    """Return what the attention of a network misses of marked words, (D,); 0 without marks."""
    penalty: Tensor = output.penalty
    if getattr(data, "marks", None) is None:  # text without labels, in pre-training
        return torch.zeros_like(penalty)
    documents, is_marked = data.documents, data.marks.word_ids == MARKED
    weights = output.word_attention
    return _STRENGTH * missed_marks(
        weights,
        torch.from_numpy(documents.words_per_sentence),
        output.sentence_attention,
        torch.from_numpy(documents.sentences_per_document),
        torch.from_numpy(is_marked).to(weights),
    )
