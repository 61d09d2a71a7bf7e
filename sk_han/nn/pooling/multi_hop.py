"""Several attentions side by side."""

from __future__ import annotations

import torch
from torch import Tensor

from sk_han.nn.initialization import parameter, uniform_, xavier_uniform_
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.ragged.segments import segment_numbers, segment_softmax, segment_sum


class MultiHopPooling(Pooling):
    """R weighted means of the states of a sequence, side by side (see `sk_han.MultiHopAttention`).

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
    """

    def __init__(
        self,
        input_size: int,
        attention_dim: int,
        hops: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(hops, attention_dim)
        self.output_size = hops * input_size
        xavier_uniform_(self.weight, generator)
        uniform_(self.context, attention_dim**-0.5, generator)

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, as `Pooling.pool` says: vectors (N, R * H)."""
        N, R = len(lengths), len(self.context)
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        u = torch.tanh(torch.addmm(self.bias, states, self.weight.T))  # (T, A)
        hop = torch.arange(R, device=states.device).unsqueeze(1) * N + segment  # (R, T)
        scores = (self.context @ u.T).flatten()  # (R * T,)
        weights = segment_softmax(scores, hop.flatten(), N * R).view(R, -1).T  # (T, R)
        weighted = weights.unsqueeze(2) * states.unsqueeze(1)  # (T, R, H)
        return segment_sum(weighted.flatten(1), segment, N), weights
