"""Attention pooling: the equations of the paper, and their gradients."""

import math

import pytest
import torch
from torch.func import functional_call
from torch.testing import assert_close

from sk_han.nn import AttentionPooling

pytestmark = pytest.mark.usefixtures("engine")

LENGTHS = [3, 0, 7, 1, 2]  # N = 5 sequences, L = 7, T = 13


@pytest.fixture
def pooling(fill):
    """States of size H = 3, attention of size A = 11, in double precision: by PyTorch."""
    pooling = AttentionPooling(input_size=3, attention_dim=11)
    fill(pooling)
    return pooling.double()


@pytest.fixture
def states():
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3).requires_grad_()


def test_pooling_worked_by_hand():
    # u is tanh of the first feature; the context vector makes the scores log(3) and 0.
    pooling = AttentionPooling(input_size=2, attention_dim=1).double()
    with torch.no_grad():
        pooling.weight.copy_(torch.tensor([[1.0, 0.0]]))
        pooling.context.fill_(math.log(3) / math.tanh(1))
    states = torch.tensor([[1.0, 4.0], [0.0, 8.0]], dtype=torch.float64)
    pooled, weights = pooling.pool(states, torch.tensor([2]))
    assert weights.flatten().tolist() == pytest.approx([3 / 4, 1 / 4], abs=1e-15)
    assert pooled[0].tolist() == pytest.approx([3 / 4, 3 + 2], abs=1e-15)


def test_each_sequence_is_pooled_as_the_paper_says(pooling, states):
    pooled, weights = pooling.pool(states, torch.tensor(LENGTHS))
    for h, s, alpha in zip(states.split(LENGTHS), pooled, weights.split(LENGTHS), strict=True):
        u = torch.tanh(h @ pooling.weight.T + pooling.bias)
        expected = torch.softmax(u @ pooling.context, 0)
        assert_close(alpha, expected.unsqueeze(1), rtol=0, atol=1e-14)
        assert_close(s, expected @ h, rtol=0, atol=1e-14)


@pytest.mark.parametrize("lengths", [[0, 0], []])
def test_no_states_pool_to_zero_with_gradients(pooling, lengths):
    given = torch.tensor(lengths, dtype=torch.int64)
    pooled, weights = pooling.pool(torch.empty(0, 3).double(), given)
    assert pooled.tolist() == [[0, 0, 0]] * len(lengths)
    assert weights.shape == (0, 1)
    pooled.sum().backward()
    assert all(p.grad is None or p.grad.eq(0).all() for p in pooling.parameters())


def test_gradients_equal_numerical_ones(pooling, states):
    names, parameters = zip(*pooling.named_parameters(), strict=True)
    pooling.forward = pooling.pool  # what functional_call calls

    def pool(states, *parameters):
        given, lengths = dict(zip(names, parameters, strict=True)), torch.tensor([2, 0, 3])
        return functional_call(pooling, given, (states, lengths))

    inputs = states.detach()[:5].requires_grad_(), *parameters
    assert torch.autograd.gradcheck(pool, inputs)
