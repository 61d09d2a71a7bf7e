"""The shapes of a network's weights, computed without creating it."""

from __future__ import annotations

from sk_han.options.network import (
    RNN,
    Attention,
    ContextAttention,
    MultiHopAttention,
    NetworkOptions,
)

Shapes = dict[str, tuple[int, ...]]

GATES = {"gru": 3, "lstm": 4, "rnn": 1}


def weight_shapes(vocabulary_size: int, n_classes: int, options: NetworkOptions) -> Shapes:
    """Return the shape of each weight of a `HierarchicalAttentionNetwork`, in its order.

    Stored weights are compared with these before a network is created, so that wrong sizes in a
    file allocate nothing.
    """
    rnn, attention = options.recurrent, options.attention
    directions = 2 if rnn.bidirectional else 1
    word_size = directions * options.word_hidden
    sentence_size = directions * options.sentence_hidden
    hops = attention.hops if isinstance(attention, MultiHopAttention) else 1
    if isinstance(attention, ContextAttention):
        word_pooling = _context(word_size, attention)
        sentence_input = (2 if attention.direction == "bidirectional" else 1) * word_size
    else:
        word_pooling = _pooling("word_attention", attention, word_size, hops)
        sentence_input = hops * word_size
    return {
        "embedding.weight": (vocabulary_size, options.embedding_dim),
        **encoder_shapes("word_encoder", options.embedding_dim, options.word_hidden, rnn),
        **word_pooling,
        **encoder_shapes("sentence_encoder", sentence_input, options.sentence_hidden, rnn),
        **_pooling("sentence_attention", attention, sentence_size, hops),
        "output.weight": (n_classes, hops * sentence_size),
        "output.bias": (n_classes,),
        **(_labels(n_classes, word_size) if options.attends_per_label else {}),
    }


def sentence_network_shapes(
    input_size: int, n_classes: int, recurrent: bool, options: NetworkOptions
) -> Shapes:
    """Return the shape of each weight of a `SentenceNetwork`, as `weight_shapes` does."""
    rnn, attention = options.recurrent, options.attention
    size, encoder = input_size, {}
    if recurrent:
        encoder = encoder_shapes("sentence_encoder", input_size, options.sentence_hidden, rnn)
        size = (2 if rnn.bidirectional else 1) * options.sentence_hidden
    hops = attention.hops if isinstance(attention, MultiHopAttention) else 1
    return {
        "center": (input_size,),
        "scale": (input_size,),
        **encoder,
        **_pooling("sentence_attention", attention, size, hops),
        "output.weight": (n_classes, hops * size + input_size),
        "output.bias": (n_classes,),
    }


def encoder_shapes(name: str, input_size: int, hidden_size: int, rnn: RNN) -> Shapes:
    """Return the shapes of the weights of an encoder of this name."""
    attribute = "gru" if rnn == RNN() else "rnn"
    gates = GATES[rnn.cell] * hidden_size
    directions = ("", "_reverse") if rnn.bidirectional else ("",)
    shapes: Shapes = {}
    for layer in range(rnn.num_layers):
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


def _labels(n_labels: int, input_size: int) -> Shapes:
    return {f"label_attention.{name}": (n_labels, input_size) for name in ("query", "value")}


def _pooling(name: str, attention: Attention | None, input_size: int, hops: int) -> Shapes:
    if attention is None:
        return {}
    return {
        f"{name}.weight": (attention.size, input_size),
        f"{name}.bias": (attention.size,),
        f"{name}.context": (attention.size,) if hops == 1 else (hops, attention.size),
    }


def _context(input_size: int, attention: ContextAttention) -> Shapes:
    shapes: Shapes = {}
    both = attention.direction == "bidirectional"
    for direction in ("forwards", "backwards") if both else ("forwards",):
        shapes |= {
            f"{direction}.weight": (attention.size, input_size),
            f"{direction}.sentence_weight": (attention.size, input_size),
            f"{direction}.bias": (attention.size,),
            f"{direction}.context": (attention.size,),
        }
        if attention.gated:
            shapes |= {
                f"{direction}.gate_weight": (input_size,),
                f"{direction}.gate_sentence_weight": (input_size,),
                f"{direction}.gate_bias": (),
            }
    return {f"word_attention.{name}": shape for name, shape in shapes.items()}
