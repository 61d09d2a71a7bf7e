"""What the state of a network and the parameters of a saved classifier must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sk_han import RNN, Attention, HierarchicalTokenizer
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._targets import OneOfClasses
from sk_han._text import vocabulary as tokenizer_state
from sk_han._utils.compat import validate_parameter_constraints
from sk_han.nn import HierarchicalAttentionNetwork, NetworkOptions
from sk_han.nn._encoders import shapes_of
from sk_han.serving._stored_model import ServedNetwork, weight_shapes

OPTIONS = NetworkOptions(embedding_dim=5, word_hidden=3, sentence_hidden=2)
SIZES = {"vocabulary_size": 11, "n_classes": 2}
TARGET = OneOfClasses(np.array(["no", "yes"]))


def state() -> dict[str, Any]:
    shapes = shapes_of(HierarchicalAttentionNetwork, **SIZES, **vars(OPTIONS))
    return {
        **SIZES,
        "max_words": 7,
        "valid_batch_size": 1,
        "options": OPTIONS.to_plain(),
        "weights": {name: np.zeros(shape, np.float32) for name, shape in shapes.items()},
    }


@pytest.mark.parametrize("part", [TrainedNetwork, ServedNetwork])
def test_sizes_that_its_weights_do_not_have_are_refused(part: Any) -> None:
    part.from_state(state(), TARGET, "cpu")
    for name, size in SIZES.items():
        with pytest.raises(ValueError, match=r"must have|too many"):
            part.from_state(state() | {name: size + 1}, TARGET, "cpu")


@pytest.mark.parametrize("pooling", ["attention", Attention(size=4, per_label=True)])
def test_a_scorer_knows_the_shapes_of_its_network(pooling: Any) -> None:
    options = {**vars(OPTIONS), "pooling": pooling}
    shapes = shapes_of(HierarchicalAttentionNetwork, **SIZES, **options)
    assert dict(weight_shapes(11, 2, NetworkOptions(**options))) == shapes


# By scikit-learn: a string for a sequence of words.
TAKEN_FOR_ANOTHER = {("vocabulary", str)}


PLAIN: list[Any] = [None, 0, 1, 2, 3, 10**6, -1, 0.0, 0.3, 1.0, 1.5, 1e-3, "", "auto", "balanced"]
PLAIN += ["random", "cooccurrence", "gru", "attention", "constant", "sgd", "english", "ascii"]
PLAIN += ["ragged", "numba", "cpu", "words", [], [1], (1, 2), {}, {"a": 1}]
PLAIN += [RNN(), Attention(), np.ones(2), False, True]


def test_what_is_declared_is_what_the_tokenizer_allows() -> None:
    """True and False count as numbers for scikit-learn, too."""

    def allows(name: str, value: Any) -> bool:
        constraints = {name: HierarchicalTokenizer._parameter_constraints[name]}
        try:
            validate_parameter_constraints(constraints, {name: value}, caller_name="it")
        except ValueError:
            return False
        return True

    for name, constraint in tokenizer_state.PARAMETERS.items():
        for value in PLAIN:
            here, there = constraint.accepts(value), allows(name, value)
            assert there or not here, f"{name}={value!r}"
            is_taken_for_another = (name, type(value)) in TAKEN_FOR_ANOTHER
            if not isinstance(value, bool) and not is_taken_for_another:
                is_array = name == "vocabulary" and isinstance(value, np.ndarray)
                assert here or not there or is_array, f"{name}={value!r}"


def test_defaults_of_the_tokenizer_are_those_of_the_class() -> None:
    params = HierarchicalTokenizer().get_params()
    assert tokenizer_state.PARAMETERS.keys() == params.keys()
    assert {name: params[name] for name in tokenizer_state.DEFAULTS} == tokenizer_state.DEFAULTS
