"""The bidirectional GRU: two bodies, one result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from sk_han.nn import BidirectionalGRU

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
