"""Arithmetic on consecutive segments of one axis."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import Pooling
from sk_han.nn.ragged.segments import (
    segment_numbers,
    segment_softmax,
    segment_sum,
    sequence_ends,
)


def test_rows_are_numbered_by_their_segment() -> None:
    assert segment_numbers(torch.tensor([2, 0, 1])).tolist() == [0, 0, 2]


def test_no_segments_have_no_rows() -> None:
    assert segment_numbers(torch.tensor([], dtype=torch.int64)).tolist() == []


def test_softmax_worked_by_hand() -> None:
    # exp gives 1, 3 | 2, 2, 4: shares of 4 and of 8.
    scores = torch.tensor([1.0, 3.0, 2.0, 2.0, 4.0], dtype=torch.float64).log()
    weights = segment_softmax(scores, torch.tensor([0, 0, 1, 1, 1]), 2)
    expected = torch.tensor([1 / 4, 3 / 4, 1 / 4, 1 / 4, 1 / 2], dtype=torch.float64)
    assert_close(weights, expected, rtol=0, atol=1e-15)


def test_softmax_equals_torch_softmax_segment_by_segment() -> None:
    lengths = [3, 0, 5, 1, 2]
    scores = torch.sin(torch.arange(11, dtype=torch.float64))
    weights = segment_softmax(scores, segment_numbers(torch.tensor(lengths)), 5)
    expected = torch.cat([part.softmax(0) for part in scores.split(lengths)])
    assert_close(weights, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("constant", [-1e4, 1e4])
def test_softmax_of_large_scores_does_not_overflow(constant: float) -> None:
    segment = torch.tensor([0, 0, 1])
    weights = segment_softmax(torch.tensor([0.0, 1.0, 0.0]) + constant, segment, 2)
    assert_close(weights, segment_softmax(torch.tensor([0.0, 1.0, 0.0]), segment, 2))


def test_large_scores_of_one_segment_do_not_starve_another() -> None:
    weights = segment_softmax(torch.tensor([1e4, 0.0, 0.0]), torch.tensor([0, 1, 1]), 2)
    assert weights.tolist() == [1.0, 0.5, 0.5]


def test_sum_worked_by_hand() -> None:
    rows = torch.tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0], [3.0, 30.0, 300.0]])
    total = segment_sum(rows, torch.tensor([0, 0, 2]), 5)
    assert total[0].tolist() == [3.0, 30.0, 300.0]
    assert total[2].tolist() == [3.0, 30.0, 300.0]


def test_sum_of_a_segment_without_rows_is_zero() -> None:
    total = segment_sum(torch.ones(3, 2), torch.tensor([0, 0, 2]), 5)
    assert total[[1, 3, 4]].eq(0).all()


def test_gradients_equal_numerical_ones() -> None:
    segment = segment_numbers(torch.tensor([3, 0, 2]))
    scores = torch.sin(torch.arange(5, dtype=torch.float64)).requires_grad_()
    rows = torch.cos(torch.arange(10, dtype=torch.float64)).view(5, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: segment_softmax(s, segment, 3), scores)
    assert torch.autograd.gradcheck(lambda r: segment_sum(r, segment, 3), rows)


def test_ends_of_sequences_worked_by_hand() -> None:
    # Rows 0 1 | nothing | 2 | 3 4 5 | nothing.
    ends = sequence_ends(torch.tensor([2, 0, 1, 3, 0]), torch.device("cpu"))
    assert [numbers.tolist() for numbers in ends] == [[0, 2, 3], [0, 2, 3], [1, 2, 5]]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_sequences_without_rows_have_no_ends(lengths: list[int]) -> None:
    ends = sequence_ends(torch.tensor(lengths, dtype=torch.int64), torch.device("cpu"))
    assert [numbers.tolist() for numbers in ends] == [[], [], []]


def test_attributions_of_weighted_sums_worked_by_hand() -> None:
    states = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    weights = torch.tensor([[0.5, 0.0], [0.5, 1.0], [1.0, 1.0]])
    # Of two weighted sums side by side: of the first the first entry, of the second both.
    gradient = torch.tensor([[1.0, 0.0, 1.0, 0.1], [4.0, 0.0, 0.0, 0.0]])
    found = Pooling().attributions(states, weights, gradient, torch.tensor([2, 1]))
    assert found.tolist() == [0.5, 0.5 * 2 + 2 + 2, 12]
