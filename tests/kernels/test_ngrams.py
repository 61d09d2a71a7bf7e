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
def test_scores_and_attributions_match_numpy(ngram_range, n_scores):
    model, documents = random_model(ngram_range, n_scores), random_documents()
    expected, found = both(lambda: model.logits(documents))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-6)
    factors = np.random.RandomState(3).normal(size=(len(documents), max(n_scores, 2)))
    expected, found = both(lambda: model.attributions(documents, factors))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("nested", [[[]], [[[7]]], [[], [[2, 3]], []]])
@pytest.mark.parametrize("n_known", [0, 7])
def test_documents_and_models_without_ngrams_are_accepted(nested, n_known):
    documents = DocumentArray.from_nested(nested)
    buckets, ratios = np.arange(n_known), np.ones((n_known, 1), dtype=np.float32)
    model = NgramModel(classes(2), (2, 3), buckets, ratios, ratios, np.ones(1, np.float32))
    expected, found = both(lambda: model.logits(documents))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    expected, found = both(lambda: model.attributions(documents, np.ones((len(documents), 2))))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_scores_do_not_depend_on_threads_or_other_documents():
    model, documents = random_model((1, 3)), random_documents()
    with using_engine("numba"):
        expected = model.logits(documents)
        with using_threads(3):
            np.testing.assert_array_equal(model.logits(documents), expected)
        alone = [model.logits(documents[i : i + 1])[0] for i in range(len(documents))]
    np.testing.assert_array_equal(alone, expected)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def at_an_odd_address(array):
    odd = np.frombuffer(b"." + array.tobytes(), dtype=np.uint8)[1:].view(array.dtype)
    assert not odd.flags.aligned
    return odd


@pytest.mark.parametrize(
    "strange", [read_only, at_an_odd_address, lambda array: np.repeat(array, 2)[::2]]
)
def test_read_only_and_strided_arrays_are_read(strange):
    model, documents = random_model((1, 3)), random_documents()
    names = "word_ids", "sentence_starts", "document_starts"
    arrays = DocumentArray(*(strange(getattr(documents, name)) for name in names))
    with using_engine("numba"):
        np.testing.assert_array_equal(model.logits(arrays), model.logits(documents))
