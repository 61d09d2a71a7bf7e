"""The compiled kernel of the n-gram model against the body in NumPy."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._kernels.engine import using_engine, using_threads
from sk_han._parts.ngram_model import NgramModel
from tests.ngram_models import hash_ngrams
from tests.tiny_targets import classes

pytest.importorskip("numba")

RANGES = [(1, 1), (1, 3), (2, 2), (3, 5), (7, 9), (2, 10**12)]


def random_documents():
    """Documents of 0 to 6 sentences of 1 to 12 of 30 words, so that n-grams recur."""
    rng = np.random.RandomState(0)
    return DocumentArray.from_nested(
        [
            [rng.randint(1, 31, rng.randint(1, 13)).tolist() for _ in range(rng.randint(7))]
            for _ in range(151)
        ]
    )


def random_model(ngram_range, n_scores=1):
    """A model that knows every second n-gram of the documents; some ratios are 0."""
    rng = np.random.RandomState(0)
    buckets = np.unique(hash_ngrams(random_documents(), ngram_range)[0])[::2]
    ratios, weights = rng.normal(size=(2, len(buckets), n_scores)).astype(np.float32)
    ratios[::5] = 0
    intercept = rng.normal(size=n_scores).astype(np.float32)
    return NgramModel(
        classes(n_scores + (n_scores == 1)), ngram_range, buckets, ratios, weights, intercept
    )


def both(function):
    """What NumPy and the kernel return."""
    results = []
    for engine in ("torch", "numba"):
        with using_engine(engine):
            results.append(function())
    return results


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("ngram_range", RANGES)
def test_scores_and_attributions_are_those_of_numpy(ngram_range, n_scores):
    model, documents = random_model(ngram_range, n_scores), random_documents()
    expected, found = both(lambda: model.logits(documents))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-6)
    factors = np.random.RandomState(3).normal(size=(len(documents), max(n_scores, 2)))
    expected, found = both(lambda: model.attributions(documents, factors))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("nested", [[[]], [[[7]]], [[], [[2, 3]], []]])
def test_documents_may_hold_no_ngram(nested):
    documents = DocumentArray.from_nested(nested)
    model = random_model((2, 3))
    expected, found = both(lambda: model.logits(documents))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    expected, found = both(lambda: model.attributions(documents, np.ones((len(documents), 2))))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_model_may_know_no_ngram():
    none = np.empty((0, 1), dtype=np.float32)
    model = NgramModel(
        classes(2), (1, 2), np.empty(0, np.int64), none, none, np.ones(1, np.float32)
    )
    expected, found = both(lambda: model.logits(random_documents()))
    np.testing.assert_array_equal(found, expected)


def test_threads_change_no_bit():
    model, documents = random_model((1, 3)), random_documents()
    with using_engine("numba"):
        expected = model.logits(documents)
        with using_threads(3):
            np.testing.assert_array_equal(model.logits(documents), expected)


def test_a_document_does_not_depend_on_its_neighbours_to_the_bit():
    model, documents = random_model((1, 3)), random_documents()
    with using_engine("numba"):
        together = model.logits(documents)
        alone = [model.logits(documents[i : i + 1])[0] for i in range(len(documents))]
    np.testing.assert_array_equal(together, alone)


def test_read_only_maps_of_a_file_are_read(tmp_path):
    model, documents = random_model((1, 3)), random_documents()
    mapped = []
    for name in ("document_starts", "sentence_starts", "word_ids"):
        np.save(tmp_path / f"{name}.npy", getattr(documents, name))
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    starts, sentence_starts, word_ids = mapped
    with using_engine("numba"):
        found = model.logits(DocumentArray(word_ids, sentence_starts, starts))
        np.testing.assert_array_equal(found, model.logits(documents))


def test_arrays_with_gaps_and_odd_addresses_are_read():
    model, documents = random_model((1, 3)), random_documents()
    gaps = np.repeat(documents.word_ids, 2)[::2]
    odd = np.frombuffer(b"." + documents.word_ids.tobytes(), dtype=np.uint8)[1:].view(np.int32)
    assert not odd.flags.aligned
    for word_ids in (gaps, odd):
        strange = DocumentArray(word_ids, documents.sentence_starts, documents.document_starts)
        with using_engine("numba"):
            np.testing.assert_array_equal(model.logits(strange), model.logits(documents))
