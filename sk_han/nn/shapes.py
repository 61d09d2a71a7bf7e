"""The shapes of a network's weights, known without making it."""

from __future__ import annotations

__all__ = ["weight_shapes"]


def weight_shapes(
    vocabulary_size: int,
    n_classes: int,
    *,
    embedding_dim: int,
    word_hidden: int,
    sentence_hidden: int,
    attention_dim: int,
) -> dict[str, tuple[int, ...]]:
    """Give the shape of each weight of a `HierarchicalAttentionNetwork` of these sizes.

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
    return {
        "embedding.weight": (vocabulary_size, embedding_dim),
        **_gru("word_encoder", embedding_dim, word_hidden),
        **_attention("word_attention", 2 * word_hidden, attention_dim),
        **_gru("sentence_encoder", 2 * word_hidden, sentence_hidden),
        **_attention("sentence_attention", 2 * sentence_hidden, attention_dim),
        "output.weight": (n_classes, 2 * sentence_hidden),
        "output.bias": (n_classes,),
    }


def _gru(name: str, input_size: int, hidden_size: int) -> dict[str, tuple[int, ...]]:
    gates = 3 * hidden_size
    return {
        f"{name}.gru.{weight}_l0{direction}": shape
        for direction in ("", "_reverse")
        for weight, shape in (
            ("weight_ih", (gates, input_size)),
            ("weight_hh", (gates, hidden_size)),
            ("bias_ih", (gates,)),
            ("bias_hh", (gates,)),
        )
    }


def _attention(name: str, input_size: int, attention_dim: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{name}.weight": (attention_dim, input_size),
        f"{name}.bias": (attention_dim,),
        f"{name}.context": (attention_dim,),
    }
