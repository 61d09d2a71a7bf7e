"""The backward of each engine, and what calls of it may not do to each other."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
import torch

from sk_han.nn import BidirectionalGRU

pytestmark = pytest.mark.usefixtures("engine")

INDEX = torch.tensor([2, 0, 2, 1, 1, 2, 0])
LENGTHS = torch.tensor([2, 0, 3, 1, 1])


@pytest.fixture
def encoder(fill, engine, dtype):
    """Inputs of size 2, states of size 3 in each direction."""
    encoder = BidirectionalGRU(input_size=2, hidden_size=3).to(dtype)
    fill(encoder)
    assert encoder.has_kernels == (engine == "numba")
    return encoder


@pytest.fixture
def inputs(dtype):
    return torch.cos(torch.arange(6, dtype=dtype)).view(3, 2).requires_grad_()


def gradients_of(encoder, states, **kwargs):
    loss = (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()
    return list(torch.autograd.grad(loss, list(encoder.parameters()), **kwargs))


def test_gradients_of_inputs_alone_are_the_same(encoder, inputs):
    def gradient():
        return torch.autograd.grad(encoder(inputs, INDEX, LENGTHS).square().sum(), inputs)[0]

    expected = gradient()
    encoder.requires_grad_(False)
    assert torch.equal(gradient(), expected)


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_a_second_derivative_is_refused(encoder, inputs):
    loss = encoder(inputs, INDEX, LENGTHS).square().sum()
    (gradient,) = torch.autograd.grad(loss, inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_calls_do_not_disturb_each_other(encoder, inputs):
    with torch.inference_mode():
        predicted = encoder(inputs, INDEX, LENGTHS).clone()
    with torch.no_grad():  # as in a validation step
        validated = encoder(inputs, INDEX, LENGTHS)
    states = encoder(inputs, INDEX, LENGTHS)
    kept = states.detach().clone()
    first = gradients_of(encoder, states, retain_graph=True)
    gradients_of(encoder, encoder(2 * inputs, INDEX.repeat(7), LENGTHS.repeat(7)))
    assert all(map(torch.equal, [predicted, validated, states], [kept] * 3))
    assert all(map(torch.equal, gradients_of(encoder, states), first))


def test_threads_do_not_disturb_each_other(encoder, inputs):
    def gradients_at(scale):
        return [gradients_of(encoder, encoder(scale * inputs, INDEX, LENGTHS)) for _ in range(11)]

    expected = [gradients_at(scale)[0] for scale in range(5)]
    contexts = [copy_context() for _ in range(5)]  # which know the engine
    with ThreadPoolExecutor(5) as pool:
        of_threads = pool.map(lambda c, scale: c.run(gradients_at, scale), contexts, range(5))
        for scale, repeated in enumerate(of_threads):
            assert all(all(map(torch.equal, found, expected[scale])) for found in repeated)


def test_arguments_are_left_alone(encoder, inputs):
    before = [inputs.detach().clone(), INDEX.clone(), LENGTHS.clone()]
    gradients_of(encoder, encoder(inputs, INDEX, LENGTHS))
    assert all(map(torch.equal, [inputs.detach(), INDEX, LENGTHS], before))
