"""Mean, maximum and last state."""

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import LastPooling, MaxPooling, MeanPooling

LENGTHS = torch.tensor([3, 0, 1])
ONE_DIRECTION = LastPooling(2, bidirectional=False)
BOTH_DIRECTIONS = LastPooling(2, bidirectional=True)
POOLINGS = [MeanPooling(2), MaxPooling(2), ONE_DIRECTION, BOTH_DIRECTIONS]
IDS = ["mean", "max", "last", "last of both"]
each_pooling = pytest.mark.parametrize("pooling", POOLINGS, ids=IDS)


@pytest.fixture
def states():
    """A sequence of three states and one of a single state; the maximum -1 stands twice."""
    states = [[2.0, -1.0], [5.0, -4.0], [-1.0, -1.0], [7.0, -8.0]]
    return torch.tensor(states, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("pooling", "pooled", "weights", "gradients"),
    [
        (POOLINGS[0], [2, -2], [1 / 3, 1 / 3, 1 / 3], [[1 / 3, 1 / 3]] * 3),
        (POOLINGS[1], [5, -1], [1 / 2, 1 / 2, 0], [[0, 1], [1, 0], [0, 0]]),
        (POOLINGS[2], [-1, -1], [0, 0, 1], [[0, 0], [0, 0], [1, 1]]),
        (POOLINGS[3], [-1, -1], [1 / 2, 0, 1 / 2], [[0, 1], [0, 0], [1, 0]]),
    ],
    ids=IDS,
)
def test_pooling_worked_by_hand(states, pooling, pooled, weights, gradients):
    found, found_weights = pooling.pool(states, LENGTHS)
    assert_close(found, torch.tensor([pooled, [0, 0], [7, -8]]).double(), rtol=0, atol=1e-15)
    assert found_weights.flatten().tolist() == pytest.approx([*weights, 1], abs=1e-15)
    found.sum().backward()
    assert_close(states.grad, torch.tensor([*gradients, [1, 1]]).double(), rtol=0, atol=1e-7)


def test_last_takes_the_end_of_each_direction():
    states = torch.arange(12.0).view(3, 4)
    pooled, _ = LastPooling(4, bidirectional=True).pool(states, torch.tensor([3]))
    assert pooled.tolist() == [[8, 9, 2, 3]]  # forward half of the last, backward of the first


@pytest.mark.parametrize("lengths", [[0, 0], []])
@each_pooling
def test_no_states_pool_to_zero(pooling, lengths):
    pooled, weights = pooling.pool(torch.empty(0, 2), torch.tensor(lengths, dtype=torch.int64))
    assert pooled.tolist() == [[0, 0]] * len(lengths)
    assert weights.shape == (0, 1)


def test_what_is_no_number_is_passed_on():
    states = torch.tensor([[1.0, float("nan")], [2.0, 3.0]])
    pooled, _ = MaxPooling(2).pool(states, torch.tensor([2]))
    assert pooled[0, 0] == 2
    assert pooled[0, 1].isnan()
