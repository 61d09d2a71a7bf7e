"""Hashing by ONNX operators finds the n-grams that the n-gram model finds."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.parts.ngrams.hashing import hash_ngrams
from sk_han.persistence.onnx.graph import Graph, Sequences
from sk_han.persistence.onnx.ngrams import NgramBuckets
from sk_han.persistence.onnx.parity import feeds

VOCABULARY_SIZE = 100_003
RAGGED = [[3, 1, 7], [], [1], [2, 2, 5, 1]]


def documents_of(shapes):
    random = np.random.default_rng(0)
    return DocumentArray.from_nested(
        [[random.integers(1, VOCABULARY_SIZE, n).tolist() for n in shape] for shape in shapes]
    )


def ngrams(documents, ngram_range):
    """Run the operators; return the document and the bucket of each n-gram."""
    onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    graph = Graph(onnx)
    words = Sequences(graph, "words_per_sentence")
    sentences = Sequences(graph, "sentences_per_document")
    document = graph.add("Gather", sentences.of_token, words.of_token)
    buckets, rows = NgramBuckets(
        graph, "word_ids", words.of_token, document, VOCABULARY_SIZE
    ).of_range(*ngram_range)
    graph.name(buckets, "buckets")
    graph.name(rows, "documents")
    inputs = {name: (np.int64, [f"n_{name}"]) for name in feeds(documents)}
    outputs = {name: (np.int64, ["n_ngrams"]) for name in ("documents", "buckets")}
    model = graph.model(inputs, outputs, {}, "1")
    session = runtime.InferenceSession(model.SerializeToString())
    return session.run(None, feeds(documents))


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 3), (3, 3), (1, 5), (8, 9)])
@pytest.mark.parametrize("shapes", [RAGGED, [[1]], [[], []], [[2], [1]]])
def test_n_grams_and_their_documents_are_those_of_the_model(shapes, ngram_range):
    documents = documents_of(shapes)
    found = sorted(zip(*(part.tolist() for part in ngrams(documents, ngram_range)), strict=True))
    buckets, first_words = hash_ngrams(documents, ngram_range)
    rows = np.repeat(np.arange(len(documents)), documents.words_per_document)[first_words]
    assert found == sorted(zip(rows.tolist(), buckets.tolist(), strict=True))


def test_pairs_stay_within_their_sentences():
    # 22 words in 8 sentences
    assert len(ngrams(documents_of(RAGGED), (1, 2))[0]) == 22 + 14
