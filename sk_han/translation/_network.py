"""A translation network: a recurrent encoder, and a decoder that attends to its states."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from sk_han._options import Options, Range, option
from sk_han.nn._encoders import (
    BidirectionalGRU,
    distinct_words,
    dropout,
    normal_,
    parameter,
    uniform_,
    with_memory,
    xavier_uniform_,
)
from sk_han.nn._ragged import PackedLayout, sequence_ends

# The end mark ends sources, and begins and ends targets. It has the id of the padding, which
# sequences here do not need.
END_ID = 0


@dataclass(kw_only=True)
class TranslationOptions(Options):
    """Sizes and dropout of an `AttentionSeq2Seq`, as in `AttentionTranslator`.

    The word vectors of the target are also the output weights (Press and Wolf, 2017), so the vector
    from which a word is predicted has their size.
    """

    embedding_dim: int = option(256, Range(Integral, 1))
    hidden_size: int = option(256, Range(Integral, 1))
    attention_size: int = option(128, Range(Integral, 1))
    dropout: float = option(0.3, Range(Real, 0, 1))


class Seq2SeqOutput(NamedTuple):
    """Logits of the target words of a batch.

    Attributes
    ----------
    logits : Tensor, shape (Y, V)
        Of each target word, in reading order.
    penalty : Tensor, shape ()
        Always 0; `sk_han._training.net.Net` adds it to the loss.
    """

    logits: Tensor
    penalty: Tensor


class Memory(NamedTuple):
    """The encoded source words, to which a decoder attends."""

    states: Tensor  # (P, W, H)
    keys: Tensor  # (P, W, A)
    mask: Tensor  # (P, W), minus infinity after the end of a source, so that attention is 0 there

    def select(self, pairs: Tensor | slice) -> Memory:
        """Return the memory of these pairs, a slice or numbers of shape (n,)."""
        return Memory(*(tensor[pairs] for tensor in self))


class DecoderState(NamedTuple):
    """State of a decoder after the previous words."""

    hidden: Tensor  # (P, Q)
    attentional: Tensor  # (P, E), from which the words are predicted

    def select(self, rows: Tensor | slice) -> DecoderState:
        """Return the state of these rows, a slice or numbers of shape (n,)."""
        return DecoderState(self.hidden[rows], self.attentional[rows])


class AttentionSeq2Seq(nn.Module):
    """Encoder and decoder of a translation.

    For each pair and each word y_t of its target, with the states s_j of the source words and their
    keys k_j (Bahdanau et al., 2015; attention with the present state and input feeding: Luong et
    al., 2015)::

        h_t = GRU([y_{t-1}, a_{t-1}], h_{t-1})                    state
        w_tj = softmax_j(context . tanh(k_j + query h_t))         attention
        a_t = tanh(output [h_t, sum_j w_tj s_j] + output_bias)    attentional vector

    In shape comments: ``P`` pairs, ``W`` words of the longest source, ``X`` source words in the
    batch, ``Y`` target words in the batch, end marks among them, ``V`` target vocabulary, ``Q``
    decoder state; others as in docs/architecture.md.

    Parameters
    ----------
    source_size, target_size : int
        Vocabulary sizes. Id 0 is the end mark of both languages, 1 the unknown word.
    generator : torch.Generator on the CPU, optional
        Source of initial weights and of dropout; by default PyTorch's global one.
    sparse : bool
        Whether the gradient of the source's word vectors is sparse.
    **options
        The parameters of `AttentionTranslator` for the network.

    Examples
    --------
    Two pairs: sources of two words and of none, targets of one word each.

    >>> import torch
    >>> from sk_han.translation import AttentionSeq2Seq
    >>> network = AttentionSeq2Seq(source_size=5, target_size=4)
    >>> sources, targets = torch.tensor([3, 2, 0, 0]), torch.tensor([0, 3, 0, 2])
    >>> network(sources, torch.tensor([3, 1]), targets, torch.tensor([2, 2])).shape
    torch.Size([4, 4])
    """

    def __init__(
        self,
        *,
        source_size: int,
        target_size: int,
        generator: torch.Generator | None = None,
        sparse: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.options = TranslationOptions(**options).copy()
        self.options.check()
        self.generator = generator
        E, Q, A = self.options.embedding_dim, self.options.hidden_size, self.options.attention_size
        self.embedding = with_memory(nn.Embedding(source_size, E, sparse=sparse, device="meta"))
        self.target_embedding = with_memory(nn.Embedding(target_size, E, device="meta"))
        self.encoder = BidirectionalGRU(E, Q, generator)
        H = self.encoder.output_size
        self.start = with_memory(nn.Linear(H, Q, device="meta"))
        self.key = with_memory(nn.Linear(H, A, device="meta"))
        self.cell = with_memory(nn.GRUCell(2 * E, Q, device="meta"))  # [word, attentional vector]
        self.query = with_memory(nn.Linear(Q, A, bias=False, device="meta"))
        self.context = parameter(A)
        self.output = with_memory(nn.Linear(Q + H, E, device="meta"))
        self.output_bias = parameter(target_size)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        generator = self.generator
        for embedding in (self.embedding, self.target_embedding):
            normal_(embedding.weight, 0.1, generator)
        self.encoder.reset_parameters(generator)
        for layer in (self.start, self.key, self.query, self.output):
            xavier_uniform_(layer.weight, generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        for weight in self.cell.parameters():
            uniform_(weight, self.cell.hidden_size**-0.5, generator)
        uniform_(self.context, len(self.context) ** -0.5, generator)
        nn.init.zeros_(self.output_bias)

    def forward(self, *batch: Tensor) -> Tensor:
        """Compute the logits of target words; see `attend` for the arguments."""
        return self.attend(*batch).logits

    def attend(
        self, source_ids: Tensor, source_lengths: Tensor, word_before: Tensor, lengths: Tensor
    ) -> Seq2SeqOutput:
        """Compute the logits of each target word from the words before it.

        Parameters
        ----------
        source_ids : Tensor of int64, shape (X,)
            Words of all sources, each with its end mark.
        source_lengths : Tensor of int64 on the CPU, shape (P,)
        word_before : Tensor of int64, shape (Y,)
            The word before each target word, for the first one the end mark.
        lengths : Tensor of int64 on the CPU, shape (P,)
            Number of target words with the end mark of each pair, at least 1.
        """
        layout = PackedLayout(lengths)
        order = layout.order.to(source_ids.device)
        memory, state = self.encode(source_ids, source_lengths, order)
        p = self.options.dropout if self.training else 0.0
        before = word_before[layout.forward_token.to(word_before.device)]
        distinct, index = distinct_words(before, self.target_embedding.num_embeddings)
        words = dropout(self.target_embedding.weight[distinct], p, self.generator)  # (U, E)
        words = words[index]  # (Y, E), the first words of all targets, then the second ones
        steps, row = [], 0
        for n in layout.active:
            memory, state = memory.select(slice(n)), state.select(slice(n))
            state, _ = self.step(memory, state, words[row : row + n])
            steps.append(state.attentional)
            row += n
        attentional = torch.cat(steps)
        in_order = layout.forward_row.to(attentional.device)
        attentional = dropout(attentional, p, self.generator)[in_order]
        return Seq2SeqOutput(self.logits(attentional), attentional.new_zeros(()))

    def encode(
        self, source_ids: Tensor, lengths: Tensor, order: Tensor | None = None
    ) -> tuple[Memory, DecoderState]:
        """Encode sources as in `attend`; return memory and initial state in this order (P,)."""
        distinct, index = distinct_words(source_ids, len(self.embedding.weight))
        words = self.embedding(distinct)  # (U, E)
        p = self.options.dropout if self.training else 0.0
        words = dropout(words, p, self.generator)
        # In addition, whole words are dropped at half of this rate.
        factor = dropout(words.new_ones(len(words), 1), p / 2, self.generator)
        encoded = self.encoder(words * factor, index, lengths)
        device = source_ids.device
        _, first, last = sequence_ends(lengths, device)  # (P,)
        position = torch.arange(int(lengths.max()), device=device)  # (W,)
        token = (first.unsqueeze(1) + position).clamp(max=len(source_ids) - 1)  # (P, W)
        behind = position >= lengths.to(device).unsqueeze(1)
        if order is not None:
            token, behind = token[order], behind[order]
        states = dropout(encoded, p, self.generator)  # (X, H)
        mask = states.new_zeros(token.shape).masked_fill(behind, float("-inf"))
        memory = Memory(states[token], self.key(states)[token], mask)
        Q = self.options.hidden_size
        ends = torch.cat([encoded[last, :Q], encoded[first, Q:]], dim=1)  # (P, H)
        start = torch.tanh(self.start(dropout(ends, p, self.generator)))  # (P, Q)
        if order is not None:
            start = start[order]
        return memory, DecoderState(start, start.new_zeros(len(start), self.output.out_features))

    def step(
        self, memory: Memory, state: DecoderState, words: Tensor
    ) -> tuple[DecoderState, Tensor]:
        """Read the vectors of the next words (P, E); return the state and the attention (P, W)."""
        hidden = self.cell(torch.cat([words, state.attentional], dim=1), state.hidden)  # (P, Q)
        scores = torch.tanh(memory.keys + self.query(hidden).unsqueeze(1)) @ self.context
        attention = torch.softmax(scores + memory.mask, dim=1)  # (P, W)
        attended = torch.bmm(attention.unsqueeze(1), memory.states).squeeze(1)  # (P, H)
        attentional = torch.tanh(self.output(torch.cat([hidden, attended], dim=1)))
        return DecoderState(hidden, attentional), attention

    def logits(self, attentional: Tensor) -> Tensor:
        """Return the logits of the vocabulary, shape (n, V)."""
        return linear(attentional, self.target_embedding.weight, self.output_bias)
