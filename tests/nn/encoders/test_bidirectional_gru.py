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


def initial_of(lengths, dtype):
    """A state for each direction of each sequence."""
    n = len(lengths)
    return torch.sin(torch.arange(2 * n * 5, dtype=dtype)).view(2, n, 5)


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
@pytest.mark.parametrize("starts_at_zero", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_kernels_equal_pytorch_with_gradients(encoder, inputs, index, lengths, starts_at_zero):
    def states_and_gradients(dtype):
        given = inputs.to(dtype, copy=True).requires_grad_()
        initial = initial_of(lengths, dtype).requires_grad_()
        encoder.to(dtype)
        assert encoder.has_kernels is (dtype == torch.float32)
        start = None if starts_at_zero else initial
        encoded = encoder.encode(given, index, torch.tensor(lengths), start)
        loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in encoded)
        wanted = [given, *encoder.parameters()] + ([] if starts_at_zero else [initial])
        return [*encoded, *torch.autograd.grad(loss, wanted)]

    found = [each.double() for each in states_and_gradients(torch.float32)]
    exact = states_and_gradients(torch.float64)
    # Gradients of weights are sums over all tokens, so errors of float32 add up in them.
    assert_close(found[:2], exact[:2], rtol=0, atol=1e-6)
    assert_close(found, exact, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_each_sequence_is_read_as_torch_reads_it_alone(encoder, inputs, index, lengths, atol):
    initial = initial_of(lengths, inputs.dtype)
    from_zero = encoder(inputs, index, torch.tensor(lengths)).split(lengths)
    states, last = encoder.encode(inputs, index, torch.tensor(lengths), initial)
    for k, tokens in enumerate(index.split(lengths)):
        if not len(tokens):  # it ends where it began
            assert torch.equal(last[:, k], initial[:, k])
            continue
        assert_close(from_zero[k], encoder.gru(inputs[tokens])[0], rtol=0, atol=atol)
        found = states.split(lengths)[k], last[:, k]
        assert_close(found, encoder.gru(inputs[tokens], initial[:, k]), rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ([0, 0], [[1 / 4, 7 / 16], [3 / 8, 3 / 8], [7 / 16, 1 / 4]]),
        ([3 / 2, -1 / 2], [[1, 3 / 8], [3 / 4, 1 / 4], [5 / 8, 0]]),
    ],
)
def test_states_worked_by_hand(dtype, atol, initial, expected):
    # Without weights both gates are 1/2, and the candidate is tanh of its bias: let it be 1/2.
    # Then h becomes (1/2 + h) / 2 from step to step.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).to(dtype)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=dtype)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    start = torch.tensor(initial, dtype=dtype).view(2, 1, 1)
    one_input, index = torch.zeros(1, 1, dtype=dtype), torch.tensor([0, 0, 0])
    states, last = encoder.encode(one_input, index, torch.tensor([3]), start)
    assert_close(states, torch.tensor(expected, dtype=dtype), rtol=0, atol=atol)
    assert last.flatten().tolist() == pytest.approx([expected[2][0], expected[0][1]], abs=atol)


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


class TestInitialStates:
    def test_without_initial_states_they_are_zero(self, encoder, inputs, index, dtype):
        lengths = torch.tensor([3, 0, 7, 1, 2])
        states, last = encoder.encode(inputs, index, lengths)
        zeros = encoder.encode(inputs, index, lengths, torch.zeros(2, 5, 5, dtype=dtype))
        assert torch.equal(states, encoder(inputs, index, lengths))
        assert torch.equal(states, zeros.states)
        assert torch.equal(last, zeros.last)
        assert last[:, 1].eq(0).all()

    def test_no_tokens_end_where_they_began(self, encoder, dtype):
        no_inputs, no_index = torch.empty(0, 3, dtype=dtype), torch.empty(0, dtype=torch.int64)
        initial = torch.arange(20, dtype=dtype).view(2, 2, 5).requires_grad_()
        states, last = encoder.encode(no_inputs, no_index, torch.tensor([0, 0]), initial)
        assert states.shape == (0, 10)
        assert torch.equal(last, initial)
        (states.sum() + last.sum()).backward()
        assert initial.grad.eq(1).all()
