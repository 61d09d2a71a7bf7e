"""The backward of each engine, and what calls of it may not do to each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from sk_han.nn import BidirectionalGRU

pytestmark = pytest.mark.usefixtures("engine")

# Numerical gradients need double precision. Those of kernels: tests/nn/test_compiled.py.
only_torch = pytest.mark.parametrize("engine", ["torch"], indirect=True)

INDEX = torch.tensor([2, 0, 2, 1, 1, 2, 0])
LENGTHS = torch.tensor([2, 0, 3, 1, 1])


@pytest.fixture
def dtype(engine: str) -> torch.dtype:
    """The type of numbers that an engine computes with."""
    return torch.float32 if engine == "numba" else torch.float64


@pytest.fixture
def encoder(fill: Callable[[nn.Module], None], engine: str, dtype: torch.dtype) -> BidirectionalGRU:
    """Inputs of size 2, states of size 3 in each direction."""
    encoder = BidirectionalGRU(input_size=2, hidden_size=3).to(dtype)
    fill(encoder)
    assert encoder.has_kernels == (engine == "numba")
    return encoder


@pytest.fixture
def inputs(dtype: torch.dtype) -> Tensor:
    return torch.cos(torch.arange(6, dtype=dtype)).view(3, 2).requires_grad_()


def gradients_of(encoder: BidirectionalGRU, states: Tensor, **kwargs: bool) -> list[Tensor]:
    loss = (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()
    return list(torch.autograd.grad(loss, list(encoder.parameters()), **kwargs))


@only_torch
def test_gradients_equal_numerical_ones(encoder: BidirectionalGRU, inputs: Tensor) -> None:
    names, weights = zip(*encoder.named_parameters(), strict=True)

    def states_of(inputs: Tensor, *weights: Tensor) -> Tensor:
        parameters = dict(zip(names, weights, strict=True))
        return functional_call(encoder, parameters, (inputs, INDEX, LENGTHS))

    assert torch.autograd.gradcheck(states_of, (inputs, *weights))


@only_torch
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


def test_gradients_of_initial_states_alone_are_the_same(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    initial = torch.sin(torch.arange(30, dtype=inputs.dtype)).view(2, 5, 3).requires_grad_()

    def gradient(inputs: Tensor) -> Tensor:
        states = encoder.encode(inputs, INDEX, LENGTHS, initial).states
        return torch.autograd.grad(states.square().sum(), initial)[0]

    expected = gradient(inputs)
    encoder.requires_grad_(False)
    assert torch.equal(gradient(inputs.detach()), expected)


def test_a_second_backward_gives_the_same_gradients(
    encoder: BidirectionalGRU, inputs: Tensor
) -> None:
    states = encoder(inputs, INDEX, LENGTHS)
    first = gradients_of(encoder, states, retain_graph=True)
    assert all(map(torch.equal, first, gradients_of(encoder, states)))


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
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
    single = encoder.float()(inputs.float(), INDEX, LENGTHS)
    double = encoder.double()(inputs.double(), INDEX, LENGTHS)
    assert double.dtype == torch.float64
    assert torch.equal(encoder.float()(inputs.float(), INDEX, LENGTHS), single)


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
