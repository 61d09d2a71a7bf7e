"""Word attention that knows the sentences before (Remy et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.family import CHOICES, check_choice
from sk_han.nn.initialization import uniform_, xavier_uniform_
from sk_han.nn.ragged.layout import packed_layout
from sk_han.nn.ragged.normalizers import NORMALIZERS
from sk_han.nn.ragged.segments import segment_numbers, segment_parts, segment_sum

__all__ = ["ContextPooling"]


class ContextPooling(nn.Module):
    """CAHAN: what is attended to in a sentence depends on the sentences around it.

    With the word states ``h_it`` of sentence i of a document and ``c_i``, the sum (or the mean) of
    the sentence vectors ``s_1 ... s_{i-1}``, which is zero for the first sentence::

        u_it = tanh(W h_it + V c_i + b)
        alpha_it = softmax_t(u_it . u),   s_i = sum_t alpha_it h_it

    gated, with a number ``lambda_it`` that tells how much the word itself counts::

        lambda_it = sigmoid(w . h_it + v . c_i + d)
        u_it = tanh(lambda_it W h_it + (1 - lambda_it) V c_i + b)

    Bidirectional, the same with weights of its own is done from the last sentence to the first,
    and the sentence vector is ``[s_i forward ; s_i backward]``.

    Parameters
    ----------
    input_size : int
        Size H of each word state.
    attention_dim : int
        Size A of ``u_it``.
    bidirectional : bool
        Whether sentences see those after them as well.
    pooling : {"sum", "mean"}
        How earlier sentence vectors become ``c_i``.
    gated : bool
        Whether ``lambda_it`` weighs word and context.
    attention : {"softmax", "sparsemax", "entmax15"}
        How scores become weights, as of `AttentionPooling`.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    References
    ----------
    Remy, Tixier, Vazirgiannis (2019). Bidirectional Context-Aware Hierarchical Attention Network
    for Document Understanding. arXiv:1908.06006.
    """

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        *,
        bidirectional: bool,
        pooling: str,
        gated: bool,
        attention: str = "softmax",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_choice("pooling", pooling, CHOICES["context_pooling"])
        check_choice("attention", attention, CHOICES["attention"])
        self.forwards = _Direction(input_size, attention_dim, pooling, gated, attention, generator)
        self.backwards = (
            _Direction(input_size, attention_dim, pooling, gated, attention, generator)
            if bidirectional
            else None
        )
        self.output_size = 2 * input_size if bidirectional else input_size

    def pool(
        self, states: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pool the words of each sentence, sentence after sentence, all documents at once.

        Parameters
        ----------
        states : Tensor, shape (T, H)
        words_per_sentence : Tensor of int64 on the CPU, shape (N,)
        sentences_per_document : Tensor of int64 on the CPU, shape (D,)

        Returns
        -------
        sentences : Tensor, shape (N, H) or, bidirectional, (N, 2H)
        weights : Tensor, shape (T,)
            Bidirectional: the mean of both directions.
        """
        pooled = self._pooled(states, words_per_sentence, sentences_per_document)
        sentences, weights = zip(*pooled, strict=True)
        return torch.cat(sentences, dim=1), torch.stack(weights).mean(0)

    def parts(
        self,
        states: Tensor,
        gradient: Tensor,
        words_per_sentence: Tensor,
        sentences_per_document: Tensor,
    ) -> Tensor:
        """What each word brings to a linear score of the sentence vectors, weights held fixed.

        The weights of each direction are found again, since `pool` gives their mean.

        Parameters
        ----------
        states, words_per_sentence, sentences_per_document : Tensor
            As of `pool`.
        gradient : Tensor, shape (N, H) or, bidirectional, (N, 2H)
            Of the score, with respect to the sentence vectors.

        Returns
        -------
        Tensor, shape (T,)
            Those of a sentence sum to ``sentence . gradient``.
        """
        pooled = self._pooled(states, words_per_sentence, sentences_per_document)
        weights = torch.stack([of_direction for _, of_direction in pooled], dim=1)  # (T, 1 or 2)
        segment = segment_numbers(words_per_sentence).to(states.device)
        return segment_parts(states, weights, gradient, segment)

    def _pooled(
        self, states: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        """Sentences (N, H) and weights (T,) of each direction."""
        layout = packed_layout(sentences_per_document)
        directions = [(self.forwards, layout.forward_token)]
        if self.backwards is not None:
            directions.append((self.backwards, layout.backward_token))
        return [
            direction(states, words_per_sentence, order, layout.active)
            for direction, order in directions
        ]


class _Direction(nn.Module):
    """The attention of one direction."""

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        pooling: str,
        gated: bool,
        attention: str,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        self.pooling, self.gated, self.attention = pooling, gated, attention
        self.weight = nn.Parameter(torch.empty(attention_dim, input_size))
        self.sentence_weight = nn.Parameter(torch.empty(attention_dim, input_size))
        self.bias = nn.Parameter(torch.zeros(attention_dim))
        self.context = nn.Parameter(torch.empty(attention_dim))
        xavier_uniform_(self.weight, generator)
        xavier_uniform_(self.sentence_weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)
        if gated:
            self.gate_weight = nn.Parameter(torch.empty(input_size))
            self.gate_sentence_weight = nn.Parameter(torch.empty(input_size))
            self.gate_bias = nn.Parameter(torch.zeros(()))
            uniform_(self.gate_weight, input_size**-0.5, generator)
            uniform_(self.gate_sentence_weight, input_size**-0.5, generator)

    def forward(
        self, states: Tensor, words_per_sentence: Tensor, order: Tensor, active: list[int]
    ) -> tuple[Tensor, Tensor]:
        """Go through the sentences in this order, `active` documents at each step."""
        device, H, normalize = states.device, states.shape[1], NORMALIZERS[self.attention]
        lengths = words_per_sentence[order]
        n_words = [int(of_step.sum()) for of_step in lengths.split(active)]
        words = _words_in_order(words_per_sentence, order).to(device)
        states = states[words]  # (T, H)
        # What depends on the word alone is computed at once; only sentences wait for each other.
        projected = states @ self.weight.T  # (T, A)
        gate = states @ self.gate_weight if self.gated else states.new_zeros(len(states))  # (T,)

        total = states.new_zeros(active[0] if active else 0, H)  # of the sentences before
        sentences, weights = [states.new_zeros(0, H)], [states.new_zeros(0)]
        steps = zip(
            lengths.split(active),
            states.split(n_words),
            projected.split(n_words),
            gate.split(n_words),
            strict=True,
        )
        for step, (n_words_each, h, Wh, wh) in enumerate(steps):
            n = len(n_words_each)
            sentence = segment_numbers(n_words_each).to(device)
            c = total[:n] / max(step, 1) if self.pooling == "mean" else total[:n]  # (n, H)
            Vc = (c @ self.sentence_weight.T)[sentence]  # (words of the step, A)
            if self.gated:
                vc = (c @ self.gate_sentence_weight)[sentence]
                share = torch.sigmoid(wh + vc + self.gate_bias).unsqueeze(1)
                Wh, Vc = share * Wh, (1 - share) * Vc
            u = torch.tanh(Wh + Vc + self.bias)
            alpha = normalize(u @ self.context, sentence, n)
            s = segment_sum(alpha.unsqueeze(1) * h, sentence, n)  # (n, H)
            total = total[:n] + s
            sentences.append(s)
            weights.append(alpha)
        by_step, weights_by_step = torch.cat(sentences), torch.cat(weights)
        return (
            torch.empty_like(by_step).index_copy(0, order.to(device), by_step),
            torch.empty_like(weights_by_step).index_copy(0, words, weights_by_step),
        )


def _words_in_order(words_per_sentence: Tensor, order: Tensor) -> Tensor:
    """Numbers of the words when the sentences are read in this order, shape (T,)."""
    starts = (torch.cumsum(words_per_sentence, 0) - words_per_sentence)[order]
    lengths = words_per_sentence[order]
    new_starts = torch.cumsum(lengths, 0) - lengths
    shift = torch.repeat_interleave(starts - new_starts, lengths)
    return torch.arange(len(shift), device=shift.device) + shift
