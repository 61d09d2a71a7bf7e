"""N-grams written by somebody who knows the hash: what they cost, and what they change."""

from itertools import pairwise
from time import perf_counter

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._kernels.engine import using_engine
from sk_han._parts.ngram_model import NgramModel
from tests.ngram_models import fit_ngram_model, hash_ngrams
from tests.tiny_targets import classes


def sentence(words):
    words = np.asarray(words, dtype=np.int32)
    return DocumentArray(words, np.array([0, len(words)]), np.array([0, 1]))


def pairs_in_one_bucket():
    """Two pairs of words, all different, that share a bucket."""
    words = np.random.RandomState(0).randint(2, 50_000, 40_000)
    buckets, first = hash_ngrams(sentence(words), (2, 2))
    order = np.argsort(buckets, kind="stable")
    for one, other in pairwise(order):
        pairs = words[first[one] :][:2], words[first[other] :][:2]
        if buckets[one] == buckets[other] and len(np.unique(pairs)) == 4:
            return tuple(pair.tolist() for pair in pairs)
    raise AssertionError("no collision")


@pytest.mark.usefixtures("engine")
def test_a_colliding_ngram_counts_once():
    known, crafted = pairs_in_one_bucket()
    documents = DocumentArray.from_nested([[known], [[7, 8]]] * 4)
    data = LabelledDocuments(documents, np.array([1, 0] * 4), np.ones(8))
    model = fit_ngram_model(data, classes(2), (2, 2))
    logits = model.logits(
        DocumentArray.from_nested([[known], [crafted], [known, crafted], [known, known], [[9, 9]]])
    )
    np.testing.assert_array_equal(logits[1:4], logits[[0, 0, 0]])
    assert logits[0, 1] > logits[4, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["table before it was drawn", "neighbours", "multiples"])
def test_a_crafted_document_is_scored_in_the_time_of_another(place):
    pytest.importorskip("numba")
    n_words, n_features = 5_000, 1 << 20
    words = np.arange(2, n_features)
    buckets, first = np.unique(hash_ngrams(sentence(words), (1, 1))[0], return_index=True)
    ratios = np.ones((len(buckets), 1), dtype=np.float32)
    model = NgramModel(classes(2), (1, 1), buckets, ratios, ratios, np.zeros(1, dtype=np.float32))
    columns = np.arange(len(buckets))
    keys = {
        "table before it was drawn": (columns * 0x9E3779B1 >> 7) % (1 << 14),
        "neighbours": columns,
        "multiples": columns % (1 << 7),
    }
    crafted = sentence(words[first[np.argsort(keys[place], kind="stable")[:n_words]]])
    usual = sentence(np.random.RandomState(0).permutation(words[first])[:n_words])

    def seconds(document):
        start = perf_counter()
        model.logits(document)
        return perf_counter() - start

    with using_engine("numba"):
        seconds(usual)  # makes the look-up table
        ratios = [seconds(crafted) / seconds(usual) for _ in range(9)]
    assert np.median(ratios) < 10
