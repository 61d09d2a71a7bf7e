"""What each word brings to a score, held against plain autograd."""

import pytest
import torch
from torch.testing import assert_close

from sk_han import MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork
from tests.nn.test_family import OPTIONS

FACTORS = torch.tensor([[-1.0, 1.0], [2.0, 0.5], [0.25, -1.0], [1.0, 0.0], [0.5, 3.0]]).double()

each_member = pytest.mark.parametrize("params", OPTIONS.values(), ids=OPTIONS)


def fixed(logits):
    """Factors that do not depend on the logits."""
    return FACTORS.to(logits)


def score_of_sentences(network, sentences, batch):
    states = network.sentence_encoder(
        sentences, torch.arange(len(sentences)), batch.sentences_per_document
    )
    documents, _ = network.sentence_attention.pool(states, batch.sentences_per_document)
    return (FACTORS * network.output(documents)).sum()


WITH_ATTENTION = {
    name: params
    for name, params in OPTIONS.items()
    if not isinstance(params.get("pooling"), str) and name not in ("labels", "much at once")
}


@pytest.mark.parametrize("params", WITH_ATTENTION.values(), ids=WITH_ATTENTION)
def test_gradient_attention_is_attention_times_its_gradient(make_network, batch, params):
    network = make_network(**params)
    states = network.encode_words(*batch[:2]).detach()
    _, weights = network.pool_words(states, batch.words_per_sentence)
    leaves = [column.detach().requires_grad_() for column in weights.T]
    lengths = batch.words_per_sentence.tolist()
    sentences = [
        torch.stack([part.sum(0) for part in (a.unsqueeze(1) * states).split(lengths)])
        for a in leaves
    ]
    gradients = torch.autograd.grad(
        score_of_sentences(network, torch.cat(sentences, dim=1), batch), leaves
    )
    expected = sum(a.detach() * g for a, g in zip(leaves, gradients, strict=True))
    found = network.gradient_attention(*batch, fixed)
    assert_close(found.words, expected, rtol=0, atol=1e-13)
    assert found.words.abs().max() > 1e-4


@each_member
def test_contributions_of_states_sum_to_pooled_vectors_times_gradient(make_network, batch, params):
    network = make_network(**params)
    poolings = network.word_attention, network.sentence_attention
    for pooling, input_size in zip(poolings, (10, 14), strict=True):
        size = input_size // (1 if network.options.recurrent.bidirectional else 2)
        states = torch.cos(torch.arange(29 * size, dtype=torch.float64)).view(29, size)
        pooled, weights = pooling.pool(states, batch.words_per_sentence)
        gradient = torch.sin(torch.arange(pooled.numel())).view_as(pooled).to(pooled)
        lengths = batch.words_per_sentence
        found = pooling.attributions(states, weights, gradient, lengths)
        assert found.shape == (29,)
        sums = torch.stack([part.sum() for part in found.split(lengths.tolist())])
        assert_close(sums, (pooled * gradient).sum(1), rtol=0, atol=1e-12)


def test_words_share_the_scores_of_label_attention(make_network, batch):
    network = make_network(**OPTIONS["labels"])
    labels = network.label_attention
    states = network.encode_words(*batch[:2]).detach()
    sums = labels.sums(states, batch.words_per_sentence)
    of_labels = labels.scores(sums, batch.sentences_per_document).detach()
    found = network.gradient_attention(*batch, fixed).words
    network.label_attention = None
    of_vectors = network.gradient_attention(*batch, fixed).words
    lengths = [part.sum() for part in batch.words_per_sentence.split([2, 0, 1, 1, 7])]
    by_document = torch.stack([part.sum() for part in (found - of_vectors).split(lengths)])
    assert_close(by_document, (FACTORS * of_labels).sum(1), rtol=0, atol=1e-12)
    assert by_document.abs().max() > 1e-2


def test_only_states_chosen_by_max_pooling_have_contributions():
    network = HierarchicalAttentionNetwork(9, 2, pooling="max")
    states = torch.tensor([[3.0, -1.0], [3.0, 5.0], [0.0, 7.0]])
    gradient = torch.tensor([[2.0, 10.0], [1.0, 1.0]])
    weights, lengths = torch.zeros(3, 1), torch.tensor([2, 1])
    parts = network.word_attention.attributions(states, weights, gradient, lengths)
    assert parts.tolist() == [6.0, 50.0, 7.0]  # 3 stands twice, and the first one counts


def test_gradient_of_each_direction_goes_to_its_last_state():
    network = HierarchicalAttentionNetwork(9, 2, word_hidden=1, pooling="last")
    states = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    gradient = torch.tensor([[10.0, 100.0], [1.0, 1.0], [1.0, 10.0]])
    weights, lengths = torch.zeros(4, 1), torch.tensor([3, 0, 1])
    parts = network.word_attention.attributions(states, weights, gradient, lengths)
    assert parts.tolist() == [200.0, 0.0, 50.0, 87.0]


@each_member
def test_logits_and_attention_match_the_network(make_network, batch, params):
    network = make_network(**params)
    found, expected = network.gradient_attention(*batch, fixed), network.attend(*batch)
    for name in ("logits", "word_attention", "sentence_attention"):
        assert_close(getattr(found, name), getattr(expected, name).detach(), rtol=0, atol=1e-13)


def test_a_network_in_training_mode_is_read_without_dropout(make_network, batch):
    network = make_network(dropout=0.5, word_dropout=0.5, embedding_dropout=0.5)
    found = network.train().gradient_attention(*batch, fixed)
    expected = make_network().eval().gradient_attention(*batch, fixed)
    assert all(map(torch.equal, found, expected))


@each_member
def test_documents_without_words_have_no_contributions(make_network, params):
    nothing = torch.empty(0, dtype=torch.int64)
    found = make_network(**params).gradient_attention(
        nothing, nothing, torch.zeros(5, dtype=torch.int64), fixed
    )
    assert found.words.shape == (0,)
    assert found.logits.shape == (5, 2)


@pytest.mark.parametrize("params", [{}, {"pooling": MultiHopAttention(size=19, hops=2)}], ids=str)
def test_chunks_tables_and_frozen_weights_do_not_change_contributions(make_network, batch, params):
    network = make_network(**params)
    expected = network.gradient_attention(*batch, fixed)
    assert not any(values.requires_grad for values in expected)
    assert all(weight.grad is None for weight in network.parameters())
    in_chunks = make_network(max_words=4, **params).gradient_attention(*batch, fixed)
    network.tabulate()
    tabulated = network.gradient_attention(*batch, fixed)
    with torch.no_grad():
        frozen = network.requires_grad_(False).gradient_attention(*batch, fixed)
    for found in (in_chunks, tabulated, frozen):
        assert_close(found.words, expected.words, rtol=0, atol=1e-13)
