"""The bidirectional GRU: two engines, one result."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han.nn import BidirectionalGRU

pytestmark = pytest.mark.usefixtures("engine")

TOLERANCE = {"numba": 1e-6, "torch": 1e-12}  # single and double precision
LENGTHS = {
    "several lengths": [3, 1, 7, 2],
    "empty sequences": [0, 5, 0, 0, 7, 1, 0],
    "equal lengths": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "one sequence": [13],
}


@pytest.fixture
def atol(engine):
    return TOLERANCE[engine]


@pytest.fixture
def encoder(fill, dtype):
    """Inputs of size 3, states of size 5 in each direction."""
    encoder = BidirectionalGRU(input_size=3, hidden_size=5).to(dtype)
    fill(encoder)
    return encoder


@pytest.fixture
def inputs(dtype):
    """Eleven distinct inputs."""
    return torch.cos(torch.arange(33, dtype=dtype)).view(11, 3)


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_kernels_equal_pytorch_with_gradients(encoder, inputs, index, lengths):
    def states_and_gradients(dtype):
        given = inputs.to(dtype, copy=True).requires_grad_()
        encoder.to(dtype)
        assert encoder.has_kernels is (dtype == torch.float32)
        states = encoder(given, index, torch.tensor(lengths))
        loss = (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()
        return [states, *torch.autograd.grad(loss, [given, *encoder.parameters()])]

    found = [each.double() for each in states_and_gradients(torch.float32)]
    exact = states_and_gradients(torch.float64)
    # Gradients of weights are sums over all tokens, so errors of float32 add up in them.
    assert_close(found[0], exact[0], rtol=0, atol=1e-6)
    assert_close(found, exact, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_each_sequence_is_read_as_torch_reads_it_alone(encoder, inputs, index, lengths, atol):
    states = encoder(inputs, index, torch.tensor(lengths)).split(lengths)
    for found, tokens in zip(states, index.split(lengths), strict=True):
        if len(tokens):
            assert_close(found, encoder.gru(inputs[tokens])[0], rtol=0, atol=atol)


def test_states_worked_by_hand(dtype, atol):
    # Without weights both gates are 1/2, and the candidate is tanh of its bias: let it be 1/2.
    # Then h becomes (1/2 + h) / 2 from step to step.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).to(dtype)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=dtype)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    one_input, index = torch.zeros(1, 1, dtype=dtype), torch.tensor([0, 0, 0])
    states = encoder(one_input, index, torch.tensor([3]))
    expected = [[1 / 4, 7 / 16], [3 / 8, 3 / 8], [7 / 16, 1 / 4]]
    assert_close(states, torch.tensor(expected, dtype=dtype), rtol=0, atol=atol)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_tokens_give_no_states(encoder, dtype, lengths):
    no_index = torch.empty(0, dtype=torch.int64)
    lengths_of_nothing = torch.tensor(lengths, dtype=torch.int64)
    assert encoder(torch.empty(0, 3, dtype=dtype), no_index, lengths_of_nothing).shape == (0, 10)


def test_no_tokens_give_gradients_of_zero(encoder, dtype):
    no_index = torch.empty(0, dtype=torch.int64)
    encoder(torch.empty(0, 3, dtype=dtype), no_index, torch.tensor([0, 0])).sum().backward()
    assert all(weight.grad.eq(0).all() for weight in encoder.parameters())


def test_weights_start_as_those_of_torch_gru():
    encoder = BidirectionalGRU(5, 101, torch.Generator().manual_seed(0))
    reference = nn.GRU(5, 101, bidirectional=True)
    shapes = {name: weight.shape for name, weight in reference.named_parameters()}
    assert {name: weight.shape for name, weight in encoder.gru.named_parameters()} == shapes
    highest = max(weight.abs().max().item() for weight in encoder.parameters())
    assert highest == pytest.approx(101**-0.5, rel=1e-3)
