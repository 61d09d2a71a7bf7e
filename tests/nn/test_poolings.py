"""Poolings: the equations of the papers, their gradients, and which one options make."""

import math

import pytest
import torch
from torch.testing import assert_close

from sk_han import Attention, MultiHopAttention
from sk_han.nn import (
    AttentionPooling,
    HierarchicalAttentionNetwork,
    LabelAttention,
    LastPooling,
    MaxPooling,
    MeanPooling,
    MultiHopPooling,
    NetworkOptions,
)

OF_FIVE = [3, 0, 7, 1, 2]  # N = 5 sequences, L = 7, T = 13


@pytest.fixture
def states():
    """Thirteen states of size H = 3."""
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3).requires_grad_()


@pytest.mark.usefixtures("engine")
class TestAttentionPooling:
    @pytest.fixture
    def pooling(self, fill):
        """States of size H = 3, attention of size A = 11, in double precision: by PyTorch."""
        pooling = AttentionPooling(input_size=3, attention_dim=11)
        fill(pooling)
        return pooling.double()

    def test_pooling_worked_by_hand(self):
        # u is tanh of the first feature; the context vector makes the scores log(3) and 0.
        pooling = AttentionPooling(input_size=2, attention_dim=1).double()
        with torch.no_grad():
            pooling.weight.copy_(torch.tensor([[1.0, 0.0]]))
            pooling.context.fill_(math.log(3) / math.tanh(1))
        states = torch.tensor([[1.0, 4.0], [0.0, 8.0]], dtype=torch.float64)
        pooled, weights = pooling.pool(states, torch.tensor([2]))
        assert weights.flatten().tolist() == pytest.approx([3 / 4, 1 / 4], abs=1e-15)
        assert pooled[0].tolist() == pytest.approx([3 / 4, 3 + 2], abs=1e-15)

    def test_each_sequence_is_pooled_as_the_paper_says(self, pooling, states):
        pooled, weights = pooling.pool(states, torch.tensor(OF_FIVE))
        for h, s, alpha in zip(states.split(OF_FIVE), pooled, weights.split(OF_FIVE), strict=True):
            u = torch.tanh(h @ pooling.weight.T + pooling.bias)
            expected = torch.softmax(u @ pooling.context, 0)
            assert_close(alpha, expected.unsqueeze(1), rtol=0, atol=1e-14)
            assert_close(s, expected @ h, rtol=0, atol=1e-14)


OF_TWO = torch.tensor([3, 0, 1])
ONE_DIRECTION = LastPooling(2, bidirectional=False)
BOTH_DIRECTIONS = LastPooling(2, bidirectional=True)
POOLINGS = [MeanPooling(2), MaxPooling(2), ONE_DIRECTION, BOTH_DIRECTIONS]
IDS = ["mean", "max", "last", "last of both"]


class TestUnweighted:
    @pytest.fixture
    def states(self):
        """A sequence of three states and one of a single state; the maximum -1 stands twice."""
        states = [[2.0, -1.0], [5.0, -4.0], [-1.0, -1.0], [7.0, -8.0]]
        return torch.tensor(states, dtype=torch.float64, requires_grad=True)

    @pytest.mark.parametrize(
        ("pooling", "pooled", "weights", "gradients"),
        [
            (POOLINGS[0], [2, -2], [1 / 3, 1 / 3, 1 / 3], [[1 / 3, 1 / 3]] * 3),
            (POOLINGS[1], [5, -1], [1 / 2, 1 / 2, 0], [[0, 1], [1, 0], [0, 0]]),
            (POOLINGS[2], [-1, -1], [0, 0, 1], [[0, 0], [0, 0], [1, 1]]),
            (POOLINGS[3], [-1, -1], [1 / 2, 0, 1 / 2], [[0, 1], [0, 0], [1, 0]]),
        ],
        ids=IDS,
    )
    def test_pooling_worked_by_hand(self, states, pooling, pooled, weights, gradients):
        found, found_weights = pooling.pool(states, OF_TWO)
        assert_close(found, torch.tensor([pooled, [0, 0], [7, -8]]).double(), rtol=0, atol=1e-15)
        assert found_weights.flatten().tolist() == pytest.approx([*weights, 1], abs=1e-15)
        found.sum().backward()
        assert_close(states.grad, torch.tensor([*gradients, [1, 1]]).double(), rtol=0, atol=1e-7)

    def test_last_takes_the_end_of_each_direction(self):
        states = torch.arange(12.0).view(3, 4)
        pooled, _ = LastPooling(4, bidirectional=True).pool(states, torch.tensor([3]))
        assert pooled.tolist() == [[8, 9, 2, 3]]  # forward half of the last, backward of the first

    def test_max_pooling_propagates_nan(self):
        states = torch.tensor([[1.0, float("nan")], [2.0, 3.0]])
        pooled, _ = MaxPooling(2).pool(states, torch.tensor([2]))
        assert pooled[0, 0] == 2
        assert pooled[0, 1].isnan()


