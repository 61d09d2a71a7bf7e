"""The loss of a batch and of attention beside marked words, and the accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sk_han.documents import MARKED
from sk_han.nn.penalties import missed_marks

# Of 0.03, 0.1 and 0.5 this was best on two folds of film reviews (docs/what_was_tried.md).
_STRENGTH_OF_MARKS = 0.1


def weighted_mean(values: Tensor, weights: NDArray[np.float64]) -> Tensor:
    """Compute the mean of values, such as losses, by their weights, shape ()."""
    shares = weights / weights.sum()  # in double precision, whatever the weights' size
    return (values * torch.from_numpy(shares).to(values)).sum()


def loss_of_marks(output: Any, data: Any) -> Tensor:
    """Return what the attention of a network misses of marked words, (D,); 0 without marks."""
    if getattr(data, "marks", None) is None:  # text without labels, in pre-training
        return torch.zeros_like(output.penalty)
    documents, weights = data.documents, output.word_attention
    return _STRENGTH_OF_MARKS * missed_marks(
        weights,
        torch.from_numpy(documents.words_per_sentence),
        output.sentence_attention,
        torch.from_numpy(documents.sentences_per_document),
        torch.from_numpy(data.marks.word_ids == MARKED).to(weights),
    )


def accuracy(logits: NDArray[Any], targets: NDArray[Any]) -> float:
    """Compute the share of targets whose class has the highest logit."""
    return float((logits.argmax(axis=1) == targets).mean())


MEASURES = {"valid_accuracy": accuracy}
