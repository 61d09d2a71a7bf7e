"""The graph of a whole classifier: network and linear models, and their pool."""

from __future__ import annotations

from typing import Any

import numpy as np

import sk_han
from sk_han.documents import UNKNOWN_ID
from sk_han.options import NetworkOptions
from sk_han.parts import Pool
from sk_han.parts.network_part import NetworkPart
from sk_han.parts.ngrams.character_model import CharacterModel
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.pool import NETWORK, Scale
from sk_han.persistence.onnx.graph import Graph, Sequences, Shaped
from sk_han.persistence.onnx.network import add_network, check_covered
from sk_han.persistence.onnx.ngrams import NgramBuckets, add_linear_model, check_ngrams_covered
from sk_han.targets import AnyOfLabels, OneOfClasses

INPUTS = {
    "word_ids": "the ids of all words in reading order, 0 < id < vocabulary size",
    "words_per_sentence": "the number of words of each sentence, none of them 0",
    "sentences_per_document": "the number of sentences of each document, 0 for an empty one",
}
OUTPUTS = {
    "probabilities": "of each document, one column a class or label",
    "word_attention": "of each word; those of a sentence sum to 1",
    "sentence_attention": "of each sentence; those of a document sum to 1",
}

# Operators that make probabilities of scores, by the kind of the target.
_PROBABILITIES: dict[str, tuple[str, dict[str, int]]] = {
    OneOfClasses.kind: ("Softmax", {"axis": 1}),
    AnyOfLabels.kind: ("Sigmoid", {}),
}


def onnx_model(onnx: Any, pool: Pool) -> Any:
    """Build the model of a fitted pool."""
    if pool.target.kind not in _PROBABILITIES:
        raise ValueError(f"export_onnx does not cover the target {pool.target.kind!r}.")
    if pool.network.kind == "sentence_network":
        raise ValueError(
            "export_onnx covers networks that read words; this one reads sentence vectors."
        )
    for name, part in pool.parts.items():
        if part.kind not in (NetworkPart.kind, NgramModel.kind):
            parameter = "linear_chars" if part.kind == CharacterModel.kind else "linear_ngrams"
            raise ValueError(
                f"export_onnx does not cover the part {name!r}, of the kind {part.kind!r}, which "
                f"{parameter}=None leaves out."
            )
    stored = pool.network.to_state()
    check_covered(NetworkOptions.from_plain(stored["options"]))
    models: dict[str, Any] = dict(pool.others.parts)
    for model in models.values():
        check_ngrams_covered(model)
    graph = Graph(onnx)
    ids = _known(graph, "word_ids", stored["vocabulary_size"])
    # Negative lengths would read beyond the words.
    words, sentences = (
        graph.add("Abs", name) for name in ("words_per_sentence", "sentences_per_document")
    )
    ids, words = _of_length(graph, ids, words), _of_length(graph, words, sentences)
    of_words, of_sentences = Sequences(graph, words), Sequences(graph, sentences)
    logits, *attentions = add_network(graph, ids, of_words, of_sentences, stored)
    total = _scaled(graph, graph.cast(logits, np.float64), pool.scales[NETWORK])
    if models:
        document = graph.add("Gather", of_sentences.of_token, of_words.of_token)
        ngrams = NgramBuckets(graph, ids, of_words.of_token, document, stored["vocabulary_size"])
        for name, model in models.items():
            logits = add_linear_model(graph, model, ngrams, of_sentences.size)
            total = graph.add("Add", total, _scaled(graph, logits, pool.scales[name]))
    operator, attributes = _PROBABILITIES[pool.target.kind]
    probabilities = graph.cast(graph.add(operator, total, **attributes), np.float32)
    # Without documents there is one of padding.
    n_documents = graph.size("sentences_per_document")
    probabilities = graph.add("Slice", probabilities, graph.constant([0]), n_documents)
    for name, value in zip(OUTPUTS, (probabilities, *attentions), strict=True):
        graph.name(value, name)
    D, N, T = "documents", "sentences", "words"
    inputs: Shaped = dict(zip(INPUTS, [(np.int64, [size]) for size in (T, N, D)], strict=True))
    shapes: list[list[int | str]] = [[D, pool.target.n_scores], [T], [N]]
    outputs: Shaped = dict(zip(OUTPUTS, [(np.float32, each) for each in shapes], strict=True))
    return graph.model(inputs, outputs, INPUTS | OUTPUTS, sk_han.__version__)


def _known(graph: Graph, word_ids: str, vocabulary_size: int) -> str:
    """Replace ids beyond the vocabulary by the unknown word."""
    above = graph.add("Greater", word_ids, graph.constant(0))
    below = graph.add("Less", word_ids, graph.constant(vocabulary_size))
    known = graph.add("And", above, below)
    return graph.add("Where", known, word_ids, graph.constant(UNKNOWN_ID))


def _of_length(graph: Graph, values: str, lengths: str) -> str:
    """Return the values; ONNX Runtime raises an error if the lengths have another sum."""
    total = graph.add("ReduceSum", lengths, keepdims=1)
    return graph.add("Reshape", values, total, allowzero=1)


def _scaled(graph: Graph, logits: str, scale: Scale) -> str:
    return graph.add("Mul", logits, graph.constant(scale, np.float64))
