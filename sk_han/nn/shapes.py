"""The shapes of a network's weights, known without making it."""

from __future__ import annotations

from functools import partial

__all__ = ["weight_shapes"]

Shapes = dict[str, tuple[int, ...]]

GATES = {"gru": 3, "lstm": 4, "rnn": 1}


def weight_shapes(
    vocabulary_size: int,
    n_classes: int,
    *,
    embedding_dim: int,
    word_hidden: int,
    sentence_hidden: int,
    attention_dim: int,
    rnn: str = "gru",
    num_layers: int = 1,
    bidirectional: bool = True,
    pooling: str = "attention",
    attention_hops: int = 1,
    context: str | None = None,
    context_gated: bool = False,
) -> Shapes:
    """Give the shape of each weight of a `HierarchicalAttentionNetwork` of this structure.

    Stored weights are compared with it before a network is made, so that sizes which lie about
    the weights allocate nothing.

    Returns
    -------
    dict of str to tuple of int
        In the order of the network's ``state_dict``.

    Examples
    --------
    >>> from sk_han.nn.shapes import weight_shapes
    >>> sizes = {"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7, "attention_dim": 13}
    >>> weight_shapes(11, 2, **sizes)["embedding.weight"]
    (11, 3)
    """
    directions = 2 if bidirectional else 1
    word_size, sentence_size = directions * word_hidden, directions * sentence_hidden
    hops = attention_hops if pooling == "attention" else 1
    if context is None:
        word_pooling = _pooling("word_attention", pooling, word_size, attention_dim, hops)
        sentence_input = hops * word_size
    else:
        word_pooling = _context(word_size, attention_dim, context, context_gated)
        sentence_input = (2 if context == "bidirectional" else 1) * word_size
    encoder = partial(_encoder, rnn=rnn, num_layers=num_layers, bidirectional=bidirectional)
    return {
        "embedding.weight": (vocabulary_size, embedding_dim),
        **encoder("word_encoder", embedding_dim, word_hidden),
        **word_pooling,
        **encoder("sentence_encoder", sentence_input, sentence_hidden),
        **_pooling("sentence_attention", pooling, sentence_size, attention_dim, hops),
        "output.weight": (n_classes, hops * sentence_size),
        "output.bias": (n_classes,),
    }


def _encoder(
    name: str, input_size: int, hidden_size: int, *, rnn: str, num_layers: int, bidirectional: bool
) -> Shapes:
    attribute = "gru" if rnn == "gru" and num_layers == 1 and bidirectional else "rnn"
    gates = GATES[rnn] * hidden_size
    directions = ("", "_reverse") if bidirectional else ("",)
    shapes: Shapes = {}
    for layer in range(num_layers):
        below = input_size if layer == 0 else len(directions) * hidden_size
        for direction in directions:
            for weight, shape in (
                ("weight_ih", (gates, below)),
                ("weight_hh", (gates, hidden_size)),
                ("bias_ih", (gates,)),
                ("bias_hh", (gates,)),
            ):
                shapes[f"{name}.{attribute}.{weight}_l{layer}{direction}"] = shape
    return shapes


def _pooling(name: str, pooling: str, input_size: int, attention_dim: int, hops: int) -> Shapes:
    if pooling != "attention":
        return {}
    return {
        f"{name}.weight": (attention_dim, input_size),
        f"{name}.bias": (attention_dim,),
        f"{name}.context": (attention_dim,) if hops == 1 else (hops, attention_dim),
    }


def _context(input_size: int, attention_dim: int, context: str, gated: bool) -> Shapes:
    shapes: Shapes = {}
    for direction in ("forwards", "backwards") if context == "bidirectional" else ("forwards",):
        shapes |= {
            f"{direction}.weight": (attention_dim, input_size),
            f"{direction}.sentence_weight": (attention_dim, input_size),
            f"{direction}.bias": (attention_dim,),
            f"{direction}.context": (attention_dim,),
        }
        if gated:
            shapes |= {
                f"{direction}.gate_weight": (input_size,),
                f"{direction}.gate_sentence_weight": (input_size,),
                f"{direction}.gate_bias": (),
            }
    return {f"word_attention.{name}": shape for name, shape in shapes.items()}
