"""What attention misses of marked words."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from sk_han.engines.loading import using_engine
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn.penalties import missed_marks

LEAST = 1e-4
# Documents of sentences of words: (2, 3), nothing, (1, 2, 2).
WORDS, SENTENCES = torch.tensor([2, 3, 1, 2, 2]), torch.tensor([2, 0, 3])
WORD_WEIGHTS = torch.tensor([0.25, 0.75, 0.5, 0.3, 0.2, 1.0, 0.4, 0.6, 0.9, 0.1])
SENTENCE_WEIGHTS = torch.tensor([0.6, 0.4, 0.2, 0.3, 0.5])


def missed(marked, word_weights=WORD_WEIGHTS, sentence_weights=SENTENCE_WEIGHTS):
    is_marked = torch.zeros(10)
    is_marked[marked] = 1
    return missed_marks(word_weights, WORDS, sentence_weights, SENTENCES, is_marked)


def test_worked_by_hand():
    expected = -math.log(0.6 * 0.75 + 0.4 * (0.5 + 0.3) + LEAST)
    assert missed([1, 2, 3]).tolist() == pytest.approx([expected, 0, 0], rel=1e-5)


def test_a_document_without_marks_or_without_words_costs_nothing():
    assert missed([]).tolist() == [0, 0, 0]
    assert missed([5]).tolist()[:2] == [0, 0]


def test_attention_on_nothing_but_marked_words_costs_nothing():
    assert missed([5, 6, 7, 8, 9])[2] == pytest.approx(0, abs=2e-4)


def test_attention_of_zero_on_all_marked_words_has_a_finite_gradient():
    weights = WORD_WEIGHTS.clone()
    weights[0] = 0
    weights.requires_grad_()
    missed([0], weights).sum().backward()
    assert torch.isfinite(weights.grad).all()
    assert weights.grad[0] < 0


def test_a_document_is_judged_alone():
    is_marked = torch.tensor([0.0, 1, 0, 1, 0])
    alone = missed_marks(
        WORD_WEIGHTS[5:], WORDS[2:], SENTENCE_WEIGHTS[2:], SENTENCES[2:], is_marked
    )
    assert_close(missed([0, 6, 8])[2:], alone)


def test_both_engines_have_its_gradients():
    found = []
    for engine in ("numba", "torch"):
        with using_engine(engine):
            network = HierarchicalAttentionNetwork(
                vocabulary_size=11,
                n_classes=2,
                embedding_dim=7,
                word_hidden=5,
                sentence_hidden=3,
                generator=torch.Generator().manual_seed(0),
            ).eval()
            if found:
                network.load_state_dict(found[0][0])
            output = network.attend(torch.arange(1, 11), WORDS, SENTENCES)
            marked = (torch.arange(10) % 3 == 1).float()
            levels = output.word_attention, WORDS, output.sentence_attention, SENTENCES
            missed_marks(*levels, marked).sum().backward()
        gradients = {n: w.grad for n, w in network.named_parameters() if w.grad is not None}
        found.append((network.state_dict(), gradients))
    (_, numba), (_, plain) = found
    assert numba.keys() == plain.keys()
    for name in numba:
        assert_close(numba[name].to_dense(), plain[name].to_dense(), rtol=1e-3, atol=1e-5)
