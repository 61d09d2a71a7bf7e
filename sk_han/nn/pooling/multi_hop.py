"""Attention that asks several questions of a sequence, each with weights of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.family import CHOICES, check_choice
from sk_han.nn.initialization import uniform_, xavier_uniform_
from sk_han.nn.ragged.normalizers import NORMALIZERS
from sk_han.nn.ragged.segments import segment_numbers, segment_parts, segment_sum

__all__ = ["MultiHopAttention", "document_overlap", "hop_overlap"]


class MultiHopAttention(nn.Module):
    """R weighted means of the states of a sequence, side by side, after Lin et al. (2017).

    ``u_t = tanh(W h_t + b)``, ``A_rt = softmax_t(u_t . c_r)``, result
    ``[sum_t A_1t h_t ; ... ; sum_t A_Rt h_t]``: `AttentionPooling` with R context vectors. (The
    paper has no bias b.)

    Parameters
    ----------
    input_size : int
        Size H of each state.
    attention_dim : int
        Size A of ``u_t`` and of each ``c_r``.
    hops : int
        Number R of context vectors.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.
    attention : {"softmax", "sparsemax", "entmax15"}
        How scores become weights, as of `AttentionPooling`.

    References
    ----------
    Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio (2017). A Structured Self-attentive Sentence
    Embedding. ICLR.
    """

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        hops: int,
        generator: torch.Generator | None = None,
        *,
        attention: str = "softmax",
    ) -> None:
        super().__init__()
        check_choice("attention", attention, CHOICES["attention"])
        self.weight = nn.Parameter(torch.empty(attention_dim, input_size))
        self.bias = nn.Parameter(torch.zeros(attention_dim))
        self.context = nn.Parameter(torch.empty(hops, attention_dim))
        self.output_size = hops * input_size
        self.attention = attention
        xavier_uniform_(self.weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)

    def pool(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Pool sequences that lie one after the other, without padding.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        lengths : Tensor of int64, shape (N,)
            Number of states of each sequence, together T.

        Returns
        -------
        pooled : Tensor, shape (N, R * H)
        weights : Tensor, shape (T, R)
            Those of each hop sum to 1 over a sequence.
        """
        N, R = len(lengths), len(self.context)
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        u = torch.tanh(torch.addmm(self.bias, states, self.weight.T))  # (T, A)
        hop = segment.unsqueeze(1) * R + torch.arange(R, device=states.device)  # (T, R)
        scores = (u @ self.context.T).flatten()  # (T * R,)
        weights = NORMALIZERS[self.attention](scores, hop.flatten(), N * R).view(-1, R)  # (T, R)
        weighted = weights.unsqueeze(2) * states.unsqueeze(1)  # (T, R, H)
        return segment_sum(weighted.flatten(1), segment, N), weights

    def parts(self, states: Tensor, weights: Tensor, gradient: Tensor, lengths: Tensor) -> Tensor:
        """What each state brings to a score of the pooled vectors, as `AttentionPooling.parts`.

        The weights are of shape (T, R), the gradient of shape (N, R * H).
        """
        segment = segment_numbers(lengths).to(states.device)
        return segment_parts(states, weights, gradient, segment)


def hop_overlap(weights: Tensor, lengths: Tensor) -> Tensor:
    """How much the hops of each sequence read the same: ``||A A^T - I||_F^2``, R x R.

    Zero where each hop reads one token, and no two the same. Written down often with a T x T
    matrix, which punishes long sequences in place of like hops.

    Parameters
    ----------
    weights : Tensor, shape (T, R)
        ``A^T`` of sequences that lie one after the other.
    lengths : Tensor of int64, shape (N,)

    Returns
    -------
    Tensor, shape (N,)
        Zero for a sequence without tokens.
    """
    segment = segment_numbers(lengths).to(weights.device)
    products = weights.unsqueeze(2) * weights.unsqueeze(1)  # (T, R, R)
    N, R = len(lengths), weights.shape[1]
    gram = segment_sum(products.flatten(1), segment, N).view(N, R, R)
    overlap = (
        (gram - torch.eye(R, dtype=gram.dtype, device=gram.device)).square().sum((1, 2))
    )  # (N,)
    return overlap * (lengths > 0).to(overlap)


def document_overlap(
    word_weights: Tensor,
    words_per_sentence: Tensor,
    sentence_weights: Tensor,
    sentences_per_document: Tensor,
) -> Tensor:
    """`hop_overlap` of each document's sentences, plus the mean over them of that of their words.

    Parameters
    ----------
    word_weights : Tensor, shape (T, R)
    words_per_sentence : Tensor of int64, shape (N,)
    sentence_weights : Tensor, shape (N, R)
    sentences_per_document : Tensor of int64, shape (D,)

    Returns
    -------
    Tensor, shape (D,)
    """
    document = segment_numbers(sentences_per_document).to(word_weights.device)  # (N,)
    of_sentence = hop_overlap(word_weights, words_per_sentence).unsqueeze(1)  # (N, 1)
    total = segment_sum(of_sentence, document, len(sentences_per_document)).squeeze(1)  # (D,)
    mean = total / sentences_per_document.clamp(min=1).to(total)
    return mean + hop_overlap(sentence_weights, sentences_per_document)
