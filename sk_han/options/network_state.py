"""Check of a stored network, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import Any

import numpy as np

from sk_han.options.base import Choice, Range
from sk_han.options.network import NetworkOptions
from sk_han.options.shapes import sentence_network_shapes, weight_shapes

__all__ = ["check_network", "check_sentence_network", "check_weights", "reads_sentences"]

# Far beyond what training finds. Products of two weights and sums of these stay within single
# precision, so that no finite weights in a file predict NaN.
_LARGEST_WEIGHT = 1e12

# Padding and the unknown word have ids too.
_SIZES: dict[str, Range | Choice] = {
    "vocabulary_size": Range(Integral, 2),
    "n_classes": Range(Integral, 1),
    "max_words": Range(Integral, 1),
    "valid_batch_size": Range(Integral, 1),
}
_SENTENCE_SIZES: dict[str, Range | Choice] = {
    "input_size": Range(Integral, 1),
    "n_classes": Range(Integral, 1),
    "recurrent": Choice((False, True)),
    "valid_batch_size": Range(Integral, 1),
}


def check_network(state: Mapping[str, Any]) -> NetworkOptions:
    """Check the state of a network, and return its options.

    Parameters
    ----------
    state : mapping
        As of `sk_han.training.net_state.net_to_state`.

    Returns
    -------
    NetworkOptions

    Raises
    ------
    ValueError
        If an entry is missing or invalid. Shapes of weights are compared before memory of their
        size is allocated.
    """
    options = _checked_options(state, _SIZES)
    shapes = weight_shapes(state["vocabulary_size"], state["n_classes"], options)
    check_weights(state["weights"], shapes)
    return options


def reads_sentences(state: Mapping[str, Any]) -> bool:
    """Whether a state is that of a network over sentence vectors."""
    return "input_size" in state


def check_sentence_network(state: Mapping[str, Any]) -> NetworkOptions:
    """Check the state of a network over sentence vectors, as `check_network` does."""
    options = _checked_options(state, _SENTENCE_SIZES)
    sizes = state["input_size"], state["n_classes"], state["recurrent"]
    check_weights(state["weights"], sentence_network_shapes(*sizes, options))
    return options


def _checked_options(
    state: Mapping[str, Any], sizes: Mapping[str, Range | Choice]
) -> NetworkOptions:
    lacking = sorted({*sizes, "options", "weights"} - state.keys())
    if lacking:
        raise ValueError(f"its network lacks {lacking}")
    for name, constraint in sizes.items():
        if not constraint.accepts(state[name]):
            raise ValueError(
                f"{name} of its network must be {constraint}; got {brief(state[name])}"
            )
    options = NetworkOptions.from_plain(state["options"])
    weights = state["weights"]
    if isinstance(weights, Mapping) and options.recurrent.num_layers > len(weights):
        raise ValueError(f"it has {len(weights)} arrays for {options.recurrent.num_layers} layers")
    return options


def check_weights(weights: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Check stored weights: names, shapes, single precision, finite numbers.

    Raises
    ------
    ValueError
        If one is missing or invalid.
    """
    if not isinstance(weights, Mapping):
        raise ValueError("the weights of its network are no arrays by name")
    if weights.keys() != shapes.keys():
        raise ValueError(
            f"the weights of its network lack {sorted(shapes.keys() - weights.keys())} and have "
            f"{sorted(map(str, weights.keys() - shapes.keys()))} too many"
        )
    for name, shape in shapes.items():
        weight = weights[name]
        if not isinstance(weight, np.ndarray) or (weight.shape, weight.dtype) != (
            shape,
            np.float32,
        ):
            found = (getattr(weight, "shape", None), getattr(weight, "dtype", type(weight)))
            raise ValueError(
                f"its weight {name} has the shape {found[0]} and dtype {found[1]}; its network "
                f"needs {shape} and float32"
            )
        if not np.isfinite(weight).all():
            raise ValueError(f"its weight {name} holds values that are no finite numbers")
        if max(weight.max(initial=0), -weight.min(initial=0)) > _LARGEST_WEIGHT:
            raise ValueError(f"its weight {name} holds values beyond {_LARGEST_WEIGHT:g}")
