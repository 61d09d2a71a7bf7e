"""Attention to the words of a document by each label."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from sk_han import Attention
from sk_han.kernels.numpy_network import LabelAttention as NumpyLabelAttention
from sk_han.nn import HierarchicalAttentionNetwork, LabelAttention
from sk_han.nn import attention as module
from sk_han.options import NetworkOptions
from sk_han.targets import AnyOfLabels, OneOfClasses

L, H = 5, 3
WORDS = torch.tensor([2, 1, 4, 0, 7])  # of 5 sentences
SENTENCES = torch.tensor([2, 0, 3])  # of 3 documents, the second empty


@pytest.fixture
def attention():
    generator = torch.Generator().manual_seed(0)
    return LabelAttention(H, L, generator).double()


@pytest.fixture
def states():
    return torch.cos(torch.arange(14 * H, dtype=torch.float64)).view(14, H) * 3


def scores(attention, states, words=WORDS, sentences=SENTENCES):
    return attention.scores(attention.sums(states, words), sentences)


def test_by_hand():
    attention = LabelAttention(1, 1).double()
    with torch.no_grad():
        attention.query.fill_(2), attention.value.fill_(5)
    states = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    weight = math.exp(10 * math.tanh(0.2))  # of the second word; of the first it is 1
    expected = torch.tensor([[5 * weight / (1 + weight)]], dtype=torch.float64)
    found = scores(attention, states, torch.tensor([2]), torch.tensor([1]))
    assert_close(found, expected)


def test_it_is_a_softmax_over_the_words_of_the_document(attention, states):
    squashed = 10 * torch.tanh(states @ attention.query.T / 10)
    values = states @ attention.value.T
    expected = [
        (torch.softmax(squashed[rows], 0) * values[rows]).sum(0)
        for rows in (slice(0, 3), slice(3, 14))
    ]
    found = scores(attention, states)
    assert_close(found[[0, 2]], torch.stack(expected))
    assert_close(found[1], torch.zeros(L, dtype=torch.float64))


def test_where_sentences_end_does_not_matter(attention, states):
    others = scores(attention, states, torch.tensor([3, 5, 6]), torch.tensor([1, 0, 2]))
    assert_close(scores(attention, states), others)


def test_gradients_are_those_of_the_sums_in_portions_too(attention, states, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS_AT_ONCE", 3 * 2 * L)  # three words
    leaf = states.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: attention.sums(s, WORDS), leaf)
    sums = attention.sums(leaf, WORDS)
    weights = torch.sin(torch.arange(sums.numel())).view_as(sums)
    found = torch.autograd.grad((weights * sums).sum(), [attention.query, attention.value])
    exponential = torch.exp(10 * torch.tanh(states @ attention.query.T / 10))
    each = torch.cat([exponential, exponential * (states @ attention.value.T)], 1)
    plain = (weights.repeat_interleave(WORDS, 0) * each).sum()
    expected = torch.autograd.grad(plain, [attention.query, attention.value])
    assert_close(found, expected)


def test_contributions_of_words_sum_to_a_score(attention, states):
    sums = attention.sums(states, WORDS).detach().requires_grad_()
    found = attention.scores(sums, SENTENCES)
    factors = torch.sin(torch.arange(found.numel())).view_as(found)
    (gradient,) = torch.autograd.grad((factors * found).sum(), sums)
    words = attention.attributions(states, gradient, WORDS).detach()
    by_document = torch.stack([words[:3].sum(), words[3:].sum()])
    assert_close(by_document, (factors * found).sum(1).detach()[[0, 2]])


@pytest.mark.parametrize("size", [1 << 18, 7 * L])
def test_numpy_computes_the_same(attention, states, monkeypatch, size):
    monkeypatch.setattr("sk_han.kernels.numpy_network._NUMBERS_AT_ONCE", size)
    attention, states = attention.float(), states.float()
    plain = NumpyLabelAttention(attention.query.detach().numpy(), attention.value.detach().numpy())
    sums = plain.sums(states.numpy(), WORDS.numpy())
    assert_close(torch.from_numpy(sums), attention.sums(states, WORDS).detach())
    expected = scores(attention, states).detach()
    assert_close(torch.from_numpy(plain.scores(sums, SENTENCES.numpy())), expected)
    factors = np.ones((3, L), dtype=np.float32)
    words = plain.attributions(states.numpy(), sums, factors, WORDS.numpy(), SENTENCES.numpy())
    totals = torch.tensor([words[:3].sum(), words[3:].sum()])
    assert_close(totals, expected.sum(1)[[0, 2]], rtol=1e-4, atol=1e-5)


def test_states_of_any_size_give_finite_scores(attention):
    states = torch.full((3, H), 1e30)
    found = scores(attention.float(), states, torch.tensor([3]), torch.tensor([1]))
    assert torch.isfinite(found).all()


@pytest.mark.parametrize(("n_labels", "has_it"), [(30, False), (31, True), (500, True)])
def test_by_default_dozens_of_labels_have_it(n_labels, has_it):
    target = AnyOfLabels(np.arange(n_labels), np.full(n_labels, 0.5))
    options = NetworkOptions(embedding_dim=2, word_hidden=2).decided(target.attends_per_label)
    assert options.attends_per_label is has_it
    network = HierarchicalAttentionNetwork(7, n_labels, **options.get_params(deep=False))
    assert (network.label_attention is not None) is has_it


def test_classes_that_exclude_each_other_have_none_by_default():
    assert not OneOfClasses(np.arange(50)).attends_per_label


@pytest.mark.parametrize("by_default", [False, True])
@pytest.mark.parametrize("per_label", [False, True])
def test_what_is_asked_for_stays(by_default, per_label):
    options = NetworkOptions(pooling=Attention(per_label=per_label)).decided(by_default)
    assert options.attends_per_label is per_label


def test_a_pooling_without_attention_has_none():
    assert not NetworkOptions(pooling="mean").decided(True).attends_per_label
