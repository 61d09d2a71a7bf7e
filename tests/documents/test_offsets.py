"""Offsets of pieces, and samples of documents of a bounded number of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._documents import concatenated_ranges, packed, starts_of
from sk_han._documents.array import sampled_rows


def test_offsets_worked_by_hand():
    assert starts_of(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert starts_of(np.array([], dtype=int)).tolist() == [0]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 7)), max_size=7))
def test_concatenated_ranges_equal_ranges_in_a_loop(pieces):
    starts, lengths = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    expected = [i for start, length in pieces for i in range(start, start + length)]
    assert concatenated_ranges(starts, lengths).tolist() == expected


@pytest.mark.parametrize(("most", "ends"), [(5, [2, 3, 5]), (100, [5])])
def test_runs_hold_as_much_as_they_may_or_one_larger_piece(most, ends):
    runs = list(packed(np.array([2, 3, 7, 0, 5]), most))
    assert [run.stop for run in runs] == ends
    assert [run.start for run in runs] == [0, *ends[:-1]]
    assert list(packed(np.array([], dtype=int), most)) == []


def drawn(words_per_document, n_words, seed=0):
    return sampled_rows(np.array(words_per_document), n_words, np.random.RandomState(seed))


def test_documents_are_drawn_until_they_have_the_words():
    lengths = np.arange(1, 101)
    rows = drawn(lengths, 1_000)
    assert lengths[rows].sum() >= 1_000
    assert lengths[rows[:-1]].sum() < 1_000
    assert len(set(rows)) == len(rows)


def test_all_are_drawn_where_there_are_fewer_words():
    assert sorted(drawn([3, 0, 2], 6)) == [0, 1, 2]


def test_another_seed_draws_others():
    first, again, other = (drawn([10] * 100, 100, seed).tolist() for seed in (0, 0, 1))
    assert first == again != other
