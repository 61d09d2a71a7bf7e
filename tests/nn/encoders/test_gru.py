"""The bidirectional GRU: two engines, one result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
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
def dtype(engine: str) -> torch.dtype:
    """The type of numbers that an engine computes with."""
    return torch.float32 if engine == "numba" else torch.float64


@pytest.fixture
def atol(engine: str) -> float:
    return TOLERANCE[engine]


@pytest.fixture
def encoder(fill: Callable[[nn.Module], None], dtype: torch.dtype) -> BidirectionalGRU:
    """Inputs of size 3, states of size 5 in each direction."""
    encoder = BidirectionalGRU(input_size=3, hidden_size=5).to(dtype)
    fill(encoder)
    return encoder


@pytest.fixture
def inputs(dtype: torch.dtype) -> Tensor:
    """Eleven distinct inputs."""
    return torch.cos(torch.arange(33, dtype=dtype)).view(11, 3)


@pytest.fixture
def index() -> Tensor:
    """Thirteen tokens: input 2 stands at four of them, inputs 0, 5, 6, 8 and 10 at none."""
    return torch.tensor([2, 9, 2, 2, 1, 3, 4, 4, 7, 9, 3, 2, 1])


def states_and_gradients(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, lengths: list[int]
) -> list[Tensor]:
    """States, then gradients of the inputs and of every weight."""
    inputs = inputs.clone().requires_grad_()
    states = encoder(inputs, index, torch.tensor(lengths))
    factors = torch.sin(torch.arange(states.numel())).view_as(states)
    wanted = [inputs, *encoder.gru.parameters()]
    return [states, *torch.autograd.grad((factors * states).sum(), wanted)]


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_kernels_equal_pytorch_with_gradients(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, lengths: list[int]
) -> None:
    assert encoder.has_kernels
    found = states_and_gradients(encoder, inputs, index, lengths)
    encoder.double()
    assert not encoder.has_kernels
    exact = states_and_gradients(encoder, inputs.double(), index, lengths)
    found = [each.double() for each in found]
    # Gradients of weights are sums over all tokens, so errors of float32 add up in them.
    assert_close(found[0], exact[0], rtol=0, atol=1e-6)
    assert_close(found, exact, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_each_sequence_is_read_as_torch_reads_it_alone(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, lengths: list[int], atol: float
) -> None:
    states = encoder(inputs, index, torch.tensor(lengths))
    alone = [encoder.gru(tokens)[0] for tokens in inputs[index].split(lengths) if len(tokens)]
    assert_close(states, torch.cat(alone), rtol=0, atol=atol)


def test_states_worked_by_hand(dtype: torch.dtype, atol: float) -> None:
    # Without weights both gates are 1/2, and the candidate is tanh of its bias: let it be 1/2.
    # Then h becomes (1/2 + h) / 2 from step to step: 1/4, 3/8, 7/16.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).to(dtype)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=dtype)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    one_input = torch.zeros(1, 1, dtype=dtype)
    states = encoder(one_input, torch.tensor([0, 0, 0]), torch.tensor([3]))
    expected = [[1 / 4, 7 / 16], [3 / 8, 3 / 8], [7 / 16, 1 / 4]]
    assert_close(states, torch.tensor(expected, dtype=dtype), rtol=0, atol=atol)


def test_order_of_sequences_does_not_matter(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, atol: float
) -> None:
    lengths, order = [3, 1, 7, 2], [2, 0, 3, 1]
    states = encoder(inputs, index, torch.tensor(lengths)).split(lengths)
    shuffled_index = torch.cat([index.split(lengths)[i] for i in order])
    shuffled = encoder(inputs, shuffled_index, torch.tensor([lengths[i] for i in order]))
    assert_close(shuffled, torch.cat([states[i] for i in order]), rtol=0, atol=atol)


def test_empty_sequences_change_nothing(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, atol: float
) -> None:
    without = encoder(inputs, index, torch.tensor([3, 1, 7, 2]))
    beside = encoder(inputs, index, torch.tensor([0, 3, 1, 0, 0, 7, 2, 0]))
    assert_close(beside, without, rtol=0, atol=atol)


def test_repeated_inputs_equal_inputs_written_out(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, atol: float
) -> None:
    lengths = torch.tensor([3, 1, 7, 2])
    written_out = encoder(inputs[index], torch.arange(13), lengths)
    assert_close(encoder(inputs, index, lengths), written_out, rtol=0, atol=atol)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_tokens_give_no_states(
    encoder: BidirectionalGRU, dtype: torch.dtype, lengths: list[int]
) -> None:
    no_index = torch.empty(0, dtype=torch.int64)
    lengths_of_nothing = torch.tensor(lengths, dtype=torch.int64)
    assert encoder(torch.empty(0, 3, dtype=dtype), no_index, lengths_of_nothing).shape == (0, 10)


def test_no_tokens_give_gradients_of_zero(encoder: BidirectionalGRU, dtype: torch.dtype) -> None:
    no_index = torch.empty(0, dtype=torch.int64)
    encoder(torch.empty(0, 3, dtype=dtype), no_index, torch.tensor([0, 0])).sum().backward()
    assert all(weight.grad.eq(0).all() for weight in encoder.parameters())


def test_weights_start_as_those_of_torch_gru() -> None:
    encoder = BidirectionalGRU(5, 101, torch.Generator().manual_seed(0))
    reference = nn.GRU(5, 101, bidirectional=True)
    shapes = {name: weight.shape for name, weight in reference.named_parameters()}
    assert {name: weight.shape for name, weight in encoder.gru.named_parameters()} == shapes
    highest = max(weight.abs().max().item() for weight in encoder.parameters())
    assert highest == pytest.approx(101**-0.5, rel=1e-3)


def test_same_seed_gives_the_same_weights() -> None:
    first, second = (BidirectionalGRU(3, 5, torch.Generator().manual_seed(7)) for _ in range(2))
    assert all(map(torch.equal, first.parameters(), second.parameters()))


def test_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    BidirectionalGRU(3, 5, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


class TestInitialStates:
    """Sequences of 7, 3, 2 and 1 tokens, cut in two: where it ends, a half is empty."""

    WHOLE, HEADS, TAILS = [7, 3, 2, 1], [4, 0, 2, 1], [3, 3, 0, 0]

    @pytest.fixture
    def initial(self, dtype: torch.dtype) -> Tensor:
        """States for five sequences."""
        return torch.sin(torch.arange(50, dtype=dtype)).view(2, 5, 5)

    def halves(self, index: Tensor) -> tuple[Tensor, Tensor]:
        of_head = [t < n for n, w in zip(self.HEADS, self.WHOLE, strict=True) for t in range(w)]
        return index[torch.tensor(of_head)], index[~torch.tensor(of_head)]

    def test_a_half_continues_where_the_other_one_ended(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, atol: float
    ) -> None:
        head, tail = self.halves(index)
        heads, tails = torch.tensor(self.HEADS), torch.tensor(self.TAILS)
        forward = encoder.encode(inputs, head, heads).last[0]
        backward = encoder.encode(inputs, tail, tails).last[1]
        zeros = torch.zeros_like(forward)
        of_head = encoder.encode(inputs, head, heads, torch.stack([zeros, backward])).states
        of_tail = encoder.encode(inputs, tail, tails, torch.stack([forward, zeros])).states
        whole = encoder(inputs, index, torch.tensor(self.WHOLE)).split(self.WHOLE)
        parts = zip(of_head.split(self.HEADS), of_tail.split(self.TAILS), strict=True)
        for expected, both in zip(whole, parts, strict=True):
            assert_close(torch.cat(both), expected, rtol=0, atol=atol)

    def test_states_and_last_ones_are_those_of_torch_for_each_sequence_alone(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, initial: Tensor, atol: float
    ) -> None:
        lengths = [3, 0, 7, 1, 2]
        found = encoder.encode(inputs, index, torch.tensor(lengths), initial)
        assert found.last.shape == (2, 5, 5)
        for k, tokens in enumerate(index.split(lengths)):
            if len(tokens):
                states, last = encoder.gru(inputs[tokens], initial[:, k])
                assert_close(found.states.split(lengths)[k], states, rtol=0, atol=atol)
                assert_close(found.last[:, k], last, rtol=0, atol=atol)

    def test_an_empty_sequence_ends_in_its_initial_state(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, initial: Tensor
    ) -> None:
        last = encoder.encode(inputs, index, torch.tensor([3, 0, 7, 3, 0]), initial).last
        assert torch.equal(last[:, [1, 4]], initial[:, [1, 4]])

    def test_without_initial_states_they_are_zero(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, initial: Tensor
    ) -> None:
        lengths = torch.tensor([3, 0, 7, 1, 2])
        states, last = encoder.encode(inputs, index, lengths)
        zeros = encoder.encode(inputs, index, lengths, torch.zeros_like(initial))
        assert torch.equal(states, encoder(inputs, index, lengths))
        assert torch.equal(states, zeros.states)
        assert torch.equal(last, zeros.last)
        assert last[:, 1].eq(0).all()

    def test_no_tokens_end_where_they_began(
        self, encoder: BidirectionalGRU, dtype: torch.dtype
    ) -> None:
        no_inputs, no_index = torch.empty(0, 3, dtype=dtype), torch.empty(0, dtype=torch.int64)
        initial = torch.arange(20, dtype=dtype).view(2, 2, 5).requires_grad_()
        states, last = encoder.encode(no_inputs, no_index, torch.tensor([0, 0]), initial)
        assert states.shape == (0, 10)
        assert torch.equal(last, initial)
        (states.sum() + last.sum()).backward()
        assert initial.grad.eq(1).all()

    def test_arguments_are_left_alone(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, initial: Tensor
    ) -> None:
        before = initial.clone()
        encoder.encode(inputs, index, torch.tensor([3, 0, 7, 1, 2]), initial)
        assert torch.equal(initial, before)


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_kernels_have_the_gradients_of_pytorch_from_initial_states_on(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor
) -> None:
    def gradients(dtype: torch.dtype) -> list[Tensor]:
        given = inputs.detach().to(dtype).requires_grad_()
        initial = torch.sin(torch.arange(50, dtype=dtype)).view(2, 5, 5).requires_grad_()
        encoded = encoder.to(dtype).encode(given, index, torch.tensor([3, 0, 7, 1, 2]), initial)
        loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in encoded)
        return list(torch.autograd.grad(loss, [initial, given, *encoder.parameters()]))

    found = [each.double() for each in gradients(torch.float32)]
    assert found[0].ne(0).all()
    assert_close(found, gradients(torch.float64), rtol=1e-6, atol=1e-5)


def test_states_from_initial_ones_worked_by_hand(dtype: torch.dtype, atol: float) -> None:
    # As above h becomes (1/2 + h) / 2: forward from 3/2, backward from -1/2.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).to(dtype)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=dtype)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    initial = torch.tensor([3 / 2, -1 / 2], dtype=dtype).view(2, 1, 1)
    one_input = torch.zeros(1, 1, dtype=dtype)
    states, last = encoder.encode(one_input, torch.tensor([0, 0, 0]), torch.tensor([3]), initial)
    expected = torch.tensor([[1, 3 / 8], [3 / 4, 1 / 4], [5 / 8, 0]], dtype=dtype)
    assert_close(states, expected, rtol=0, atol=atol)
    assert last.flatten().tolist() == pytest.approx([5 / 8, 3 / 8], abs=atol)
