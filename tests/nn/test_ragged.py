"""Layout and softmax of ragged sequences."""

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

from sk_han.nn._ragged import (
    PackedLayout,
    segment_softmax,
)

LENGTHS = {
    "several lengths": [3, 1, 7, 2, 5],
    "an empty sequence": [3, 0, 2],
    "equal lengths": [3, 3, 3, 3, 3],
    "rising lengths": [1, 2, 3, 5, 7],
    "one token": [1],
    "one sequence": [5],
}


def test_layout_worked_by_hand():
    # Tokens 0 1 | 2 3 4 | nothing | 5; longest first: 2 3 4, then 0 1, then 5.
    layout = PackedLayout(torch.tensor([2, 3, 0, 1]))
    assert layout.active == [3, 2, 1]
    assert layout.forward_token.tolist() == [2, 0, 5, 3, 1, 4]
    assert layout.backward_token.tolist() == [4, 1, 5, 3, 0, 2]
    assert layout.order.tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_packed_rows_are_those_of_torch(lengths):
    layout = PackedLayout(torch.tensor(lengths))
    sequences = [part for part in torch.arange(sum(lengths)).split(lengths) if len(part)]
    packed = pack_sequence(sequences, enforce_sorted=False)
    assert layout.active == packed.batch_sizes.tolist()
    assert torch.equal(layout.forward_token, packed.data)
    filled = torch.tensor(lengths).nonzero().flatten()
    assert torch.equal(layout.order[: len(filled)], filled[packed.sorted_indices])


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_backward_tokens_are_the_forward_tokens_of_reversed_sequences(lengths):
    layout, tokens = PackedLayout(torch.tensor(lengths)), torch.arange(sum(lengths))
    reversed_tokens = torch.cat([part.flip(0) for part in tokens.split(lengths)])
    assert torch.equal(layout.backward_token, reversed_tokens[layout.forward_token])
    # Rows are the inverse of tokens.
    assert torch.equal(layout.forward_token[layout.forward_row], tokens)
    assert torch.equal(layout.backward_token[layout.backward_row], tokens)


@pytest.mark.parametrize("constant", [-1e4, 1e4])
def test_softmax_of_large_scores_does_not_overflow(constant):
    # Nor do those of one segment starve the other.
    scores, segment = torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1])
    large = scores + constant * torch.tensor([1.0, 1.0, 0.0, 0.0])
    expected = segment_softmax(scores, segment, 2)
    assert_close(segment_softmax(scores + constant, segment, 2), expected)
    assert_close(segment_softmax(large, segment, 2), expected)
