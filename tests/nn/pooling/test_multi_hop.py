"""Several attentions side by side, and how alike they are."""

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import MultiHopPooling
from sk_han.nn.attention import document_overlap, hop_overlap

LENGTHS = [3, 0, 7, 1, 2]


@pytest.fixture
def pooling(fill):
    """States of size H = 3, attention of size A = 11, R = 5 hops."""
    pooling = MultiHopPooling(input_size=3, attention_dim=11, hops=5).double()
    fill(pooling)
    return pooling


@pytest.fixture
def states():
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3)


def test_each_sequence_is_pooled_as_the_paper_says(pooling, states):
    pooled, weights = pooling.pool(states, torch.tensor(LENGTHS))
    assert pooled.shape == (5, 15)
    assert weights.shape == (13, 5)
    for h, m, alpha in zip(states.split(LENGTHS), pooled, weights.split(LENGTHS), strict=True):
        scores = pooling.context @ torch.tanh(pooling.weight @ h.T + pooling.bias[:, None])
        A = scores.softmax(1)  # (R, L)
        assert_close(alpha, A.T, rtol=0, atol=1e-14)
        assert_close(m, (A @ h).flatten(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("weights", "overlap"),
    [
        ([[1, 0], [0, 1], [0, 0]], 0),  # A A^T = I
        ([[1, 1], [0, 0], [0, 0]], 2),  # A A^T = 1 everywhere
        ([[1 / 2, 1 / 2], [1 / 2, 1 / 2]], 1),  # A A^T = 1/2 everywhere
        ([[1, 1 / 4], [0, 3 / 4]], 2 / 16 + (10 / 16 - 1) ** 2),
        ([], 0),
    ],
)
def test_overlap_worked_by_hand(weights, overlap):
    A_transposed = torch.tensor(weights, dtype=torch.float64).view(-1, 2)
    found = hop_overlap(A_transposed, torch.tensor([len(weights)]))
    assert found.tolist() == pytest.approx([overlap], abs=1e-15)


def test_overlap_of_a_document_worked_by_hand():
    # Two sentences whose hops overlap by 2 and by 0, read by hops that overlap by 1; then an
    # empty document; then one of a single word, where all hops must read the same.
    words = torch.tensor([[1, 1], [0, 0], [1, 0], [0, 1], [1, 1]]).double()
    sentences = torch.tensor([[1 / 2, 1 / 2], [1 / 2, 1 / 2], [1, 1]]).double()
    found = document_overlap(words, torch.tensor([2, 2, 1]), sentences, torch.tensor([2, 0, 1]))
    assert found.tolist() == [1 + 1, 0, 2 + 2]
