"""The options of a translation network, and the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

from sk_han.options.base import Options, Range, option
from sk_han.options.network import RNN
from sk_han.options.shapes import Shapes, encoder_shapes


@dataclass(kw_only=True)
class TranslationOptions(Options):
    """Sizes and dropout of an `AttentionSeq2Seq`, as of `AttentionTranslator`.

    The word vectors of the target are the weights of the output too (Press and Wolf, 2017), so the
    vector from which a word is predicted has their size.
    """

    embedding_dim: int = option(256, Range(Integral, 1))
    hidden_size: int = option(256, Range(Integral, 1))
    attention_size: int = option(128, Range(Integral, 1))
    dropout: float = option(0.3, Range(Real, 0, 1))


def translation_shapes(source_size: int, target_size: int, options: TranslationOptions) -> Shapes:
    """Return the shape of each weight of an `AttentionSeq2Seq`; arguments as there."""
    E, Q, A = options.embedding_dim, options.hidden_size, options.attention_size
    H = 2 * options.hidden_size
    return {
        "embedding.weight": (source_size, E),
        "target_embedding.weight": (target_size, E),
        **encoder_shapes("encoder", E, options.hidden_size, RNN()),
        "start.weight": (Q, H),
        "start.bias": (Q,),
        "key.weight": (A, H),
        "key.bias": (A,),
        "cell.weight_ih": (3 * Q, 2 * E),
        "cell.weight_hh": (3 * Q, Q),
        "cell.bias_ih": (3 * Q,),
        "cell.bias_hh": (3 * Q,),
        "query.weight": (A, Q),
        "context": (A,),
        "output.weight": (E, Q + H),
        "output.bias": (E,),
        "output_bias": (target_size,),
    }
