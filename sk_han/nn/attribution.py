"""Contributions of words to a score of the logits, by gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sk_han.nn.han import HierarchicalAttentionNetwork
from sk_han.nn.ragged.words import in_chunks

__all__ = ["Attribution", "gradient_attention", "gradient_input", "gradient_of"]

# Takes logits (D, C), returns the factors (D, C) of the logits in the score of each document.
Score = Callable[[Tensor], Tensor]


class Attribution(NamedTuple):
    """The logits and attention of a batch of documents, with the contribution of each word.

    Attributes
    ----------
    logits : Tensor, shape (D, C)
    word_attention : Tensor, shape (T,)
        As in `HANOutput`.
    sentence_attention : Tensor, shape (N,)
    words : Tensor, shape (T,)
        Contribution of each word to the score of its document.
    """

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    words: Tensor


def gradient_attention(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
) -> Attribution:
    """Multiply attention by the gradient of the score at it (Serrano and Smith, 2019).

    Since ``s_i = sum_t alpha_it h_it``, the contribution of a word is
    ``alpha_it h_it . d score / d s_i``, so only the sentence level, which is much smaller, needs a
    backward pass. Attention weights that depend on other sentences (`ContextAttention`) are held
    fixed. For poolings without attention, the part of the pooled vector that comes from the state
    replaces ``alpha_it h_it``.

    Parameters
    ----------
    network : HierarchicalAttentionNetwork
        In evaluation mode, without dropout. Neither its weights nor their gradients change.
    word_ids, words_per_sentence, sentences_per_document : Tensor
        As of `HierarchicalAttentionNetwork.forward`.
    score : callable
        Takes logits of shape (D, C), returns the factor of each in the score of its document.

    Returns
    -------
    Attribution

    References
    ----------
    Serrano, Smith (2019). Is Attention Interpretable? ACL.
    """
    with torch.no_grad():
        (states,) = in_chunks(
            lambda ids, lengths: (network.encode_words(ids, lengths),),
            word_ids,
            words_per_sentence,
            network.max_words,
        )  # (T, H)
        sentences, word_weights = network.pool_words(
            states, words_per_sentence, sentences_per_document
        )
    with torch.enable_grad():
        sentences.requires_grad_()
        logits, sentence_weights, _, _ = network.read_sentences(sentences, sentences_per_document)
        gradient = gradient_of(logits, score(logits.detach()), sentences)  # (N, H)
    return Attribution(
        logits.detach(),
        word_weights.mean(1),
        sentence_weights.detach().mean(1),
        network.word_attention.attributions(states, word_weights, gradient, words_per_sentence),
    )


def gradient_input(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
    by: float = 1.0,
) -> Attribution:
    """Multiply each word vector by the gradient of the score at it, and sum over its entries.

    Atanasova et al. (2020) call it InputXGradient. Its mean over the path from zero vectors to
    the document is integrated gradients (Sundararajan et al., 2017).

    Parameters
    ----------
    network, word_ids, words_per_sentence, sentences_per_document, score
        As of `gradient_attention`.
    by : float
        Factor of the word vectors in the network's input; the gradient, logits and attention are
        those of this input.

    Returns
    -------
    Attribution

    References
    ----------
    Sundararajan, Taly, Yan (2017). Axiomatic Attribution for Deep Networks. ICML.

    Atanasova, Simonsen, Lioma, Augenstein (2020). A Diagnostic Study of Explainability Techniques
    for Text Classification. EMNLP.
    """
    lengths = words_per_sentence, sentences_per_document
    states = _scaled_states(network, word_ids, words_per_sentence, by)
    logits, word_weights, sentence_weights, gradient = _read_states(
        network, states, *lengths, score
    )
    words = _input_times_gradient(network, word_ids, words_per_sentence, gradient, by)
    return Attribution(logits, word_weights, sentence_weights, words)


def gradient_of(logits: Tensor, factors: Tensor, inputs: Tensor) -> Tensor:
    """Compute the gradient of the scores with respect to these inputs; weights get none."""
    if not logits.requires_grad:  # encoders build no graph if there is nothing to encode
        return torch.zeros_like(inputs)
    (gradient,) = torch.autograd.grad(
        logits, inputs, factors, allow_unused=True, materialize_grads=True
    )
    return gradient


def _read_states(
    network: HierarchicalAttentionNetwork,
    states: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return logits (D, C), word (T,) and sentence weights (N,), gradient of the states (T, H)."""
    with torch.enable_grad():
        states.requires_grad_()
        sentences, word_weights = network.pool_words(
            states, words_per_sentence, sentences_per_document
        )
        logits, sentence_weights, _, _ = network.read_sentences(sentences, sentences_per_document)
        gradient = gradient_of(logits, score(logits.detach()), states)
    return (
        logits.detach(),
        word_weights.detach().mean(1),
        sentence_weights.detach().mean(1),
        gradient,
    )


def _scaled_states(
    network: HierarchicalAttentionNetwork, word_ids: Tensor, words_per_sentence: Tensor, by: float
) -> Tensor:
    """Return the word states (T, H) of word vectors multiplied by a number."""

    def encode(ids: Tensor, lengths: Tensor) -> tuple[Tensor]:
        each = torch.arange(len(ids), device=ids.device)
        return (network.word_encoder(by * network.embedding(ids), each, lengths),)

    with torch.no_grad():
        (states,) = in_chunks(encode, word_ids, words_per_sentence, network.max_words)
    return states


def _input_times_gradient(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    gradient: Tensor,
    by: float,
) -> Tensor:
    """Multiply word vectors by the gradient at the scaled vectors, shape (T,).

    `gradient` is that of the states (T, H). States are computed again with their graph, chunk by
    chunk, so that memory stays bounded as in training.
    """

    def multiply(words: Tensor, lengths: Tensor) -> tuple[Tensor]:
        each = torch.arange(len(words), device=words.device)
        vectors = network.embedding(word_ids[words])  # (words of the chunk, E)
        with torch.enable_grad():
            scaled = (by * vectors).requires_grad_()
            states = network.word_encoder(scaled, each, lengths)
            vector_gradient = gradient_of(states, gradient[words], scaled)
        return ((vectors * vector_gradient).sum(1),)

    every = torch.arange(len(word_ids), device=word_ids.device)
    with torch.no_grad():
        (products,) = in_chunks(multiply, every, words_per_sentence, network.max_words)
    return products
