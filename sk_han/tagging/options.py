"""The options of a tagging network, and the shapes of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

from sk_han.options.base import Choice, Options, Range, option
from sk_han.options.network import RNN
from sk_han.options.shapes import Shapes, encoder_shapes


@dataclass(kw_only=True)
class TaggingOptions(Options):
    """Sizes and dropout of a `TaggingNetwork`, as of `SequenceTagger`."""

    embedding_dim: int = option(50, Range(Integral, 1))
    attribute_dim: int = option(20, Range(Integral, 1))
    hidden_size: int = option(100, Range(Integral, 1))
    dropout: float = option(0.5, Range(Real, 0, 1))
    word_dropout: float = option(0.05, Range(Real, 0, 1))
    crf: bool = option(True, Choice((False, True)))


def tagging_shapes(sizes: Sequence[int], n_classes: int, options: TaggingOptions) -> Shapes:
    """Return the shape of each weight of a `TaggingNetwork`; arguments as there."""
    input_size = options.embedding_dim + options.attribute_dim * (len(sizes) - 1)
    shapes: Shapes = {
        "embedding.weight": (sizes[0], options.embedding_dim),
        "attributes.weight": (sum(sizes[1:]), options.attribute_dim),
        **encoder_shapes("encoder", input_size, options.hidden_size, RNN()),
        "output.weight": (n_classes, 2 * options.hidden_size),
        "output.bias": (n_classes,),
    }
    return shapes | ({"transitions": (n_classes + 1, n_classes)} if options.crf else {})
