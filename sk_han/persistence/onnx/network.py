"""The network as ONNX operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.options import RNN, ContextAttention, NetworkOptions
from sk_han.persistence.onnx.graph import Graph, Sequences

Weights = Mapping[str, NDArray[np.float32]]

_OPERATORS = {"gru": "GRU", "lstm": "LSTM", "rnn": "RNN"}
# PyTorch's gates r, z, n of a GRU and i, f, g, o of an LSTM, in the order that ONNX gives them.
_GATES = {"gru": [1, 0, 2], "lstm": [0, 3, 1, 2], "rnn": [0]}
_LOWEST = np.finfo(np.float32).min  # no -inf: a sequence without tokens would get NaN


def check_covered(options: NetworkOptions) -> None:
    """Check that there are operators for the network."""
    attention = options.attention
    if isinstance(attention, ContextAttention):
        found = "pooling=ContextAttention(...)"
    elif attention is not None and attention.normalizer != "softmax":
        found = f"normalizer={attention.normalizer!r}"
    elif options.attends_per_label:
        found = "Attention(per_label=True), which many labels have by default"
    elif options.pooling in ("max", "last"):
        found = f"pooling={options.pooling!r}"
    else:
        return
    raise ValueError(
        f"export_onnx does not cover {found}. It covers every rnn, with pooling 'attention', "
        "'mean', Attention or MultiHopAttention, the last two with normalizer='softmax'. "
        "sk_han.serving.Scorer covers all."
    )


def add_network(
    graph: Graph, word_ids: str, words: Sequences, sentences: Sequences, state: Mapping[str, Any]
) -> tuple[str, str, str]:
    """Add the operators of a network of word ids (T,); return logits and both attentions."""
    options, weights = NetworkOptions.from_plain(state["options"]), state["weights"]
    vectors = graph.constant(weights["embedding.weight"], np.float32)
    padded = graph.add("Concat", word_ids, graph.constant([0]), axis=0)  # where there is no word

    def level(name: str, table: str, index: str, sequences: Sequences) -> tuple[str, str]:
        """Encode and pool the rows of a table at an index (L, N)."""
        inputs = graph.add("Gather", table, index)  # (L, N, E)
        encoder = f"{name}_encoder"
        states = _encoded(graph, inputs, sequences, options.recurrent, weights, encoder)
        own = {
            key.removeprefix(f"{name}_attention."): weight
            for key, weight in weights.items()
            if key.startswith(f"{name}_attention.")
        }
        return _pooled(graph, states, sequences, own)

    index = graph.add("Gather", padded, graph.add("Transpose", words.index, perm=[1, 0]))
    pooled, of_words = level("word", vectors, index, words)
    index = graph.add("Transpose", sentences.index, perm=[1, 0])
    pooled, of_sentences = level("sentence", pooled, index, sentences)
    kernel = graph.constant(weights["output.weight"], np.float32)
    bias = graph.constant(weights["output.bias"], np.float32)
    return graph.add("Gemm", pooled, kernel, bias, transB=1), of_words, of_sentences


def _encoded(
    graph: Graph, inputs: str, sequences: Sequences, rnn: RNN, weights: Weights, name: str
) -> str:
    """Encode inputs of shape (L, N, E), return states of shape (N, L, H)."""
    prefix = f"{name}.{'gru' if rnn == RNN() else 'rnn'}"
    directions = ("", "_reverse") if rnn.bidirectional else ("",)
    states = ""
    for layer in range(rnn.num_layers):
        if layer:
            inputs = graph.add("Transpose", states, perm=[1, 0, 2])  # (L, N, H)

        def both(kind: str, layer: int = layer) -> NDArray[np.float32]:
            found = [weights[f"{prefix}.{kind}_l{layer}{direction}"] for direction in directions]
            return np.stack([_reordered(weight, rnn.cell) for weight in found])

        bias = np.concatenate([both("bias_ih"), both("bias_hh")], axis=1)
        tables = (both("weight_ih"), both("weight_hh"), bias)
        H = tables[1].shape[2]
        attributes: dict[str, Any] = {
            "hidden_size": H,
            "direction": "bidirectional" if rnn.bidirectional else "forward",
        }
        if rnn.cell == "gru":
            attributes["linear_before_reset"] = 1  # as PyTorch has it
        constants = [graph.constant(table, np.float32) for table in tables]
        operator = _OPERATORS[rnn.cell]
        found = graph.add(operator, inputs, *constants, sequences.lengths, **attributes)
        found = graph.add("Transpose", found, perm=[2, 0, 1, 3])  # (N, L, directions, H)
        states = graph.add("Reshape", found, graph.constant([0, 0, len(directions) * H]))
    return states


def _reordered(weight: NDArray[np.float32], cell: str) -> NDArray[np.float32]:
    gates = np.split(weight, len(_GATES[cell]))
    return np.concatenate([gates[number] for number in _GATES[cell]])


def _pooled(graph: Graph, states: str, sequences: Sequences, own: Weights) -> tuple[str, str]:
    """Pool states of shape (N, L, H); return vectors (N, R * H) and attention (T,)."""
    if own:
        weights = _attention(graph, states, sequences, own)  # (N, L, R)
    else:
        filled = graph.cast(sequences.filled, np.float32)
        n_tokens = graph.add("Unsqueeze", sequences.n_tokens, graph.constant([2]))
        weights = graph.add("Div", filled, n_tokens)
    hops = graph.add("Transpose", weights, perm=[0, 2, 1])
    vectors = graph.add("MatMul", hops, states)  # (N, R, H)
    vectors = graph.add("Flatten", vectors, axis=1)
    if own and own["context"].ndim > 1:
        weights = graph.add("ReduceMean", weights, graph.constant([2]))  # of the hops
    weights = graph.add("Reshape", weights, graph.constant([-1]))
    return vectors, graph.add("Gather", weights, sequences.tokens)


def _attention(graph: Graph, states: str, sequences: Sequences, own: Weights) -> str:
    """Return the weights of tokens, (N, L, R); those of padding are 0."""
    context = np.atleast_2d(own["context"])  # (R, A)
    kernel = graph.constant(own["weight"].T, np.float32)
    flat = graph.add("Reshape", states, graph.constant([-1, own["weight"].shape[1]]))
    # Padding takes no time, but for one row, since there may be no token at all.
    rows = graph.add("Concat", sequences.tokens, graph.constant([0]), axis=0)
    flat = graph.add("Gather", flat, rows)  # (T + 1, H)
    hidden = graph.add("MatMul", flat, kernel)
    hidden = graph.add("Tanh", graph.add("Add", hidden, graph.constant(own["bias"], np.float32)))
    scores = graph.add("MatMul", hidden, graph.constant(context.T, np.float32))  # (T + 1, R)
    scores = graph.add("Gather", scores, sequences.index)  # (N, L, R)
    lowest = graph.constant(_LOWEST, np.float32)
    scores = graph.add("Where", sequences.filled, scores, lowest)
    weights = graph.add("Softmax", scores, axis=1)
    return graph.add("Where", sequences.filled, weights, graph.constant(0, np.float32))