class TestMultiHopPooling:
    @pytest.fixture
    def pooling(self, fill):
        """States of size H = 3, attention of size A = 11, R = 5 hops."""
        pooling = MultiHopPooling(input_size=3, attention_dim=11, hops=5).double()
        fill(pooling)
        return pooling

    def test_each_sequence_is_pooled_as_the_paper_says(self, pooling, states):
        pooled, weights = pooling.pool(states, torch.tensor(OF_FIVE))
        assert pooled.shape == (5, 15)
        assert weights.shape == (13, 5)
        for h, m, alpha in zip(states.split(OF_FIVE), pooled, weights.split(OF_FIVE), strict=True):
            scores = pooling.context @ torch.tanh(pooling.weight @ h.T + pooling.bias[:, None])
            A = scores.softmax(1)  # (R, L)
            assert_close(alpha, A.T, rtol=0, atol=1e-14)
            assert_close(m, (A @ h).flatten(), rtol=0, atol=1e-14)


L, H = 5, 3
WORDS = torch.tensor([2, 1, 4, 0, 7])  # of 5 sentences
SENTENCES = torch.tensor([2, 0, 3])  # of 3 documents, the second empty


def scores(attention, states, words=WORDS, sentences=SENTENCES):
    return attention.scores(attention.sums(states, words), sentences)


class TestLabelAttention:
    @pytest.fixture
    def attention(self):
        generator = torch.Generator().manual_seed(0)
        return LabelAttention(H, L, generator).double()

    @pytest.fixture
    def states(self):
        return torch.cos(torch.arange(14 * H, dtype=torch.float64)).view(14, H) * 3

    def test_label_attention_is_a_softmax_over_the_document_words(self, attention, states):
        squashed = 10 * torch.tanh(states @ attention.query.T / 10)
        values = states @ attention.value.T
        expected = [
            (torch.softmax(squashed[rows], 0) * values[rows]).sum(0)
            for rows in (slice(0, 3), slice(3, 14))
        ]
        found = scores(attention, states)
        assert_close(found[[0, 2]], torch.stack(expected))
        assert_close(found[1], torch.zeros(L, dtype=torch.float64))

    def test_gradients_match_autograd(self, attention, states):
        leaf = states.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: attention.sums(s, WORDS), leaf)
        sums = attention.sums(leaf, WORDS)
        weights = torch.sin(torch.arange(sums.numel())).view_as(sums)
        found = torch.autograd.grad((weights * sums).sum(), [attention.query, attention.value])
        exponential = torch.exp(10 * torch.tanh(states @ attention.query.T / 10))
        terms = torch.cat([exponential, exponential * (states @ attention.value.T)], 1)
        plain = (weights.repeat_interleave(WORDS, 0) * terms).sum()
        expected = torch.autograd.grad(plain, [attention.query, attention.value])
        assert_close(found, expected)

    def test_states_of_any_size_give_finite_scores(self, attention):
        states = torch.full((3, H), 1e30)
        found = scores(attention.float(), states, torch.tensor([3]), torch.tensor([1]))
        assert torch.isfinite(found).all()


@pytest.mark.parametrize("by_default", [False, True])
@pytest.mark.parametrize("per_label", [False, True])
def test_an_explicit_per_label_overrides_the_default(by_default, per_label):
    pooling = Attention(size=5, per_label=per_label)
    options = NetworkOptions(pooling=pooling).resolve_auto(by_default)
    assert options.attends_per_label is per_label
    network = HierarchicalAttentionNetwork(7, 2, pooling=pooling)
    pooling.size = 23
    assert network.options.pooling.size == 5  # a copy


@pytest.mark.parametrize(("hops", "kind"), [(1, AttentionPooling), (3, MultiHopPooling)])
def test_one_hop_is_pooled_as_by_plain_attention(hops, kind):
    pooling = MultiHopAttention(size=11, hops=hops)
    network = HierarchicalAttentionNetwork(7, 2, pooling=pooling)
    assert type(network.word_attention) is type(network.sentence_attention) is kind
