"""The bidirectional GRU: two bodies, one result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from sk_han.nn import BidirectionalGRU

pytestmark = pytest.mark.usefixtures("engine")

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
LENGTHS = {
    "several lengths": [3, 1, 7, 2],
    "empty sequences": [0, 5, 0, 0, 7, 1, 0],
    "equal lengths": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "one sequence": [13],
}


@pytest.fixture
def encoder(fill: Callable[[nn.Module], None]) -> BidirectionalGRU:
    """Inputs of size 3, states of size 5 in each direction."""
    encoder = BidirectionalGRU(input_size=3, hidden_size=5)
    fill(encoder)
    return encoder


@pytest.fixture
def inputs() -> Tensor:
    """Eleven distinct inputs."""
    return torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_fused_body_equals_packed_body_with_gradients(
    encoder: BidirectionalGRU,
    inputs: Tensor,
    index: Tensor,
    lengths: list[int],
    dtype: torch.dtype,
) -> None:
    encoder.to(dtype)
    encoder.fused = True
    fused = states_and_gradients(encoder, inputs.to(dtype), index, lengths)
    encoder.fused = False
    packed = states_and_gradients(encoder, inputs.to(dtype), index, lengths)
    # Gradients of weights are sums over all tokens, so errors of float32 add up in them.
    assert_close(fused[0], packed[0], rtol=0, atol=TOLERANCE[dtype])
    assert_close(fused, packed, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_each_sequence_is_read_as_torch_reads_it_alone(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, lengths: list[int], fused: bool
) -> None:
    encoder.double().fused = fused
    states = encoder(inputs, index, torch.tensor(lengths))
    alone = [encoder.gru(tokens)[0] for tokens in inputs[index].split(lengths) if len(tokens)]
    assert_close(states, torch.cat(alone), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_states_worked_by_hand(fused: bool) -> None:
    # Without weights both gates are 1/2, and the candidate is tanh of its bias: let it be 1/2.
    # Then h becomes (1/2 + h) / 2 from step to step: 1/4, 3/8, 7/16.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).double()
    encoder.fused = fused
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=torch.float64)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    one_input = torch.zeros(1, 1, dtype=torch.float64)
    states = encoder(one_input, torch.tensor([0, 0, 0]), torch.tensor([3]))
    expected = [[1 / 4, 7 / 16], [3 / 8, 3 / 8], [7 / 16, 1 / 4]]
    assert_close(states, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-15)


@pytest.mark.parametrize("fused", [True, False])
def test_order_of_sequences_does_not_matter(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, fused: bool
) -> None:
    encoder.double().fused = fused
    lengths, order = [3, 1, 7, 2], [2, 0, 3, 1]
    states = encoder(inputs, index, torch.tensor(lengths)).split(lengths)
    shuffled_index = torch.cat([index.split(lengths)[i] for i in order])
    shuffled = encoder(inputs, shuffled_index, torch.tensor([lengths[i] for i in order]))
    assert_close(shuffled, torch.cat([states[i] for i in order]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_empty_sequences_change_nothing(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, fused: bool
) -> None:
    encoder.double().fused = fused
    without = encoder(inputs, index, torch.tensor([3, 1, 7, 2]))
    beside = encoder(inputs, index, torch.tensor([0, 3, 1, 0, 0, 7, 2, 0]))
    assert_close(beside, without, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_repeated_inputs_equal_inputs_written_out(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, fused: bool
) -> None:
    encoder.double().fused = fused
    lengths = torch.tensor([3, 1, 7, 2])
    written_out = encoder(inputs[index], torch.arange(13), lengths)
    assert_close(encoder(inputs, index, lengths), written_out, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_tokens_give_no_states(
    encoder: BidirectionalGRU, fused: bool, lengths: list[int]
) -> None:
    encoder.fused = fused
    no_index = torch.empty(0, dtype=torch.int64)
    lengths_of_nothing = torch.tensor(lengths, dtype=torch.int64)
    assert encoder(torch.empty(0, 3), no_index, lengths_of_nothing).shape == (0, 10)


def test_no_tokens_give_gradients_of_zero(encoder: BidirectionalGRU) -> None:
    encoder.fused = True
    no_index = torch.empty(0, dtype=torch.int64)
    encoder(torch.empty(0, 3), no_index, torch.tensor([0, 0])).sum().backward()
    assert all(weight.grad.eq(0).all() for weight in encoder.parameters())


def test_fused_body_is_chosen_on_the_cpu(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    assert encoder.fused is None
    tokens, lengths = torch.tensor([2, 9, 2]), torch.tensor([3])
    chosen = encoder(inputs.float(), tokens, lengths)
    encoder.fused = True
    assert torch.equal(chosen, encoder(inputs.float(), tokens, lengths))


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

    @pytest.fixture(params=[True, False], ids=["fused", "packed"])
    def encoder(
        self, encoder: BidirectionalGRU, request: pytest.FixtureRequest
    ) -> BidirectionalGRU:
        encoder.double().fused = request.param
        return encoder

    @pytest.fixture
    def initial(self) -> Tensor:
        """States for five sequences."""
        return torch.sin(torch.arange(50, dtype=torch.float64)).view(2, 5, 5)

    def halves(self, index: Tensor) -> tuple[Tensor, Tensor]:
        of_head = [t < n for n, w in zip(self.HEADS, self.WHOLE, strict=True) for t in range(w)]
        return index[torch.tensor(of_head)], index[~torch.tensor(of_head)]

    def test_a_half_continues_where_the_other_one_ended(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor
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
            assert_close(torch.cat(both), expected, rtol=0, atol=1e-12)

    def test_states_and_last_ones_are_those_of_torch_for_each_sequence_alone(
        self, encoder: BidirectionalGRU, inputs: Tensor, index: Tensor, initial: Tensor
    ) -> None:
        lengths = [3, 0, 7, 1, 2]
        found = encoder.encode(inputs, index, torch.tensor(lengths), initial)
        assert found.last.shape == (2, 5, 5)
        for k, tokens in enumerate(index.split(lengths)):
            if len(tokens):
                states, last = encoder.gru(inputs[tokens], initial[:, k])
                assert_close(found.states.split(lengths)[k], states, rtol=0, atol=1e-12)
                assert_close(found.last[:, k], last, rtol=0, atol=1e-12)

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

    def test_no_tokens_end_where_they_began(self, encoder: BidirectionalGRU) -> None:
        no_inputs, no_index = torch.empty(0, 3).double(), torch.empty(0, dtype=torch.int64)
        initial = torch.arange(20.0).view(2, 2, 5).double().requires_grad_()
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


def test_both_bodies_have_the_same_gradients_from_initial_states_on(
    encoder: BidirectionalGRU, inputs: Tensor, index: Tensor
) -> None:
    encoder.double()
    inputs.requires_grad_()
    initial = torch.sin(torch.arange(50, dtype=torch.float64)).view(2, 5, 5).requires_grad_()

    def gradients(fused: bool) -> list[Tensor]:
        encoder.fused = fused
        encoded = encoder.encode(inputs, index, torch.tensor([3, 0, 7, 1, 2]), initial)
        loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in encoded)
        return list(torch.autograd.grad(loss, [initial, inputs, *encoder.parameters()]))

    found = gradients(fused=True)
    assert found[0].ne(0).all()
    assert_close(found, gradients(fused=False), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_states_from_initial_ones_worked_by_hand(fused: bool) -> None:
    # As above h becomes (1/2 + h) / 2: forward from 3/2, backward from -1/2.
    encoder = BidirectionalGRU(input_size=1, hidden_size=1).double()
    encoder.fused = fused
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
        half = torch.tensor(0.5, dtype=torch.float64)
        encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
    initial = torch.tensor([3 / 2, -1 / 2], dtype=torch.float64).view(2, 1, 1)
    one_input = torch.zeros(1, 1, dtype=torch.float64)
    states, last = encoder.encode(one_input, torch.tensor([0, 0, 0]), torch.tensor([3]), initial)
    expected = torch.tensor([[1, 3 / 8], [3 / 4, 1 / 4], [5 / 8, 0]], dtype=torch.float64)
    assert_close(states, expected, rtol=0, atol=1e-15)
    assert last.flatten().tolist() == pytest.approx([5 / 8, 3 / 8], abs=1e-15)
