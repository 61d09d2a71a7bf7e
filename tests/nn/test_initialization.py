"""Initial weights by a generator of one's own."""

import pytest
import torch

from sk_han import ContextAttention, MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn.encoders import normal_, uniform_, xavier_uniform_
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
