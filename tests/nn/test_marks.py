"""What attention misses of marked words."""

import math

import pytest
import torch
from torch.testing import assert_close

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
