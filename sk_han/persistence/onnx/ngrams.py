"""The linear models as ONNX operators: hashed n-grams, each once a document.

Hashing multiplies and shifts unsigned integers of 64 bits, whose products wrap.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sk_han.parts.ngrams.hashing import BITS, MIX_1, MIX_2
from sk_han.parts.ngrams.model import NgramModel
from sk_han.persistence.onnx.graph import Graph

_LONGEST = 16  # words of an n-gram: each length takes operators of its own


def check_ngrams_covered(model: NgramModel) -> None:
    """Check that the n-grams of a model are not too long for a graph."""
    if model.ngram_range[1] > _LONGEST:
        raise ValueError(
            f"export_onnx covers n-grams of up to {_LONGEST} words; the model has linear_ngrams="
            f"{model.ngram_range}. sk_han.serving.Scorer covers all."
        )


class NgramBuckets:
    """The n-grams of words (T,): their hash values, and the documents they are of."""

    def __init__(
        self,
        graph: Graph,
        word_ids: str,
        sentence_of_word: str,
        document_of_word: str,
        vocabulary_size: int,
    ) -> None:
        self._graph, self._sentence, self._document = graph, sentence_of_word, document_of_word
        with np.errstate(over="ignore"):
            mixed = np.arange(vocabulary_size, dtype=np.uint64) * MIX_1
        mixed ^= mixed >> np.uint64(29)
        # What a word's hash depends on is its id alone.
        self._mixed = graph.add("Gather", self._unsigned(mixed), word_ids)
        self._hashes = [self._mixed]
        self._found: dict[int, tuple[str, str]] = {}

    def of_range(self, smallest: int, largest: int) -> tuple[str, str]:
        """Return bucket and document of every n-gram, shape (n_ngrams,) each."""
        sizes = range(smallest, largest + 1)
        buckets, documents = zip(*[self._of_size(n) for n in sizes], strict=True)
        concat = partial(self._graph.add, "Concat", axis=0)
        return concat(*buckets), concat(*documents)

    def _of_size(self, n: int) -> tuple[str, str]:
        if n not in self._found:
            graph, hashes = self._graph, self._hash(n)
            products = graph.add("Mul", hashes, self._unsigned(MIX_1))
            buckets = graph.cast(self._shifted(products, 64 - BITS), np.int64)
            documents = self._slice(self._document, end=n - 1)
            if n > 1:
                first = self._slice(self._sentence, end=n - 1)
                last = self._slice(self._sentence, start=n - 1)
                within = graph.add("Equal", first, last)  # a sentence
                buckets = graph.add("Compress", buckets, within, axis=0)
                documents = graph.add("Compress", documents, within, axis=0)
            self._found[n] = buckets, documents
        return self._found[n]

    def _hash(self, n: int) -> str:
        graph = self._graph
        while len(self._hashes) < n:
            before = self._slice(self._hashes[-1], end=1)
            product = graph.add("Mul", before, self._unsigned(MIX_2))
            total = graph.add("Add", product, self._slice(self._mixed, start=len(self._hashes)))
            self._hashes.append(graph.add("BitwiseXor", total, self._shifted(total, 31)))
        return self._hashes[n - 1]

    def _slice(self, values: str, *, start: int = 0, end: int = 0) -> str:
        """Leave out as many values at the start or at the end."""
        if not start and not end:
            return values
        stop = -end if end else np.iinfo(np.int64).max
        bounds = self._graph.constant([start]), self._graph.constant([stop])
        return self._graph.add("Slice", values, *bounds)

    def _shifted(self, values: str, bits: int) -> str:
        return self._graph.add("BitShift", values, self._unsigned(bits), direction="RIGHT")

    def _unsigned(self, values: Any) -> str:
        return self._graph.constant(values, np.uint64)


def add_linear_model(
    graph: Graph, model: NgramModel, ngrams: NgramBuckets, n_documents: str
) -> str:
    """Add the operators of a linear model; return its logits, float64 of shape (D, K)."""
    n_features, n_scores = model.weights.shape
    buckets, documents = ngrams.of_range(*model.ngram_range)
    columns = np.full(1 << BITS, n_features, dtype=np.int32)  # unknown n-grams have zeros
    columns[model.buckets] = np.arange(n_features)
    column = graph.cast(graph.add("Gather", graph.constant(columns, np.int32), buckets), np.int64)
    document, column = _each_once(graph, document=documents, column=column, n=n_features + 1)
    # One table, so that the memory of an n-gram is looked up once.
    table = np.hstack([model.weights, model.ratios**2])
    table = np.vstack([table, np.zeros_like(table, shape=(1, table.shape[1]))])
    values = graph.add("Gather", graph.constant(table, np.float32), column)
    sums = _sums(graph, values, document, n_documents, table.shape[1])
    axis = graph.constant([1])
    bounds = [graph.constant([bound]) for bound in (0, n_scores, table.shape[1])]
    scores = graph.add("Slice", sums, bounds[0], bounds[1], axis)
    lengths = graph.add("Sqrt", graph.add("Slice", sums, bounds[1], bounds[2], axis))
    positive = graph.add("Greater", lengths, graph.constant(0, np.float64))
    lengths = graph.add("Where", positive, lengths, graph.constant(1, np.float64))
    scores = graph.add("Div", scores, lengths)
    scores = graph.add("Add", scores, graph.constant(model.intercept, np.float64))
    if n_scores == 1:
        scores = graph.add("Mul", scores, graph.constant([-0.5, 0.5], np.float64))
    return scores


def _each_once(graph: Graph, *, document: str, column: str, n: int) -> tuple[str, str]:
    """Return the distinct pairs of document and column, which is below `n`."""
    factor = graph.constant(n)
    pairs = graph.add("Add", graph.add("Mul", document, factor), column)
    size = graph.size(pairs)
    # Sorted, equal ones are neighbours; Unique takes several times as long.
    pairs = graph.add("TopK", pairs, size, largest=0, n_outputs=2)
    before = graph.add("Concat", graph.constant([-1]), pairs, axis=0)
    before = graph.add("Slice", before, graph.constant([0]), graph.constant([-1]))
    new = graph.add("Not", graph.add("Equal", pairs, before))
    pairs = graph.add("Compress", pairs, new, axis=0)
    document = graph.add("Div", pairs, factor)
    return document, graph.add("Sub", pairs, graph.add("Mul", document, factor))


def _sums(graph: Graph, values: str, document: str, n_documents: str, n_columns: int) -> str:
    """Sum the rows of each document in double precision, (D, n_columns)."""
    shape = graph.add("Concat", n_documents, graph.constant([n_columns]), axis=0)
    rows = graph.add("Unsqueeze", document, graph.constant([1]))
    doubles = graph.cast(values, np.float64)
    return graph.add("ScatterND", graph.zeros(shape, np.float64), rows, doubles, reduction="add")
