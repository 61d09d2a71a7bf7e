"""Dropout by a generator of one's own."""

import pytest
import torch

from sk_han.nn.encoders import dropout, row_dropout, word_dropout


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_share_p_of_the_entries_is_zero():
    dropped = dropout(torch.ones(101, 103), 0.3, seeded())
    # Five standard deviations of a share among 10,403 entries.
    assert dropped.eq(0).float().mean().item() == pytest.approx(0.3, abs=5 * 0.0045)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_entries_are_scaled_so_that_the_mean_stays(dtype):
    vectors = torch.full((11, 13), 3.0, dtype=dtype)
    dropped = dropout(vectors, 0.75, seeded())
    assert dropped.dtype == dtype
    assert dropped.unique().tolist() == [0.0, 12.0]  # 3 / (1 - 0.75)


def test_gradient_passes_where_an_entry_was_kept():
    vectors = torch.ones(11, 13, requires_grad=True)
    dropped = dropout(vectors, 0.5, seeded())
    dropped.sum().backward()
    assert vectors.grad is not None
    assert torch.equal(vectors.grad, dropped.detach())


def test_same_seed_drops_the_same_entries_of_each_type():
    vectors = torch.ones(11, 13)
    assert torch.equal(dropout(vectors.double(), 0.5, seeded(7)), dropout(vectors, 0.5, seeded(7)))
    assert not torch.equal(dropout(vectors, 0.5, seeded(7)), dropout(vectors, 0.5, seeded(8)))


def test_without_dropout_nothing_is_drawn():
    vectors, word_ids, generator = torch.ones(3, 2), torch.tensor([2, 3, 5]), seeded()
    before = generator.get_state()
    assert dropout(vectors, 0.0, generator) is vectors
    assert word_dropout(word_ids, 0.0, 1, generator) is word_ids
    assert row_dropout(5, 0.0, generator, vectors) is None
    assert torch.equal(generator.get_state(), before)


def test_global_random_state_is_left_alone():
    before = torch.get_rng_state()
    dropout(torch.ones(11, 13), 0.5, seeded())
    word_dropout(torch.arange(11), 0.5, 1, seeded())
    assert torch.equal(torch.get_rng_state(), before)


def test_word_dropout_only_ever_puts_the_unknown_word():
    word_ids = torch.arange(2, 10_009)
    dropped = word_dropout(word_ids, 0.2, 1, seeded())
    changed = dropped != word_ids
    assert dropped[changed].unique().tolist() == [1]
    assert torch.equal(word_ids, torch.arange(2, 10_009))  # the argument is left alone
    assert changed.float().mean().item() == pytest.approx(0.2, abs=5 * 0.004)


def test_share_p_of_the_rows_is_zero_and_the_mean_stays():
    kept = row_dropout(10_007, 0.75, seeded(), torch.empty(0, dtype=torch.float64))
    assert kept.shape == (10_007, 1)
    assert kept.unique().tolist() == [0.0, 4.0]
    # Five standard deviations of a share among 10,007 rows.
    assert kept.eq(0).double().mean().item() == pytest.approx(0.75, abs=5 * 0.0044)
