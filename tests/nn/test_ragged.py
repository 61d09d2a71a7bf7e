"""Arithmetic on ragged sequences: layout, segments, distinct words, chunks, overlap of hops."""

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

from sk_han.nn._encoders import distinct_words
from sk_han.nn._han import in_chunks
from sk_han.nn._poolings import document_overlap, hop_overlap
from sk_han.nn._ragged import (
    PackedLayout,
    segment_numbers,
    segment_softmax,
    segment_sum,
    sequence_ends,
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


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_to_read_gives_no_rows(lengths):
    layout = PackedLayout(torch.tensor(lengths, dtype=torch.int64))
    assert layout.active == []
    assert len(layout.forward_token) == 0


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


def test_distinct_words_worked_by_hand():
    distinct, index = distinct_words(torch.tensor([5, 2, 5, 11, 2]), 13)
    assert distinct.tolist() == [2, 5, 11]
    assert index.tolist() == [1, 0, 1, 2, 0]


def test_a_negative_id_is_refused_and_not_counted_from_the_end():
    with pytest.raises(IndexError, match="at least 0; got -1"):
        distinct_words(torch.tensor([5, -1]), 13)


@pytest.mark.parametrize("lengths", [[2, 2], [2, 2, 2], [6, -1]])
def test_lengths_of_other_words_are_refused_where_a_batch_is_cut(lengths):
    with pytest.raises(ValueError, match="add up to 5 tokens"):
        in_chunks(lambda *part: part, torch.arange(5), torch.tensor(lengths), 3)


def test_parts_are_encoded_again_for_their_backward_instead_of_kept():
    table, found = torch.ones(7, requires_grad=True), []

    def encode(word_ids, lengths):
        found.append(lengths.tolist())
        return (table[word_ids].square(),)

    (squares,) = in_chunks(encode, torch.tensor([2, 3, 5, 2, 6]), torch.tensor([2, 1, 2]), 3)
    assert found == [[2, 1], [2]]
    squares.sum().backward()
    assert sorted(found) == [[2], [2], [2, 1], [2, 1]]
    assert table.grad.tolist() == [0, 0, 4, 2, 0, 2, 2]


@pytest.mark.parametrize(
    ("weights", "overlap"),
    [
        ([[1, 0], [0, 1], [0, 0]], 0),  # A A^T = I
        ([[1, 1], [0, 0], [0, 0]], 2),  # A A^T = 1 everywhere
        ([[1 / 2, 1 / 2], [1 / 2, 1 / 2]], 1),  # A A^T = 1/2 everywhere
        ([[1, 1 / 4], [0, 3 / 4]], 2 / 16 + (10 / 16 - 1) ** 2),
        ([], 0),
    ],
)
def test_overlap_worked_by_hand(weights, overlap):
    A_transposed = torch.tensor(weights, dtype=torch.float64).view(-1, 2)
    found = hop_overlap(A_transposed, torch.tensor([len(weights)]))
    assert found.tolist() == pytest.approx([overlap], abs=1e-15)


def test_overlap_of_a_document_worked_by_hand():
    # Two sentences whose hops overlap by 2 and by 0, read by hops that overlap by 1; then an
    # empty document; then one of a single word, where all hops must read the same.
    words = torch.tensor([[1, 1], [0, 0], [1, 0], [0, 1], [1, 1]]).double()
    sentences = torch.tensor([[1 / 2, 1 / 2], [1 / 2, 1 / 2], [1, 1]]).double()
    found = document_overlap(words, torch.tensor([2, 2, 1]), sentences, torch.tensor([2, 0, 1]))
    assert found.tolist() == [1 + 1, 0, 2 + 2]
