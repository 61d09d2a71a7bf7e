"""How alike states are, and the penalty that keeps them apart."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity
from torch.testing import assert_close

from sk_han.nn.penalties import conicity, document_conicity
from sk_han.options import Attention, ContextAttention, MultiHopAttention

LENGTHS = [3, 0, 7, 1, 2]


@pytest.fixture
def states():
    return torch.cos(1 + torch.arange(65, dtype=torch.float64)).view(13, 5)


def by_definition(states):
    return cosine_similarity(states, states.mean(0, keepdim=True)).mean()


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([[1, 0], [0, 1]], math.sqrt(1 / 2)),  # the mean lies between them, at 45 degrees
        ([[3, 0], [0, 3], [3, 3]], (2 * math.sqrt(1 / 2) + 1) / 3),
        ([[1, 2], [2, 4], [5, 10]], 1),
        ([[4, 0], [-2, 0]], 0),  # one along the mean, one against it
        ([[1, 0], [-1, 0]], 0),  # no mean to compare with
    ],
)
def test_conicity_worked_by_hand(states, expected):
    found = conicity(torch.tensor(states, dtype=torch.float64), torch.tensor([len(states)]))
    assert found.tolist() == pytest.approx([expected], abs=1e-15)


def test_conicity_of_each_sequence_is_that_of_the_paper(states):
    found = conicity(states, torch.tensor(LENGTHS))
    parts = states.split(LENGTHS)
    assert_close(found[[0, 2, 4]], torch.stack([by_definition(parts[i]) for i in (0, 2, 4)]))


def test_a_sequence_of_one_state_or_none_has_no_conicity(states):
    assert conicity(states, torch.tensor(LENGTHS))[[1, 3]].tolist() == [0, 0]


def test_a_sequence_of_one_state_has_no_gradient(states):
    states.requires_grad_()
    conicity(states, torch.tensor(LENGTHS)).sum().backward()
    assert states.grad[10].tolist() == [0] * 5
    assert states.grad[:10].ne(0).all()


def test_gradients_equal_numerical_ones(states):
    lengths = torch.tensor(LENGTHS)
    assert torch.autograd.gradcheck(lambda s: conicity(s, lengths), states.requires_grad_())


def test_states_of_zero_have_finite_gradients():
    states = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    conicity(states, torch.tensor([2, 2])).sum().backward()
    assert states.grad.isfinite().all()


def test_documents_are_worked_by_hand():
    # Sentences of 2, 1, 3 | no sentence | 1 word: the mean goes over those of 2 and 3 words.
    words = torch.tensor([0.5, 0.0, 0.25, 0.0], dtype=torch.float64)
    sentences = torch.tensor([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=torch.float64)
    found = document_conicity(words, torch.tensor([2, 1, 3, 1]), sentences, torch.tensor([3, 0, 1]))
    assert found.tolist() == pytest.approx([0.375 + 1, 0, 0], abs=1e-15)


class TestNetwork:
    def states_of(self, network, batch):
        """States of words and of sentences."""
        found: list[Tensor] = []
        for encoder in (network.word_encoder, network.sentence_encoder):
            encoder.register_forward_hook(lambda _, args, states: found.append(states.detach()))
        network.attend(*batch)
        return found

    @pytest.mark.parametrize("kind", [Attention, ContextAttention])
    def test_penalty_is_the_conicity_times_its_factor(self, make_network, batch, kind):
        words, sentences = self.states_of(make_network(pooling=kind(size=19)), batch)
        pooling = kind(size=19, diversity_penalty=0.25)
        penalty = make_network(pooling=pooling).attend(*batch).penalty

        of_words = words.split(batch.words_per_sentence.tolist())
        sizes = batch.sentences_per_document.tolist()
        expected = []
        for first, size in zip([0, 2, 2, 3, 4], sizes, strict=True):
            several = [w for w in of_words[first : first + size] if len(w) > 1]
            mean = sum(map(by_definition, several)) / max(len(several), 1)
            own = sentences[first : first + size]
            expected.append(mean + (by_definition(own) if size > 1 else 0))
        assert expected[1] == 0
        assert penalty.tolist() == pytest.approx([0.25 * float(e) for e in expected], abs=1e-12)

    def test_it_is_added_to_that_of_the_hops(self, make_network, batch):
        hops, both, states = (
            make_network(pooling=MultiHopAttention(size=19, hops=3, **penalties))
            .attend(*batch)
            .penalty
            for penalties in (
                {},
                {"diversity_penalty": 0.5},
                {"diversity_penalty": 0.5, "penalty": 0.0},
            )
        )
        assert_close(both, hops + states)

    def test_evaluation_has_no_penalty(self, make_network, batch):
        network = make_network(pooling=Attention(size=19, diversity_penalty=0.5)).eval()
        assert network.attend(*batch).penalty.tolist() == [0] * 5
