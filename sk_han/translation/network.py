"""A translation network: a recurrent encoder, and a decoder that attends to its states."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from sk_han.nn.encoders import (
    BidirectionalGRU,
    distinct_words,
    dropout,
    normal_,
    parameter,
    uniform_,
    with_memory,
    xavier_uniform_,
)
from sk_han.nn.ragged import PackedLayout, sequence_ends
from sk_han.options import RNN, Options, Range, Shapes, encoder_shapes, option

# Ends a source, begins and ends a target. Padding has this id elsewhere, and there is none here.
END_ID = 0


@dataclass(kw_only=True)
class TranslationOptions(Options):
    """Sizes and dropout of an `AttentionSeq2Seq`, as in `AttentionTranslator`.

    The word vectors of the target are the weights of the output too (Press and Wolf, 2017), so the
    vector from which a word is predicted has their size.
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
        Always 0; `sk_han.training.net.Net` adds it to the loss.
    """

    logits: Tensor
    penalty: Tensor


class Memory(NamedTuple):
    """What a decoder attends to."""

    states: Tensor  # (P, W, H), of the source words
    keys: Tensor  # (P, W, A)
    mask: Tensor  # (P, W), minus infinity behind a source, where the attention then is exactly 0

    def of(self, pairs: Tensor) -> Memory:
        """Return the memory of these pairs, of shape (n,)."""
        return Memory(*(each[pairs] for each in self))


class DecoderState(NamedTuple):
    """What a decoder knows of the words before."""

    hidden: Tensor  # (P, Q)
    attentional: Tensor  # (P, E), from which the words are predicted

    def of(self, rows: Tensor) -> DecoderState:
        """Return the state of these rows, of shape (n,)."""
        return DecoderState(self.hidden[rows], self.attentional[rows])


class AttentionSeq2Seq(nn.Module):
    """Encoder and decoder of a translation; `DecoderFunction` has the equations.

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
        memory, start = self.encode(source_ids, source_lengths, order)
        p = self.options.dropout if self.training else 0.0
        before = word_before[layout.forward_token.to(word_before.device)]
        distinct, index = distinct_words(before, self.target_embedding.num_embeddings)
        words = dropout(self.target_embedding.weight[distinct], p, self.generator)  # (U, E)
        attentional: Tensor = DecoderFunction.apply(
            self._project(words)[index],
            start.hidden,
            memory.states,
            memory.keys,
            memory.mask,
            layout,
            *self._weights(),
        )
        in_order = layout.forward_row.to(attentional.device)
        attentional = dropout(attentional, p, self.generator)[in_order]
        return Seq2SeqOutput(self.logits(attentional), attentional.new_zeros(()))

    def encode(
        self, source_ids: Tensor, lengths: Tensor, order: Tensor | None = None
    ) -> tuple[Memory, DecoderState]:
        """Encode sources as in `attend`; return the states of their pairs in this order (P,)."""
        distinct, index = distinct_words(source_ids, len(self.embedding.weight))
        words = self.embedding(distinct)  # (U, E)
        p = self.options.dropout if self.training else 0.0
        words = dropout(words, p, self.generator)
        factor = dropout(words.new_ones(len(words), 1), p / 2, self.generator)  # of whole words
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
        self, memory: Memory, state: DecoderState, word_before: Tensor
    ) -> tuple[DecoderState, Tensor]:
        """Read one word more, and return the attention (P, W) too.

        `DecoderFunction` computes the same for all steps of known words.
        """
        words = self.target_embedding(word_before)
        hidden = self.cell(torch.cat([words, state.attentional], dim=1), state.hidden)  # (P, Q)
        scores = torch.tanh(memory.keys + self.query(hidden).unsqueeze(1)) @ self.context
        attention = torch.softmax(scores + memory.mask, dim=1)  # (P, W)
        attended = torch.bmm(attention.unsqueeze(1), memory.states).squeeze(1)  # (P, H)
        attentional = torch.tanh(self.output(torch.cat([hidden, attended], dim=1)))
        return DecoderState(hidden, attentional), attention

    def logits(self, attentional: Tensor) -> Tensor:
        """Return the logits of the vocabulary, shape (n, V)."""
        return linear(attentional, self.target_embedding.weight, self.output_bias)

    def _project(self, words: Tensor) -> Tensor:
        """Project target words for the gates, shape (U, 3Q)."""
        Q, E = self.cell.hidden_size, words.shape[1]
        recurrent = self.cell.bias_hh
        bias = self.cell.bias_ih + torch.cat([recurrent[: 2 * Q], recurrent.new_zeros(Q)])
        return linear(words, self.cell.weight_ih[:, :E], bias)

    def _weights(self) -> DecoderWeights:
        E, Q = self.output.out_features, self.cell.hidden_size
        return DecoderWeights(
            self.cell.weight_ih[:, E:],
            self.cell.weight_hh,
            self.cell.bias_hh[2 * Q :],
            self.query.weight,
            self.context,
            self.output.weight,
            self.output.bias,
        )


