"""Drawn numbers: initial weights and dropout, by a generator of one's own."""

import pytest
import torch

from sk_han.nn import AttentionPooling, HierarchicalAttentionNetwork
from sk_han.nn._encoders import (
    dropout,
    word_dropout,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_initial_weights_worked_by_hand():
    generator, before = seeded(), torch.get_rng_state()
    # Glorot's bound is sqrt(6 / 150) = 0.2.
    highest = AttentionPooling(103, 47, generator).weight.abs().max().item()
    assert highest == pytest.approx(0.2, rel=1e-3)
    words = HierarchicalAttentionNetwork(1009, 2, generator=generator).embedding.weight[1:]
    assert words.mean().item() == pytest.approx(0, abs=0.01)
    assert words.std().item() == pytest.approx(0.1, rel=0.05)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout_zeroes_a_share_and_scales_the_rest(dtype):
    vectors, before = (
        torch.full((101, 103), 3.0, dtype=dtype, requires_grad=True),
        torch.get_rng_state(),
    )
    dropped = dropout(vectors, 0.75, seeded(7))
    assert dropped.dtype == dtype
    assert dropped.unique().tolist() == [0.0, 12.0]  # 3 / (1 - 0.75)
    # Five standard deviations of a share among 10,403 entries.
    assert dropped.eq(0).float().mean().item() == pytest.approx(0.75, abs=5 * 0.0045)
    dropped.sum().backward()
    assert torch.equal(3 * vectors.grad, dropped.detach())
    assert torch.equal(dropout(torch.full((101, 103), 3.0), 0.75, seeded(7)).to(dtype), dropped)
    assert torch.equal(torch.get_rng_state(), before)


def test_word_dropout_only_ever_puts_the_unknown_word():
    word_ids, before = torch.arange(2, 10_009), torch.get_rng_state()
    dropped = word_dropout(word_ids, 0.2, 1, seeded())
    changed = dropped != word_ids
    assert dropped[changed].unique().tolist() == [1]
    assert torch.equal(word_ids, torch.arange(2, 10_009))  # the argument is left alone
    assert changed.float().mean().item() == pytest.approx(0.2, abs=5 * 0.004)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_dropout_no_random_number_is_drawn():
    vectors, word_ids, generator = torch.ones(3, 2), torch.tensor([2, 3, 5]), seeded()
    before = generator.get_state()
    assert dropout(vectors, 0.0, generator) is vectors
    assert word_dropout(word_ids, 0.0, 1, generator) is word_ids
    assert torch.equal(generator.get_state(), before)
