"""Samples of documents of a bounded number of words."""

import numpy as np

from sk_han.documents.offsets import sampled_rows


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
    lengths = np.full(100, 10)
    assert drawn(lengths, 100).tolist() == drawn(lengths, 100).tolist()
    assert drawn(lengths, 100).tolist() != drawn(lengths, 100, seed=1).tolist()
