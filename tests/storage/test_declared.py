"""What the state of a network and the parameters of a saved classifier must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sk_han import Attention
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._targets import OneOfClasses
from sk_han.nn import HierarchicalAttentionNetwork, NetworkOptions
from sk_han.nn._encoders import parameter_shapes
from sk_han.serving._network import ServedNetwork, weight_shapes

OPTIONS = NetworkOptions(embedding_dim=5, word_hidden=3, sentence_hidden=2)
SIZES = {"vocabulary_size": 11, "n_classes": 2}
TARGET = OneOfClasses(np.array(["no", "yes"]))


def state() -> dict[str, Any]:
    shapes = parameter_shapes(HierarchicalAttentionNetwork, **SIZES, **vars(OPTIONS))
    return {
        **SIZES,
        "max_words": 7,
        "valid_batch_size": 1,
        "options": OPTIONS.to_plain(),
        "weights": {name: np.zeros(shape, np.float32) for name, shape in shapes.items()},
    }


@pytest.mark.parametrize("part", [TrainedNetwork, ServedNetwork])
def test_sizes_that_contradict_the_weights_are_refused(part: Any) -> None:
    part.from_state(state(), TARGET, "cpu")
    for name, size in SIZES.items():
        with pytest.raises(ValueError, match=r"must have|too many"):
            part.from_state(state() | {name: size + 1}, TARGET, "cpu")


@pytest.mark.parametrize("pooling", ["attention", Attention(size=4, per_label=True)])
def test_a_scorer_knows_the_shapes_of_its_network(pooling: Any) -> None:
    options = {**vars(OPTIONS), "pooling": pooling}
    shapes = parameter_shapes(HierarchicalAttentionNetwork, **SIZES, **options)
    assert dict(weight_shapes(11, 2, NetworkOptions(**options))) == shapes
