"""Layout and softmax of ragged sequences."""

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn._ragged import (
    PackedLayout,
    segment_softmax,
)


def test_layout_worked_by_hand():
    # Tokens 0 1 | 2 3 4 | nothing | 5; longest first: 2 3 4, then 0 1, then 5.
    layout = PackedLayout(torch.tensor([2, 3, 0, 1]))
    assert layout.active == [3, 2, 1]
    assert layout.forward_token.tolist() == [2, 0, 5, 3, 1, 4]
    assert layout.backward_token.tolist() == [4, 1, 5, 3, 0, 2]
    assert layout.order.tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("constant", [-1e4, 1e4])
def test_softmax_of_large_scores_does_not_overflow(constant):
    # Nor do those of one segment starve the other.
    scores, segment = torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1])
    large = scores + constant * torch.tensor([1.0, 1.0, 0.0, 0.0])
    expected = segment_softmax(scores, segment, 2)
    assert_close(segment_softmax(scores + constant, segment, 2), expected)
    assert_close(segment_softmax(large, segment, 2), expected)
