"""Options become the pooling that they name."""

import pytest

from sk_han import RNN, Attention, ContextAttention, MultiHopAttention
from sk_han.nn import (
    AttentionPooling,
    ContextPooling,
    LastPooling,
    MaxPooling,
    MeanPooling,
    MultiHopPooling,
)
from sk_han.nn.han import sentence_pooling, word_pooling
from sk_han.options import NetworkOptions

each_level = pytest.mark.parametrize("make", [word_pooling, sentence_pooling])


@each_level
@pytest.mark.parametrize(
    ("pooling", "kind"),
    [
        (Attention(size=11), AttentionPooling),
        (MultiHopAttention(size=11, hops=1), AttentionPooling),
        (MultiHopAttention(size=11, hops=3), MultiHopPooling),
        ("attention", AttentionPooling),
        ("mean", MeanPooling),
        ("max", MaxPooling),
        ("last", LastPooling),
    ],
)
def test_both_levels_pool_alike(make, pooling, kind):
    found = make(NetworkOptions(pooling=pooling), 6, None)
    assert type(found) is kind
    assert found.output_size == (18 if kind is MultiHopPooling else 6)
    assert not found.across_sequences


@each_level
@pytest.mark.parametrize("kind", [Attention, MultiHopAttention, ContextAttention])
def test_the_size_is_that_asked_for(make, kind):
    found = make(NetworkOptions(pooling=kind(size=11)), 6, None)
    found = found.forwards if isinstance(found, ContextPooling) else found
    assert found.weight.shape == (11, 6)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("summary", ["mean", "sum"])
@pytest.mark.parametrize("gated", [False, True])
def test_context_is_that_asked_for(direction, summary, gated):
    pooling = ContextAttention(size=11, direction=direction, summary=summary, gated=gated)
    found = word_pooling(NetworkOptions(pooling=pooling), 6, None)
    assert isinstance(found, ContextPooling)
    assert found.across_sequences
    assert (found.backwards is not None) is (direction == "bidirectional")
    for part in filter(None, (found.forwards, found.backwards)):
        assert part.summary == summary
        assert hasattr(part, "gate_weight") is gated


def test_sentences_have_no_context():
    options = NetworkOptions(pooling=ContextAttention(direction="bidirectional"))
    assert type(sentence_pooling(options, 6, None)) is AttentionPooling


@each_level
@pytest.mark.parametrize(("bidirectional", "forward_size"), [(True, 3), (False, 6)])
def test_last_states_are_those_of_the_directions(make, bidirectional, forward_size):
    options = NetworkOptions(pooling="last", rnn=RNN(bidirectional=bidirectional))
    assert make(options, 6, None).forward_size == forward_size
