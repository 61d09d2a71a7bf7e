"""Several attentions side by side, and the penalty on their overlap."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.nn.initialization import parameter, uniform_, xavier_uniform_
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.ragged.normalizers import normalizer_of
from sk_han.nn.ragged.segments import segment_numbers, segment_sum

__all__ = ["MultiHopPooling", "document_overlap", "hop_overlap"]


class MultiHopPooling(Pooling):
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
    normalizer : {"softmax", "sparsemax", "entmax15"}
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
        normalizer: str = "softmax",
    ) -> None:
        super().__init__()
        self.normalizer, self._normalize = normalizer, normalizer_of(normalizer)
        self.weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(hops, attention_dim)
        self.output_size = hops * input_size
        xavier_uniform_(self.weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, without padding.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        lengths : Tensor of int64, shape (N,)
            Number of states of each sequence, together T.
        sequences_per_document
            Not read; see `AttentionPooling.pool`.

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
        weights = self._normalize(scores, hop.flatten(), N * R).view(-1, R)  # (T, R)
        weighted = weights.unsqueeze(2) * states.unsqueeze(1)  # (T, R, H)
        return segment_sum(weighted.flatten(1), segment, N), weights


def hop_overlap(weights: Tensor, lengths: Tensor) -> Tensor:
    """Compute the overlap of the hops of each sequence: ``||A A^T - I||_F^2``, R x R.

    Zero if each hop attends to one token, and no two hops to the same one. Other implementations
    use a T x T matrix, which penalizes long sequences instead of similar hops.

    Parameters
    ----------
    weights : Tensor, shape (T, R)
        ``A^T`` of concatenated sequences.
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
    """Compute the `hop_overlap` of each document's sentences, plus the mean of that of their words.

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
    overlap = hop_overlap(word_weights, words_per_sentence).unsqueeze(1)  # (N, 1)
    total = segment_sum(overlap, document, len(sentences_per_document)).squeeze(1)  # (D,)
    mean = total / sentences_per_document.clamp(min=1).to(total)
    return mean + hop_overlap(sentence_weights, sentences_per_document)
