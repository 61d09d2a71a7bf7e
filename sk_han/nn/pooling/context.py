"""Word attention that depends on the sentences before (Remy et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.initialization import parameter, uniform_, xavier_uniform_
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.ragged.layout import PackedLayout
from sk_han.nn.ragged.segments import segment_numbers, segment_softmax, segment_sum


class ContextPooling(Pooling):
    """The word attention of a sentence depends on the others: CAHAN of `sk_han.ContextAttention`.

    With the word states ``h_it`` of sentence i of a document and ``c_i``, the sum (or the mean) of
    the sentence vectors ``s_1 ... s_{i-1}``, which is zero for the first sentence::

        u_it = tanh(W h_it + V c_i + b)
        alpha_it = softmax_t(u_it . u),   s_i = sum_t alpha_it h_it

    With a gate, ``lambda_it`` is the weight of the word itself::

        lambda_it = sigmoid(w . h_it + v . c_i + d)
        u_it = tanh(lambda_it W h_it + (1 - lambda_it) V c_i + b)

    The bidirectional form does the same from the last sentence to the first, with weights of its
    own; the sentence vector is ``[s_i forward ; s_i backward]``.

    Parameters
    ----------
    input_size : int
        Size H of each word state.
    attention_dim : int
        Size A of ``u_it``.
    bidirectional : bool
        Whether the attention depends on later sentences too.
    summary : {"sum", "mean"}
        How ``c_i`` is computed from earlier sentence vectors.
    gated : bool
        Whether ``lambda_it`` weighs word and context.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.
    """

    across_sequences = True

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        *,
        bidirectional: bool,
        summary: str,
        gated: bool,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.output_size = 2 * input_size if bidirectional else input_size
        settings = (summary, gated, generator)
        self.forwards = _Direction(input_size, attention_dim, *settings)
        self.backwards = _Direction(input_size, attention_dim, *settings) if bidirectional else None

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool words as `Pooling.pool` says, one sentence of all documents at a time.

        Without `sequences_per_document` there is one document. Each direction has weights.
        """
        if sequences_per_document is None:
            sequences_per_document = torch.tensor([len(lengths)], device="cpu")
        layout = PackedLayout(sequences_per_document)
        directions = [(self.forwards, layout.forward_token)]
        if self.backwards is not None:
            directions.append((self.backwards, layout.backward_token))
        pooled = [
            direction(states, lengths, order, layout.active) for direction, order in directions
        ]
        sentences, weights = zip(*pooled, strict=True)
        return torch.cat(sentences, dim=1), torch.stack(weights, dim=1)


class _Direction(nn.Module):
    """The attention of one direction."""

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        summary: str,
        gated: bool,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        self.summary, self.gated = summary, gated
        self.weight = parameter(attention_dim, input_size)
        self.sentence_weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(attention_dim)
        xavier_uniform_(self.weight, generator)
        xavier_uniform_(self.sentence_weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)
        if gated:
            self.gate_weight = parameter(input_size)
            self.gate_sentence_weight = parameter(input_size)
            self.gate_bias = parameter()
            uniform_(self.gate_weight, input_size**-0.5, generator)
            uniform_(self.gate_sentence_weight, input_size**-0.5, generator)

    def forward(
        self, states: Tensor, words_per_sentence: Tensor, order: Tensor, active: list[int]
    ) -> tuple[Tensor, Tensor]:
        """Pool the sentences in this order, those of `active[t]` documents at step t."""
        device, H = states.device, states.shape[1]
        lengths = words_per_sentence[order]
        n_words = [int(step_lengths.sum()) for step_lengths in lengths.split(active)]
        starts = torch.cumsum(words_per_sentence, 0) - words_per_sentence
        moved = starts[order] - (torch.cumsum(lengths, 0) - lengths)
        # The words with the sentences in this order, (T,).
        words = torch.repeat_interleave(moved, lengths)
        words = (words + torch.arange(len(words), device=words.device)).to(device)
        states = states[words]  # (T, H)
        # Terms of the word alone are computed for all words at once, before the loop.
        projected = states @ self.weight.T  # (T, A)
        gate = states @ self.gate_weight if self.gated else states.new_zeros(len(states))  # (T,)

        total = states.new_zeros(active[0] if active else 0, H)  # sum of the earlier sentences
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
            c = total[:n] / max(step, 1) if self.summary == "mean" else total[:n]  # (n, H)
            Vc = (c @ self.sentence_weight.T)[sentence]  # (words of the step, A)
            if self.gated:
                vc = (c @ self.gate_sentence_weight)[sentence]
                share = torch.sigmoid(wh + vc + self.gate_bias).unsqueeze(1)
                Wh, Vc = share * Wh, (1 - share) * Vc
            u = torch.tanh(Wh + Vc + self.bias)
            alpha = segment_softmax(u @ self.context, sentence, n)
            s = segment_sum(alpha.unsqueeze(1) * h, sentence, n)  # (n, H)
            total = total[:n] + s
            sentences.append(s)
            weights.append(alpha)
        by_step, weights_by_step = torch.cat(sentences), torch.cat(weights)
        return (
            torch.empty_like(by_step).index_copy(0, order.to(device), by_step),
            torch.empty_like(weights_by_step).index_copy(0, words, weights_by_step),
        )