def translation_shapes(source_size: int, target_size: int, options: TranslationOptions) -> Shapes:
    """Return the shape of each weight of an `AttentionSeq2Seq`; arguments as there."""
    E, Q, A = options.embedding_dim, options.hidden_size, options.attention_size
    H = 2 * options.hidden_size
    return {
        "embedding.weight": (source_size, E),
        "target_embedding.weight": (target_size, E),
        **encoder_shapes("encoder", E, options.hidden_size, RNN()),
        "start.weight": (Q, H),
        "start.bias": (Q,),
        "key.weight": (A, H),
        "key.bias": (A,),
        "cell.weight_ih": (3 * Q, 2 * E),
        "cell.weight_hh": (3 * Q, Q),
        "cell.bias_ih": (3 * Q,),
        "cell.bias_hh": (3 * Q,),
        "query.weight": (A, Q),
        "context": (A,),
        "output.weight": (E, Q + H),
        "output.bias": (E,),
        "output_bias": (target_size,),
    }


# The decoder over known target words, with attention and input feeding, and a backward by hand.
#
# The attention of a word enters the state of the next one, so steps are computed one by one. What
# does not depend on the step before is left outside of them: projections of words, and all
# gradients
# of weights, which are one product each after the last step.


class DecoderWeights(NamedTuple):
    """Weights of a step: ``[a, b]`` stands for vectors side by side."""

    feeding: Tensor  # (3Q, E), of the attentional vector of the word before; gates r, z, n
    recurrent: Tensor  # (3Q, Q)
    state_bias: Tensor  # (Q,), the recurrent bias inside the candidate
    query: Tensor  # (A, Q)
    context: Tensor  # (A,)
    output: Tensor  # (E, Q + H)
    output_bias: Tensor  # (E,)


