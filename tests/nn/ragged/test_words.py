"""The words of a batch."""

import pytest
import torch

from sk_han.nn.ragged import distinct_words, in_chunks


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
