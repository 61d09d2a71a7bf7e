"""Arithmetic on consecutive segments of one axis."""

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import Pooling
from sk_han.nn.ragged import (
    segment_numbers,
    segment_softmax,
    segment_sum,
    sequence_ends,
)


@pytest.mark.parametrize(("lengths", "numbers"), [([2, 0, 1], [0, 0, 2]), ([], [])])
def test_rows_are_numbered_by_their_segment(lengths, numbers):
    assert segment_numbers(torch.tensor(lengths, dtype=torch.int64)).tolist() == numbers


def test_softmax_equals_torch_softmax_segment_by_segment():
    lengths = [3, 0, 5, 1, 2]
    scores = torch.sin(torch.arange(11, dtype=torch.float64))
    weights = segment_softmax(scores, segment_numbers(torch.tensor(lengths)), 5)
    expected = torch.cat([part.softmax(0) for part in scores.split(lengths)])
    assert_close(weights, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("constant", [-1e4, 1e4])
def test_softmax_of_large_scores_does_not_overflow(constant):
    # Nor do those of one segment starve the other.
    scores, segment = torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1])
    large = scores + constant * torch.tensor([1.0, 1.0, 0.0, 0.0])
    expected = segment_softmax(scores, segment, 2)
    assert_close(segment_softmax(scores + constant, segment, 2), expected)
    assert_close(segment_softmax(large, segment, 2), expected)


def test_sum_worked_by_hand():
    rows = torch.tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0], [3.0, 30.0, 300.0]])
    total = segment_sum(rows, torch.tensor([0, 0, 2]), 5)
    nothing = [0.0, 0.0, 0.0]
    assert total.tolist() == [[3.0, 30.0, 300.0], nothing, [3.0, 30.0, 300.0], nothing, nothing]


def test_ends_of_sequences_worked_by_hand():
    # Rows 0 1 | nothing | 2 | 3 4 5 | nothing.
    ends = sequence_ends(torch.tensor([2, 0, 1, 3, 0]), torch.device("cpu"))
    assert [numbers.tolist() for numbers in ends] == [[0, 2, 3], [0, 2, 3], [1, 2, 5]]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_sequences_without_rows_have_no_ends(lengths):
    ends = sequence_ends(torch.tensor(lengths, dtype=torch.int64), torch.device("cpu"))
    assert [numbers.tolist() for numbers in ends] == [[], [], []]


def test_attributions_of_weighted_sums_worked_by_hand():
    states = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    weights = torch.tensor([[0.5, 0.0], [0.5, 1.0], [1.0, 1.0]])
    # Of two weighted sums side by side: of the first the first entry, of the second both.
    gradient = torch.tensor([[1.0, 0.0, 1.0, 0.1], [4.0, 0.0, 0.0, 0.0]])
    found = Pooling().attributions(states, weights, gradient, torch.tensor([2, 1]))
    assert found.tolist() == [0.5, 0.5 * 2 + 2 + 2, 12]
