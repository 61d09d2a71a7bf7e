"""Contributions of words to a score of the logits, by gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sk_han.nn.han import HierarchicalAttentionNetwork
from sk_han.nn.ragged.words import in_chunks

# Takes logits (D, C), returns the factors (D, C) of the logits in the score of each document.
Score = Callable[[Tensor], Tensor]


class Attribution(NamedTuple):
    """The logits and attention of a batch of documents, with the contribution of each word."""

    logits: Tensor  # (D, C)
    word_attention: Tensor  # (T,), as in `HANOutput`
    sentence_attention: Tensor  # (N,)
    words: Tensor  # (T,) contribution of each word to the score of its document


def gradient_attention(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
) -> Attribution:
    """Multiply attention by the gradient of the score at it (Serrano and Smith, 2019).

    Since ``s_i = sum_t alpha_it h_it``, a word contributes ``alpha_it h_it . d score / d s_i``, so
    only the sentence level needs a backward pass. Attention that depends on other sentences is held
    fixed; without attention, the part of the pooled vector from the state replaces that product.
    """

    def encode(ids: Tensor, lengths: Tensor) -> tuple[Tensor]:
        return (network.encode_words(ids, lengths),)

    with torch.no_grad():
        (states,) = in_chunks(encode, word_ids, words_per_sentence, network.max_words)  # (T, H)
        sentences, word_weights = network.pool_words(
            states, words_per_sentence, sentences_per_document
        )
    with torch.enable_grad():
        sentences.requires_grad_()
        logits, sentence_weights, _ = network.read_sentences(sentences, sentences_per_document)
        gradient = gradient_of(logits, score(logits.detach()), sentences)  # (N, H)
    return Attribution(
        logits.detach(),
        word_weights.mean(1),
        sentence_weights.detach().mean(1),
        network.attributions(states, word_weights, gradient, words_per_sentence),
    )


def gradient_of(logits: Tensor, factors: Tensor, inputs: Tensor) -> Tensor:
    """Compute the gradient of the scores with respect to these inputs; weights get none."""
    if not logits.requires_grad:  # encoders build no graph if there is nothing to encode
        return torch.zeros_like(inputs)
    # A sum needs no factors to be given. For these PyTorch imports SymPy, in half a second; where
    # memory ran out on the way, nothing could be explained in that process any more.
    (gradient,) = torch.autograd.grad(
        (logits * factors).sum(), inputs, allow_unused=True, materialize_grads=True
    )
    return gradient
