"""Word attention that knows the sentences around, against one that reads one at a time."""

import math

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import ContextPooling

WORDS = [3, 1, 2, 4, 1, 2]  # of N = 6 sentences, T = 13
SENTENCES = [2, 0, 1, 3]  # of D = 4 documents
LENGTHS = torch.tensor(WORDS), torch.tensor(SENTENCES)


@pytest.fixture
def make_pooling(fill):
    """States of size H = 3, attention of size A = 11."""

    def make(**params):
        defaults = {"bidirectional": False, "summary": "sum", "gated": False}
        pooling = ContextPooling(3, 11, **(defaults | params)).double()
        fill(pooling)
        return pooling

    return make


@pytest.fixture
def states():
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3)


def one_at_a_time(direction, sentences, mean, gated):
    """Remy et al. (2019) for one document: sentence vectors and word weights."""
    vectors, weights = [], []
    for h in sentences:
        c = sum(vectors, torch.zeros(3, dtype=torch.float64))
        if mean and vectors:
            c = c / len(vectors)
        Wh, Vc = h @ direction.weight.T, direction.sentence_weight @ c
        if gated:
            gate = direction.gate_sentence_weight @ c + direction.gate_bias
            share = torch.sigmoid(h @ direction.gate_weight + gate)[:, None]
            Wh, Vc = share * Wh, (1 - share) * Vc
        alpha = (torch.tanh(Wh + Vc + direction.bias) @ direction.context).softmax(0)
        vectors.append(alpha @ h)
        weights.append(alpha)
    return vectors, weights


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("summary", ["mean", "sum"])
@pytest.mark.parametrize("gated", [False, True])
def test_each_document_is_read_as_the_paper_says(
    make_pooling, states, bidirectional, summary, gated
):
    pooling = make_pooling(bidirectional=bidirectional, summary=summary, gated=gated)
    vectors, weights, first, sentences = [], [], 0, states.split(WORDS)
    for n in SENTENCES:
        document = list(sentences[first : first + n])
        mean = summary == "mean"
        s, alpha = one_at_a_time(pooling.forwards, document, mean, gated)
        if bidirectional:
            s_back, alpha_back = one_at_a_time(pooling.backwards, document[::-1], mean, gated)
            s = [torch.cat(both) for both in zip(s, s_back[::-1], strict=True)]
            alpha = [torch.stack(both, 1) for both in zip(alpha, alpha_back[::-1], strict=True)]
        vectors += s
        weights += alpha
        first += n
    found, found_weights = pooling.pool(states, *LENGTHS)
    assert found.shape == (6, pooling.output_size)
    assert_close(found, torch.stack(vectors), rtol=0, atol=1e-14)
    assert_close(found_weights, torch.cat(weights).view(13, -1), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("summary", "score"), [("sum", 3.0), ("mean", 1.5)])
def test_context_worked_by_hand(summary, score):
    # Sentences of one word are their word: 1, then 2. The words 0 and 1 of the third meet
    # c = 1 + 2, or its half. With W = 0 and V = 1, u is tanh of the share that the gate leaves c.
    context = ContextPooling(1, 1, bidirectional=False, summary=summary, gated=True).double()
    direction = context.forwards
    with torch.no_grad():
        for weight in direction.parameters():
            weight.zero_()
        direction.sentence_weight.fill_(1.0)
        direction.gate_weight.fill_(math.log(3))  # lambda is 1/2 for word 0 and 3/4 for word 1
        direction.context.fill_(1.0)
    states = torch.tensor([[1.0], [2.0], [0.0], [1.0]], dtype=torch.float64)
    _, weights = context.pool(states, torch.tensor([1, 1, 2]), torch.tensor([3]))
    first, second = math.exp(math.tanh(score / 2)), math.exp(math.tanh(score / 4))
    assert weights[2:].flatten().tolist() == pytest.approx(
        [first / (first + second), second / (first + second)], abs=1e-15
    )


def test_no_sentences_pool_to_nothing(make_pooling):
    nothing = torch.empty(0, dtype=torch.int64)
    pooled, weights = make_pooling(bidirectional=True).pool(
        torch.empty(0, 3).double(), nothing, torch.tensor([0, 0])
    )
    assert pooled.shape == (0, 6)
    assert weights.shape == (0, 2)


def test_without_lengths_of_documents_all_sentences_are_of_one(make_pooling, states):
    pooling = make_pooling(bidirectional=True)
    found = pooling.pool(states, LENGTHS[0])
    assert_close(found, pooling.pool(states, LENGTHS[0], torch.tensor([6])), rtol=0, atol=0)
    assert not torch.allclose(found[0], pooling.pool(states, *LENGTHS)[0])
