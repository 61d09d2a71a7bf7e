"""The backward that is written by hand, and what calls of it may not do to each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from sk_han.nn import BidirectionalGRU
from sk_han.nn.engines.recurrence import GRURecurrence
from sk_han.nn.ragged.layout import PackedLayout

pytestmark = pytest.mark.usefixtures("engine")

INDEX = torch.tensor([2, 0, 2, 1, 1, 2, 0])
LENGTHS = torch.tensor([2, 0, 3, 1, 1])


@pytest.fixture
def encoder(fill: Callable[[nn.Module], None]) -> BidirectionalGRU:
    """Inputs of size 2, states of size 3 in each direction, through the fused body."""
    encoder = BidirectionalGRU(input_size=2, hidden_size=3).double()
    fill(encoder)
    encoder.fused = True
    return encoder


@pytest.fixture
def inputs() -> Tensor:
    return torch.cos(torch.arange(6, dtype=torch.float64)).view(3, 2).requires_grad_()


def gradients_of(encoder: BidirectionalGRU, states: Tensor, **kwargs: bool) -> list[Tensor]:
    loss = (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()
    return list(torch.autograd.grad(loss, list(encoder.parameters()), **kwargs))


def test_gradients_equal_numerical_ones(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    names, weights = zip(*encoder.named_parameters(), strict=True)

    def states_of(inputs: Tensor, *weights: Tensor) -> Tensor:
        parameters = dict(zip(names, weights, strict=True))
        return functional_call(encoder, parameters, (inputs, INDEX, LENGTHS))

    assert torch.autograd.gradcheck(states_of, (inputs, *weights))


def test_gradients_from_initial_states_on_equal_numerical_ones(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    names, weights = zip(*encoder.named_parameters(), strict=True)
    initial = torch.sin(torch.arange(30, dtype=torch.float64)).view(2, 5, 3).requires_grad_()
    encoder.forward = encoder.encode  # what functional_call calls

    def encoded(inputs: Tensor, initial: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        parameters = dict(zip(names, weights, strict=True))
        return tuple(functional_call(encoder, parameters, (inputs, INDEX, LENGTHS, initial)))

    assert torch.autograd.gradcheck(encoded, (inputs, initial, *weights))


def test_gradients_of_initial_states_alone_equal_numerical_ones() -> None:
    layout = PackedLayout(LENGTHS)
    weight, bias, projected = (
        torch.cos(torch.arange(n, dtype=torch.float64)).view(shape)
        for n, shape in ((54, (2, 3, 9)), (6, (2, 1, 3)), (54, (2, 3, 9)))
    )
    initial = torch.sin(torch.arange(24, dtype=torch.float64)).view(2, 4, 3).requires_grad_()

    def states_of(initial: Tensor) -> Tensor:
        return GRURecurrence.apply(projected, weight, bias, INDEX, layout, initial)

    assert torch.autograd.gradcheck(states_of, (initial,))


def test_a_second_backward_gives_the_same_gradients(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    states = encoder(inputs, INDEX, LENGTHS)
    first = gradients_of(encoder, states, retain_graph=True)
    assert all(map(torch.equal, first, gradients_of(encoder, states)))


def test_a_second_derivative_is_refused(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    loss = encoder(inputs, INDEX, LENGTHS).square().sum()
    (gradient,) = torch.autograd.grad(loss, inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_forwards_before_backwards_do_not_disturb_each_other(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    expected = gradients_of(encoder, encoder(inputs, INDEX, LENGTHS))
    states = encoder(inputs, INDEX, LENGTHS)
    kept = states.detach().clone()
    other = encoder(2 * inputs, INDEX.flip(0), LENGTHS.flip(0))
    gradients_of(encoder, other)
    assert torch.equal(states, kept)
    assert all(map(torch.equal, gradients_of(encoder, states), expected))


def test_prediction_leaves_nothing_behind_that_spoils_what_follows(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    with torch.inference_mode():
        predicted = encoder(inputs, INDEX, LENGTHS).clone()
    with torch.no_grad():  # as in a validation step
        validated = encoder(inputs, INDEX, LENGTHS).clone()
    states = encoder(inputs, INDEX, LENGTHS)
    gradients_of(encoder, states)
    assert torch.equal(validated, predicted)
    assert torch.equal(states, predicted)


def test_states_of_a_prediction_outlive_the_next(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    with torch.no_grad():
        states = encoder(inputs, INDEX, LENGTHS)
        kept = states.clone()
        encoder(2 * inputs, INDEX.flip(0), LENGTHS.flip(0))
    assert torch.equal(states, kept)


def test_larger_and_smaller_batches_take_turns(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    small = encoder(inputs, INDEX[:2], LENGTHS[:1])
    kept = small.detach().clone()
    encoder(inputs, INDEX.repeat(7), LENGTHS.repeat(7))
    assert torch.equal(encoder(inputs, INDEX[:2], LENGTHS[:1]), small)
    assert torch.equal(small, kept)


def test_dtypes_take_turns(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    double = encoder(inputs, INDEX, LENGTHS)
    single = encoder.float()(inputs.float(), INDEX, LENGTHS)
    assert single.dtype == torch.float32
    assert torch.equal(encoder.double()(inputs, INDEX, LENGTHS).float(), double.float())


def test_threads_do_not_disturb_each_other(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    def gradients_at(scale: int) -> list[list[Tensor]]:
        return [gradients_of(encoder, encoder(scale * inputs, INDEX, LENGTHS)) for _ in range(29)]

    expected = [gradients_at(scale)[0] for scale in range(5)]
    with ThreadPoolExecutor(5) as pool:
        for scale, repeated in enumerate(pool.map(gradients_at, range(5))):
            assert all(all(map(torch.equal, found, expected[scale])) for found in repeated)


def test_arguments_are_left_alone(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    before = [inputs.detach().clone(), INDEX.clone(), LENGTHS.clone()]
    gradients_of(encoder, encoder(inputs, INDEX, LENGTHS))
    assert all(map(torch.equal, [inputs.detach(), INDEX, LENGTHS], before))
