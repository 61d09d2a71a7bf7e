"""The shapes that a network's structure says its weights have."""

import pytest

from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn.shapes import weight_shapes

SIZES = {"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7, "attention_dim": 13}


@pytest.mark.parametrize(
    "structure",
    [
        {},
        {"rnn": "lstm"},
        {"rnn": "gru", "num_layers": 3},
        {"rnn": "rnn", "num_layers": 2, "bidirectional": False},
        {"bidirectional": False},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "last", "bidirectional": False},
        {"attention_hops": 2},
        {"context": "forward"},
        {"context": "forward", "context_gated": True},
        {"context": "bidirectional", "num_layers": 2},
        {"context": "bidirectional", "context_gated": True},
    ],
    ids=str,
)
def test_shapes_are_those_of_the_network(structure):
    network = HierarchicalAttentionNetwork(11, 2, **SIZES, **structure)
    expected = [(name, tuple(weight.shape)) for name, weight in network.state_dict().items()]
    assert list(weight_shapes(11, 2, **SIZES, **structure).items()) == expected