class DecoderFunction(torch.autograd.Function):
    """Attentional vectors of known target words.

    ``DecoderFunction.apply(words, start, states, keys, mask, layout, *DecoderWeights)``, for each
    pair and each word t of its target (r, z, n as in `sk_han.kernels.engine.recur`)::

        h_t = GRU([y_{t-1}, a_{t-1}], h_{t-1})                            state
        w_tj = softmax_j(context . tanh(k_j + query h_t) + mask_j)        attention
        a_t = tanh(output [h_t, sum_j w_tj s_j] + output_bias)            attentional vector

    with the states ``s_j`` of the source words and their keys ``k_j`` (Bahdanau et al., 2015;
    attention with the present state and input feeding: Luong et al., 2015).

    Words (Y, 3Q) are projected, with biases, and as the result (Y, E) in the order of the rows of
    the layout of the Y target words, where every target has a word. Pairs are sorted, the longest
    target first: ``start`` (P, Q), ``states`` (P, W, H), ``keys`` (P, W, A), and ``mask`` (P, W),
    which is minus infinity behind the last word of a source and else 0.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        start: Tensor,
        states: Tensor,
        keys: Tensor,
        mask: Tensor,
        layout: PackedLayout,
        *weights: Tensor,
    ) -> Tensor:
        """Compute the vectors step by step, and keep what the backward needs."""
        own = DecoderWeights(*weights)
        (P, Q), (_, W, H), A, E = start.shape, states.shape, keys.shape[2], len(own.output)
        Y = len(words)
        gates = words.new_empty(Y, 2 * Q)
        candidate = words.new_empty(Y, Q)
        scaled = words.new_empty(Y, Q)  # the part of the candidate that r scales
        hidden_tanh = words.new_empty(Y, W, A)
        attention = words.new_empty(Y, W)
        joined = words.new_empty(Y, Q + H)  # [h_t, attended states]
        fed = words.new_empty(P + Y, E + Q)  # [a_t, h_t] of each row, behind those of the start
        fed[:P, :E] = 0
        fed[:P, E:] = start
        gates.copy_(words[:, : 2 * Q])
        candidate.copy_(words[:, 2 * Q :])
        weight_gates = torch.cat([own.feeding[: 2 * Q], own.recurrent[: 2 * Q]], dim=1).t()
        weight_candidate = own.feeding[2 * Q :].t()
        weight_state = own.recurrent[2 * Q :].t()
        query, output = own.query.t(), own.output.t()

        row, before = 0, fed[:P]
        for n in layout.active:
            rows, before = slice(row, row + n), before[:n]
            row += n
            a, h = before[:, :E], before[:, E:]
            rz = gates[rows].addmm_(before, weight_gates).sigmoid_()
            rc = torch.addmm(own.state_bias, h, weight_state, out=scaled[rows])
            c = candidate[rows].addmm_(a, weight_candidate)
            tanh_(c.addcmul_(rz[:, :Q], rc))
            after = torch.lerp(c, h, rz[:, Q:])
            hidden = hidden_tanh[rows]
            torch.add(keys[:n], (after @ query).unsqueeze(1), out=hidden)
            scores = (tanh_(hidden).view(n * W, A) @ own.context).view(n, W)
            torch.softmax(scores.add_(mask[:n]), dim=1, out=attention[rows])
            hc = joined[rows]
            hc[:, :Q] = after
            hc[:, Q:] = torch.bmm(attention[rows].unsqueeze(1), states[:n]).squeeze(1)
            before = fed[P + rows.start : P + rows.stop]
            before[:, :E] = tanh_(torch.addmm(own.output_bias, hc, output))
            before[:, E:] = after
        ctx.save_for_backward(
            states, gates, candidate, scaled, hidden_tanh, attention, joined, fed, *weights
        )
        ctx.layout = layout
        return fed[P:, :E].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through the steps, from the last to the first."""
        saved, own = ctx.saved_tensors[:8], DecoderWeights(*ctx.saved_tensors[8:])
        states, gates, candidate, scaled, hidden_tanh, attention, joined, fed = saved
        layout: PackedLayout = ctx.layout
        (P, W, H), (Y, Q), (_, E), A = states.shape, scaled.shape, grad.shape, hidden_tanh.shape[2]
        weight_gates = torch.cat([own.feeding[: 2 * Q], own.recurrent[: 2 * Q]], dim=1)
        weight_candidate, weight_state = own.feeding[2 * Q :], own.recurrent[2 * Q :]
        d_words = grad.new_empty(Y, 3 * Q)  # of r, z and n
        d_scaled = grad.new_empty(Y, Q)
        d_output = grad.new_empty(Y, E)  # before the tanh
        d_query = grad.new_empty(Y, A)
        d_attended = grad.new_empty(Y, H)
        d_keys = grad.new_zeros(P, W, A)
        d_context = torch.zeros_like(own.context)

        carried, row = grad.new_zeros(0, E + Q), Y
        for step in reversed(range(len(layout.active))):
            n, m = layout.active[step], len(carried)
            rows = slice(row - n, row)
            row -= n
            first = rows.start - layout.active[step - 1] if step else -P
            h = fed[P + first : P + first + n, E:]
            a = fed[P + rows.start : P + rows.stop, :E]
            d = d_output[rows].copy_(grad[rows])
            d[:m] += carried[:, :E]
            d.addcmul_(d, a * a, value=-1)
            d_joined = d @ own.output
            dh = d_joined[:, :Q]
            dh[:m] += carried[:, E:]
            attended = d_attended[rows].copy_(d_joined[:, Q:])
            w, hidden = attention[rows], hidden_tanh[rows]
            ds = torch.bmm(states[:n], attended.unsqueeze(2)).squeeze(2)  # (n, W)
            ds = w * (ds - (w * ds).sum(1, keepdim=True))
            d_context.addmv_(hidden.view(n * W, A).t(), ds.view(n * W))
            inner = hidden.square_().sub_(1).mul_(own.context).mul_(ds.unsqueeze(2)).neg_()
            d_keys[:n] += inner
            torch.sum(inner, dim=1, out=d_query[rows])
            dh = dh.addmm(d_query[rows], own.query)
            rz, c, rc = gates[rows], candidate[rows], scaled[rows]
            r, z = rz[:, :Q], rz[:, Q:]
            kept = z * dh
            dr, dz, dn = d_words[rows].split(Q, dim=1)
            dn.copy_((dh - kept) * (1 - c * c))
            ds_rows = torch.mul(dn, r, out=d_scaled[rows])
            torch.mul(ds_rows * rc, 1 - r, out=dr)
            torch.mul(h - c, kept - kept * z, out=dz)
            carried = d_words[rows][:, : 2 * Q] @ weight_gates
            carried[:, :E].addmm_(dn, weight_candidate)
            carried[:, E:].add_(kept).addmm_(ds_rows, weight_state)

        before = fed[layout.previous_row.to(grad.device)]  # (Y, E + Q)
        d_gates = d_words[:, : 2 * Q].t() @ before
        d_feeding = torch.cat([d_gates[:, :E], d_words[:, 2 * Q :].t() @ before[:, :E]])
        d_recurrent = torch.cat([d_gates[:, E:], d_scaled.t() @ before[:, E:]])
        return (
            d_words,
            carried[:, E:],
            _products_of_pairs(attention, d_attended, layout),
            d_keys,
            None,
            None,
            d_feeding,
            d_recurrent,
            d_scaled.sum(0),
            d_query.t() @ joined[:, :Q],
            d_context,
            d_output.t() @ joined,
            d_output.sum(0),
        )


def _products_of_pairs(left: Tensor, right: Tensor, layout: PackedLayout) -> Tensor:
    """Compute ``left.T @ right`` over the rows of each pair, shape (P, W, H)."""
    P, n_steps = layout.active[0], len(layout.active)
    active = torch.tensor(layout.active, device="cpu")
    step = torch.repeat_interleave(torch.arange(n_steps, device="cpu"), active)
    pair = torch.arange(len(step), device="cpu") - (torch.cumsum(active, 0) - active)[step]
    place = (pair * n_steps + step).to(left.device)
    padded = [
        rows.new_zeros(P * n_steps, rows.shape[1]).index_copy_(0, place, rows).view(P, n_steps, -1)
        for rows in (left, right)
    ]
    return torch.bmm(padded[0].transpose(1, 2), padded[1])


def tanh_(x: Tensor) -> Tensor:
    """Compute tanh in place by sigmoid, which ATen vectorizes: 3.3 times faster on large arrays."""
    if x.numel() < 8192:
        return x.tanh_()
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)
