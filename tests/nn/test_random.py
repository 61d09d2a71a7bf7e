"""Drawn numbers: initial weights and dropout, by a generator of one's own."""

import pytest
import torch

from sk_han import ContextAttention, MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn._encoders import (
    dropout,
    normal_,
    uniform_,
    word_dropout,
    xavier_uniform_,
)
from sk_han.sentence_vectors import SentenceNetwork
from sk_han.tagging import TaggingNetwork
from sk_han.translation import AttentionSeq2Seq


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_uniform_numbers_fill_the_interval():
    weight = torch.empty(101, 103)
    uniform_(weight, 0.2, seeded())
    assert weight.abs().max().item() == pytest.approx(0.2, rel=1e-3)
    assert weight.mean().item() == pytest.approx(0, abs=0.01)


def test_normal_numbers_have_the_deviation_asked_for():
    weight = torch.empty(101, 103)
    normal_(weight, 0.1, seeded())
    assert weight.std().item() == pytest.approx(0.1, rel=0.05)
    assert weight.mean().item() == pytest.approx(0, abs=0.01)


def test_glorot_bound_worked_by_hand():
    weight = torch.empty(47, 103)  # sqrt(6 / 150) = 0.2
    xavier_uniform_(weight, seeded())
    assert weight.abs().max().item() == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize(
    "fill", [lambda w, g: uniform_(w, 1, g), lambda w, g: normal_(w, 1, g), xavier_uniform_]
)
def test_same_seed_gives_the_same_bits_and_leaves_global_state_alone(fill):
    before = torch.get_rng_state()
    first, second = torch.empty(5, 3), torch.empty(5, 3)
    fill(first, seeded(7))
    fill(second, seeded(7))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


NETWORKS = {
    "documents": lambda: HierarchicalAttentionNetwork(
        11, 3, pooling=ContextAttention(size=5, gated=True), rnn="lstm", generator=seeded()
    ),
    "hops": lambda: HierarchicalAttentionNetwork(
        11, 3, pooling=MultiHopAttention(size=5), generator=seeded()
    ),
    "sentences": lambda: SentenceNetwork(7, 3, generator=seeded()),
    "tags": lambda: TaggingNetwork([11, 5], 3, generator=seeded()),
    "translation": lambda: AttentionSeq2Seq(source_size=11, target_size=13, generator=seeded()),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_the_default_dtype_of_pytorch_changes_no_weight(make, dtype):
    expected = make().state_dict()
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        found = make().state_dict()
    finally:
        torch.set_default_dtype(before)
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())
    floats = {weight.dtype for weight in found.values() if weight.is_floating_point()}
    assert floats == {torch.float32}


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
