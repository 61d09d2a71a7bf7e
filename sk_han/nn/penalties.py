"""A term that training adds to the loss: the overlap of hops."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.nn.ragged.segments import segment_numbers, segment_sum


def hop_overlap(weights: Tensor, lengths: Tensor) -> Tensor:
    """Compute the overlap of the hops of each sequence, ``||A A^T - I||_F^2`` of A^T (T, R): (N,).

    Zero if each hop attends to one token, and no two hops to the same one (Lin et al., 2017), and
    for a sequence without tokens.
    """
    segment = segment_numbers(lengths).to(weights.device)
    products = weights.unsqueeze(2) * weights.unsqueeze(1)  # (T, R, R)
    N, R = len(lengths), weights.shape[1]
    gram = segment_sum(products.flatten(1), segment, N).view(N, R, R)
    identity = torch.eye(R, dtype=gram.dtype, device=gram.device)
    overlap = (gram - identity).square().sum((1, 2))  # (N,)
    return overlap * (lengths > 0).to(overlap)


def document_overlap(
    word_weights: Tensor,
    words_per_sentence: Tensor,
    sentence_weights: Tensor,
    sentences_per_document: Tensor,
) -> Tensor:
    """Add the mean `hop_overlap` of each document's sentences to that of the document, (D,)."""
    overlap = hop_overlap(word_weights, words_per_sentence)  # (N,)
    document = segment_numbers(sentences_per_document).to(overlap.device)  # (N,)
    total = segment_sum(overlap.unsqueeze(1), document, len(sentences_per_document)).squeeze(1)
    mean = total / sentences_per_document.clamp(min=1).to(total)
    return mean + hop_overlap(sentence_weights, sentences_per_document)
