"""The shapes that a network's structure says its weights have."""

import pytest

from sk_han import RNN, Attention, ContextAttention, MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.options import NetworkOptions, weight_shapes

SIZES = {"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7}


@pytest.mark.parametrize(
    "structure",
    [
        {},
        {"rnn": "lstm"},
        {"rnn": RNN(num_layers=3)},
        {"rnn": RNN(cell="rnn", num_layers=2, bidirectional=False)},
        {"rnn": RNN(bidirectional=False)},
        {"pooling": Attention(size=13)},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "last", "rnn": RNN(bidirectional=False)},
        {"pooling": MultiHopAttention(size=13, hops=1, per_label=True)},
        {"pooling": MultiHopAttention(size=13, hops=2)},
        {"pooling": ContextAttention(size=13)},
        {"pooling": ContextAttention(size=13, gated=True)},
        {
            "pooling": ContextAttention(size=13, direction="bidirectional"),
            "rnn": RNN(num_layers=2),
        },
        {"pooling": ContextAttention(size=13, direction="bidirectional", gated=True)},
    ],
    ids=str,
)
def test_shapes_are_those_of_the_network(structure):
    network = HierarchicalAttentionNetwork(11, 2, **SIZES, **structure)
    expected = [(name, tuple(weight.shape)) for name, weight in network.state_dict().items()]
    options = NetworkOptions(**SIZES, **structure)
    assert list(weight_shapes(11, 2, options).items()) == expected
