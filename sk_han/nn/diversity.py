"""Similarity of the states of a sequence, a penalty in training."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.nn.ragged.segments import segment_numbers, segment_sum

__all__ = ["conicity", "document_conicity"]

# The gradient of a cosine grows without bound near zero, so shorter states count as zero.
SHORTEST = 1e-4


def conicity(states: Tensor, lengths: Tensor) -> Tensor:
    """Compute the mean cosine between the states of each sequence and their mean.

    Near 1 all states of the sequence are similar: then any weights give about the same result,
    and attention explains nothing (Mohankumar et al., 2020).

    Parameters
    ----------
    states : Tensor, shape (T, H)
        States of concatenated sequences.
    lengths : Tensor of int64, shape (N,)

    Returns
    -------
    Tensor, shape (N,)
        Zero for a sequence of no state, or of a single one, which is its own mean.

    References
    ----------
    Mohankumar, Nema, Narasimhan, Khapra, Srinivasan, Ravindran (2020). Towards Transparent and
    Explainable Attention Models. ACL.
    """
    N = len(lengths)
    segment = segment_numbers(lengths).to(states.device)  # (T,)
    share = 1 / lengths.clamp(min=1).to(states).unsqueeze(1)  # (N, 1)
    direction = _direction(segment_sum(states, segment, N))  # (N, H): that of sum and mean
    # The mean of the cosines is the product of this direction and the states' mean direction.
    directions = segment_sum(_direction(states), segment, N) * share  # (N, H)
    return (directions * direction).sum(1) * (lengths > 1).to(states)


def document_conicity(
    word_conicity: Tensor,
    words_per_sentence: Tensor,
    sentence_states: Tensor,
    sentences_per_document: Tensor,
) -> Tensor:
    """Compute the `conicity` of each document's sentences, plus the mean of that of their words.

    The mean is over sentences of two words or more, since that of one word is always 0.

    Parameters
    ----------
    word_conicity : Tensor, shape (N,)
        `conicity` of the word states of each sentence.
    words_per_sentence : Tensor of int64, shape (N,)
    sentence_states : Tensor, shape (N, H)
    sentences_per_document : Tensor of int64, shape (D,)

    Returns
    -------
    Tensor, shape (D,)
    """
    document = segment_numbers(sentences_per_document).to(word_conicity.device)  # (N,)
    counted = (words_per_sentence > 1).to(word_conicity)  # (N,)
    rows = torch.stack([word_conicity, counted], dim=1)  # (N, 2)
    total, n_counted = segment_sum(rows, document, len(sentences_per_document)).unbind(1)
    return total / n_counted.clamp(min=1) + conicity(sentence_states, sentences_per_document)


def _direction(vectors: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return vectors / length.clamp(min=SHORTEST)
