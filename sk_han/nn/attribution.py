"""How much each word brings to a score of the logits, by gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sk_han.nn.han import HierarchicalAttentionNetwork
from sk_han.nn.pooling.context import ContextPooling
from sk_han.nn.ragged.words import in_parts

__all__ = ["Attribution", "gradient_attention", "gradient_input"]

# Takes logits (D, C), gives the factors (D, C) of the logits in the score of each document.
Score = Callable[[Tensor], Tensor]


class Attribution(NamedTuple):
    """What a network gives for a batch of documents, with what each word brings to it.

    Attributes
    ----------
    logits : Tensor, shape (D, C)
    word_attention : Tensor, shape (T,)
        As in `HANOutput`.
    sentence_attention : Tensor, shape (N,)
    words : Tensor, shape (T,)
        What each word brings to the score of its document.
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
    """Attention times the gradient of the score with respect to it (Serrano and Smith, 2019).

    Since ``s_i = sum_t alpha_it h_it``, the part of a word is ``alpha_it h_it . d score / d s_i``,
    so only the level of sentences, much the smaller one, goes backward. Attention weights that
    depend on other sentences (`ContextPooling`) are held fixed. Poolings without attention have
    the part of a state in the pooled vector in place of ``alpha_it h_it``.

    Parameters
    ----------
    network : HierarchicalAttentionNetwork
        Read as in evaluation, without dropout; neither its weights nor their gradients change.
    word_ids, words_per_sentence, sentences_per_document : Tensor
        As of `HierarchicalAttentionNetwork.forward`.
    score : callable
        Takes logits of shape (D, C), gives the factor of each in the score of its document.

    Returns
    -------
    Attribution

    References
    ----------
    Serrano, Smith (2019). Is Attention Interpretable? ACL.
    """
    with torch.no_grad():
        (states,) = in_parts(
            lambda ids, lengths: (network.word_states(ids, lengths),),
            word_ids,
            words_per_sentence,
            network.max_words,
        )  # (T, H)
        sentences, word_weights = _pool_words(
            network, states, words_per_sentence, sentences_per_document
        )
    with torch.enable_grad():
        sentences.requires_grad_()
        logits, sentence_weights = _read_sentences(network, sentences, sentences_per_document)
        gradient = _gradient(logits, score(logits.detach()), sentences)  # (N, H)
    pooling = network.word_attention
    if isinstance(pooling, ContextPooling):
        with torch.no_grad():
            words = pooling.parts(states, gradient, words_per_sentence, sentences_per_document)
    else:
        words = pooling.parts(states, word_weights, gradient, words_per_sentence)
    return Attribution(
        logits.detach(),
        _one_column(word_weights),
        _one_column(sentence_weights.detach()),
        words,
    )


def gradient_input(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
    by: float = 1.0,
) -> Attribution:
    """Word vector times the gradient of the score with respect to it, summed over its entries.

    Atanasova et al. (2020) call it InputXGradient. Its mean over documents on the way from zero
    vectors are integrated gradients (Sundararajan et al., 2017).

    Parameters
    ----------
    network, word_ids, words_per_sentence, sentences_per_document, score
        As of `gradient_attention`.
    by : float
        What the word vectors are multiplied by before the network reads them: the gradient, logits
        and weights are those of that document.

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
    words = _input_parts(network, word_ids, words_per_sentence, gradient, by)
    return Attribution(logits, word_weights, sentence_weights, words)


def _gradient(logits: Tensor, factors: Tensor, inputs: Tensor) -> Tensor:
    """Of the scores with respect to these inputs alone: no weight gets a gradient."""
    if not logits.requires_grad:  # encoders give no graph where there is nothing to encode
        return torch.zeros_like(inputs)
    (gradient,) = torch.autograd.grad(
        logits, inputs, factors, allow_unused=True, materialize_grads=True
    )
    return gradient


def _pool_words(
    network: HierarchicalAttentionNetwork,
    states: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
) -> tuple[Tensor, Tensor]:
    """Sentence vectors (N, H) and word weights (T,) or (T, R)."""
    pooling = network.word_attention
    if isinstance(pooling, ContextPooling):
        return pooling.pool(states, words_per_sentence, sentences_per_document)
    return pooling.pool(states, words_per_sentence)


def _read_sentences(
    network: HierarchicalAttentionNetwork, sentences: Tensor, sentences_per_document: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits (D, C) and sentence weights (N,) or (N, R)."""
    each = torch.arange(len(sentences), device=sentences.device)
    states = network.sentence_encoder(sentences, each, sentences_per_document)
    documents, weights = network.sentence_attention.pool(states, sentences_per_document)
    return network.output(documents), weights


def _read_states(
    network: HierarchicalAttentionNetwork,
    states: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits (D, C), weights of words (T,) and sentences (N,), gradient of the states (T, H)."""
    with torch.enable_grad():
        states.requires_grad_()
        sentences, word_weights = _pool_words(
            network, states, words_per_sentence, sentences_per_document
        )
        logits, sentence_weights = _read_sentences(network, sentences, sentences_per_document)
        gradient = _gradient(logits, score(logits.detach()), states)
    return (
        logits.detach(),
        _one_column(word_weights.detach()),
        _one_column(sentence_weights.detach()),
        gradient,
    )


def _scaled_states(
    network: HierarchicalAttentionNetwork, word_ids: Tensor, words_per_sentence: Tensor, by: float
) -> Tensor:
    """Word states (T, H) of word vectors multiplied by a number."""

    def encode(ids: Tensor, lengths: Tensor) -> tuple[Tensor]:
        each = torch.arange(len(ids), device=ids.device)
        return (network.word_encoder(by * network.embedding(ids), each, lengths),)

    with torch.no_grad():
        (states,) = in_parts(encode, word_ids, words_per_sentence, network.max_words)
    return states


def _input_parts(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    gradient: Tensor,
    by: float,
) -> Tensor:
    """Word vectors times the gradient at these vectors multiplied by a number, shape (T,).

    From the gradient of the states (T, H). States are computed again with their graph, part by
    part, so that memory stays bounded as in training.
    """

    def go_back(words: Tensor, lengths: Tensor) -> tuple[Tensor]:
        each = torch.arange(len(words), device=words.device)
        vectors = network.embedding(word_ids[words])  # (words of the part, E)
        with torch.enable_grad():
            scaled = (by * vectors).requires_grad_()
            states = network.word_encoder(scaled, each, lengths)
            of_vectors = _gradient(states, gradient[words], scaled)
        return ((vectors * of_vectors).sum(1),)

    every = torch.arange(len(word_ids), device=word_ids.device)
    with torch.no_grad():
        (parts,) = in_parts(go_back, every, words_per_sentence, network.max_words)
    return parts


def _one_column(weights: Tensor) -> Tensor:
    """Of several hops the mean, as in `HANOutput`."""
    return weights.mean(1) if weights.dim() == 2 else weights
