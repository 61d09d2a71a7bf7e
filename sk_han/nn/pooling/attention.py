"""Additive attention pooling: a weighted mean of states, with learnt weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sk_han.nn.initialization import parameter, uniform_, xavier_uniform_
from sk_han.nn.kernel_functions import attention, kernels_cover
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.ragged.segments import segment_numbers, segment_softmax, segment_sum


class AttentionPooling(Pooling):
    """Weighted mean of the states of a sequence, after Yang et al. (2016), equations 5 to 7.

    ``u_t = tanh(W h_t + b)``, ``alpha_t = softmax_t(u_t . c)``, result ``sum_t alpha_t h_t``,
    where the context vector ``c`` stands for the question "is this one informative?".

    Parameters
    ----------
    input_size : int
        Size H of each state.
    attention_dim : int
        Size A of ``u_t`` and ``c``.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Examples
    --------
    >>> import torch
    >>> from sk_han.nn import AttentionPooling
    >>> pooling = AttentionPooling(input_size=4, attention_dim=3)
    >>> pooled, weights = pooling.pool(torch.randn(8, 4), torch.tensor([3, 5]))
    >>> pooled.shape, weights.shape
    (torch.Size([2, 4]), torch.Size([8, 1]))
    """

    has_kernels = True

    def __init__(
        self, input_size: int, attention_dim: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.weight = parameter(attention_dim, input_size)
        self.bias = parameter(attention_dim)
        self.context = parameter(attention_dim)
        self.output_size = input_size
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights: Glorot for the projection, zero bias, a small context vector."""
        xavier_uniform_(self.weight, generator)
        nn.init.zeros_(self.bias)
        uniform_(self.context, len(self.context) ** -0.5, generator)

    def pool(
        self, states: Tensor, lengths: Tensor, sequences_per_document: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pool concatenated sequences, as `Pooling.pool` says."""
        if kernels_cover("attention", states):
            pooled, weights = attention(states, self.weight, self.bias, self.context, lengths)
            return pooled, weights.unsqueeze(1)
        segment = segment_numbers(lengths).to(states.device)  # (T,)
        u = torch.tanh(torch.addmm(self.bias, states, self.weight.T))  # (T, A)
        weights = segment_softmax(u @ self.context, segment, len(lengths)).unsqueeze(1)  # (T, 1)
        return segment_sum(weights * states, segment, len(lengths)), weights
