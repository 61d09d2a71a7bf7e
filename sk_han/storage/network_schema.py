"""What the state of a network holds, of words or of sentence vectors."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from sk_han.options.base import Choice, InstanceOf, Options, Range
from sk_han.options.network import NetworkOptions
from sk_han.options.shapes import Shapes, sentence_network_shapes, weight_shapes
from sk_han.storage.schema import Array, Field, OptionsOf, Schema, Size, Sizes, Variants, check
from sk_han.utils.model_format import LARGEST_NUMBER


def check_weights(weights: Mapping[str, Any], shapes: Shapes, where: str = "network") -> None:
    """Check names, shapes and values of weights, before memory of their size is taken."""
    kinds = {
        name: Array("float32", " ".join(map(str, shape)), -LARGEST_NUMBER, LARGEST_NUMBER)
        for name, shape in shapes.items()
    }
    fields = tuple(Field(name, kind) for name, kind in kinds.items())
    check(Schema(fields), weights, f"{where}.weights")


def _options_of(state: Mapping[str, Any], where: str) -> NetworkOptions:
    """Return options whose shapes are no more than there are weights."""
    options, weights = NetworkOptions.from_plain(state["options"]), state["weights"]
    if options.recurrent.num_layers > len(weights):
        raise ValueError(
            f"its {where}.weights are {len(weights)} arrays for {options.recurrent.num_layers} "
            "layers"
        )
    return options


def _check_weights_of_words(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    options = _options_of(state, where)
    check_weights(state["weights"], weight_shapes(sizes["V"], sizes["K"], options), where)


def _check_weights_of_vectors(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    options = _options_of(state, where)
    shapes = sentence_network_shapes(sizes["E"], sizes["K"], state["recurrent"], options)
    check_weights(state["weights"], shapes, where)


def network_of(options: type[Options]) -> Schema:
    """Return the schema of a network whose sizes the state around it tells.

    A rule there compares the weights, by `check_weights`.
    """
    return Schema((Field("options", OptionsOf(options)), Field("weights", InstanceOf(Mapping))))


# What tells an encoder from others: its vectors of p sentences.
ENCODER = Schema((Field("name", InstanceOf(str)), Field("vectors", Array("float32", "p E"))))
_OF_BOTH = (
    Field("n_classes", Size("K")),
    Field("valid_batch_size", Range(Integral, 1)),
    *network_of(NetworkOptions).fields,
)
# V word ids (padding and the unknown word have some too), K classes, E numbers of a vector.
NETWORK = Variants(
    "reads",
    {
        "words": Schema(
            (Field("vocabulary_size", Size("V", 2)), Field("max_words", Range(Integral, 1)))
            + _OF_BOTH,
            (_check_weights_of_words,),
        ),
        "vectors": Schema(
            (Field("input_size", Size("E")), Field("recurrent", Choice((False, True)))) + _OF_BOTH,
            (_check_weights_of_vectors,),
        ),
    },
)
