"""How much each word brings to a score of the logits, by gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sk_han.nn.context import ContextPooling
from sk_han.nn.han import HierarchicalAttentionNetwork
from sk_han.nn.segments import segment_numbers, segment_sum
from sk_han.nn.words import in_parts

__all__ = ["Attribution", "gradient_attention", "gradient_input", "integrated_gradients"]

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
    missing : Tensor, shape (D,)
        By integrated gradients, what the words lack to the change of the score from a document of
        zero vectors; else zero.
    """

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    words: Tensor
    missing: Tensor


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
        logits.new_zeros(len(logits)),
    )


def gradient_input(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
) -> Attribution:
    """Word vector times the gradient of the score with respect to it, summed over its entries.

    `gradient_attention` says what parameters and result are. Atanasova et al. (2020) call it
    InputXGradient.

    References
    ----------
    Atanasova, Simonsen, Lioma, Augenstein (2020). A Diagnostic Study of Explainability Techniques
    for Text Classification. EMNLP.
    """
    lengths = words_per_sentence, sentences_per_document
    states = _scaled_states(network, word_ids, words_per_sentence, 1.0)
    logits, word_weights, sentence_weights, gradient = _read_states(
        network, states, *lengths, score
    )
    words = _input_parts(network, word_ids, words_per_sentence, gradient, 1.0)
    return Attribution(logits, word_weights, sentence_weights, words, logits.new_zeros(len(logits)))


def integrated_gradients(
    network: HierarchicalAttentionNetwork,
    word_ids: Tensor,
    words_per_sentence: Tensor,
    sentences_per_document: Tensor,
    score: Score,
    *,
    points: Sequence[tuple[float, float]],
) -> Attribution:
    """`gradient_input` with the mean gradient on the way from zero vectors (Sundararajan, 2017).

    The parts of the words sum to the score less that of a document of zero vectors, as well as
    `points` integrate; `Attribution.missing` is what they lack.

    Parameters
    ----------
    network, word_ids, words_per_sentence, sentences_per_document, score
        As of `gradient_attention`. The factors of the score are those of the document itself all
        along the way.
    points : sequence of pairs of float
        Quadrature of the interval from 0 to 1: position and weight of each point.

    Returns
    -------
    Attribution

    References
    ----------
    Sundararajan, Taly, Yan (2017). Axiomatic Attribution for Deep Networks. ICML.
    """
    lengths = words_per_sentence, sentences_per_document
    with torch.no_grad():
        output = network.attend(word_ids, *lengths)
        baseline = _scaled_states(network, word_ids, words_per_sentence, 0.0)
        sentences, _ = _pool_words(network, baseline, *lengths)
        baseline_logits, _ = _read_sentences(network, sentences, sentences_per_document)
    factors = score(output.logits)
    words = torch.zeros_like(output.word_attention)
    for position, weight in points:
        states = _scaled_states(network, word_ids, words_per_sentence, position)
        *_, gradient = _read_states(network, states, *lengths, lambda _: factors)
        parts = _input_parts(network, word_ids, words_per_sentence, gradient, position)
        words += weight * parts
    change = (factors * (output.logits - baseline_logits)).sum(1)  # (D,)
    return Attribution(
        output.logits,
        output.word_attention,
        output.sentence_attention,
        words,
        change - _sums(_sums(words, words_per_sentence), sentences_per_document),
    )


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


def _sums(values: Tensor, lengths: Tensor) -> Tensor:
    """Sum over each of consecutive pieces of these lengths."""
    segment = segment_numbers(lengths).to(values.device)
    return segment_sum(values.unsqueeze(1), segment, len(lengths)).squeeze(1)


def _one_column(weights: Tensor) -> Tensor:
    """Of several hops the mean, as in `HANOutput`."""
    return weights.mean(1) if weights.dim() == 2 else weights
