"""The bidirectional GRU over ragged sequences; choice of an encoder."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sk_han.nn.encoders.packed_rnn import PackedRNN, packed_states
from sk_han.nn.gpu_functions import gru_states_on_gpu, kernels_for
from sk_han.nn.initialization import uniform_, with_memory
from sk_han.nn.kernel_functions import gru_states, kernels_cover, projections
from sk_han.options import RNN


class _Weights(NamedTuple):
    """Weights of both directions, as kernels take them."""

    inputs: Tensor  # (2, 3H/2, E)
    input_bias: Tensor  # (2, 3H/2)
    states: Tensor  # (2, H/2, 3H/2)
    state_bias: Tensor  # (2, H/2)


class BidirectionalGRU(nn.Module):
    """Bidirectional GRU over ragged sequences of repeated inputs.

    In single precision compiled kernels compute it, if there are any: they project distinct inputs
    once, and both directions advance at once; on a GPU they cover states of up to 64 numbers a
    direction. Elsewhere `torch.nn.GRU` computes over a packed sequence, on a GPU by cuDNN. All
    return the same numbers.

    Parameters
    ----------
    input_size : int
        Size E of each input.
    hidden_size : int
        Size of the state of each direction; states of both together have H = 2 * hidden_size.
    generator : torch.Generator, optional
        Source of the initial weights; by default PyTorch's global one.

    Attributes
    ----------
    gru : torch.nn.GRU
        The weights, under PyTorch's names.
    output_size : int
        Size H of the states.
    """

    def __init__(
        self, input_size: int, hidden_size: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.gru = with_memory(nn.GRU(input_size, hidden_size, bidirectional=True, device="meta"))
        self.output_size = 2 * hidden_size
        self.reset_parameters(generator)
        self._joined: _Weights | None = None

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights as `torch.nn.GRU` does."""
        bound = self.gru.hidden_size**-0.5
        for parameter in self.gru.parameters():
            uniform_(parameter, bound, generator)

    def forward(self, inputs: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Encode concatenated sequences.

        Parameters
        ----------
        inputs : Tensor, shape (U, input_size)
            Distinct inputs.
        index : Tensor of int64, shape (T,)
            The input at each token.
        lengths : Tensor of int64 on the CPU, shape (N,)
            Number of tokens of each sequence, together T.

        Returns
        -------
        Tensor, shape (T, H)
        """
        gpu_kernels = kernels_for(self.gru.get_parameter("weight_ih_l0"))
        if gpu_kernels is not None:
            return gru_states_on_gpu(gpu_kernels, inputs, *self._weights(), index, lengths)
        if not self.has_kernels:
            return packed_states(self.gru, inputs, index, lengths)
        weights = self._weights()
        projected = projections(inputs, weights.inputs, weights.input_bias)
        return gru_states(projected, weights.states, weights.state_bias, index, lengths)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled kernels compute here, on a CPU."""
        weight = self.gru.get_parameter("weight_ih_l0")
        return kernels_cover("projection", weight) and kernels_cover("gru_recurrence", weight)

    def project(self, inputs: Tensor) -> Tensor:
        """Return the projections of inputs (U, E) for both directions, (2, U, 3H/2), by kernels."""
        weights = self._weights()
        return projections(inputs, weights.inputs, weights.input_bias)

    def recur(self, projected: Tensor, index: Tensor, lengths: Tensor) -> Tensor:
        """Return the states of projected inputs, shape (T, H), by kernels."""
        weights = self._weights()
        return gru_states(projected, weights.states, weights.state_bias, index, lengths)

    def join_weights(self, join: bool) -> None:
        """Keep the weights of both directions as predictions need them, or forget them.

        Joining them takes a tenth of the time of one document. A change of weights needs it again.
        """
        self._joined = None
        if join:
            with torch.no_grad():
                self._joined = self._weights()

    def _weights(self) -> _Weights:
        if self._joined is not None and not torch.is_grad_enabled():
            return self._joined
        gates = 2 * self.gru.hidden_size
        bias, state_bias = self._both("bias_ih_l0"), self._both("bias_hh_l0")  # (2, 3H/2)
        # The recurrent bias of the candidate is not included: the reset gate scales it.
        input_bias = torch.cat([bias[:, :gates] + state_bias[:, :gates], bias[:, gates:]], dim=1)
        return _Weights(
            self._both("weight_ih_l0"),
            input_bias,
            self._both("weight_hh_l0").transpose(1, 2).contiguous(),
            state_bias[:, gates:].contiguous(),
        )

    def _both(self, name: str) -> Tensor:
        return torch.stack([getattr(self.gru, name), getattr(self.gru, f"{name}_reverse")])


def recurrent_encoder(
    rnn: RNN, input_size: int, hidden_size: int, generator: torch.Generator | None
) -> BidirectionalGRU | PackedRNN:
    """Return the fastest encoder for these options."""
    if rnn == RNN():
        return BidirectionalGRU(input_size, hidden_size, generator)
    return PackedRNN(
        rnn.cell, input_size, hidden_size, rnn.num_layers, rnn.bidirectional, generator
    )
