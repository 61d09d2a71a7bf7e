"""Offsets of pieces, and samples of documents of a bounded number of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._documents import concatenated_ranges, packed
from sk_han._documents.array import sampled_rows


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


def test_documents_are_drawn_until_they_have_the_words():
    lengths = np.arange(1, 101)
    rows, again, other = (
        sampled_rows(lengths, 1_000, np.random.RandomState(seed)) for seed in (0, 0, 1)
    )
    assert lengths[rows].sum() >= 1_000 > lengths[rows[:-1]].sum()
    assert len(set(rows)) == len(rows)
    assert rows.tolist() == again.tolist() != other.tolist()
    all_rows = sampled_rows(np.array([3, 0, 2]), 6, np.random.RandomState(0))
    assert sorted(all_rows) == [0, 1, 2]
