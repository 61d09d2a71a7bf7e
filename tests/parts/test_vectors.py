"""The part of sentence vectors, held against numbers worked out by hand."""

import numpy as np
import pytest

from sk_han import DocumentArray, SentenceArray
from sk_han._documents import Coalitions
from sk_han._parts.vectors import VectorModel, document_vectors

# Documents of 2, 0 and 1 sentences, of 1, 16 and 2 words.
NESTED = [[[2], 16 * [3]], [], [[2, 3]]]
VECTORS = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 5.0]], dtype=np.float32)
MODEL = VectorModel(
    center=np.array([0.5, 0.25]),
    weights=np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]]),
    intercept=np.array([0.1, 0.2, 0.3]),
)


def sentences(rows=slice(None)):
    return SentenceArray(DocumentArray.from_nested(NESTED), VECTORS)[rows]


def random_documents(seed=0):
    rng = np.random.default_rng(seed)
    nested = [[[2] * rng.integers(1, 9) for _ in range(n)] for n in (5, 0, 1, 3)]
    documents = DocumentArray.from_nested(nested)
    return SentenceArray(documents, rng.normal(size=(documents.n_sentences, 2)))


def test_document_vectors_are_weighted_sums_of_length_1():
    # 1 * (3, 0) + 2 * (0, 2) = (3, 4), of length 5.
    np.testing.assert_allclose(document_vectors(sentences()), [[0.6, 0.8], [0, 0], [0, 1]])


def test_logits_are_linear_in_the_vector_less_the_center():
    first = np.array([0.1, 0.55]) @ MODEL.weights + MODEL.intercept
    found = MODEL.logits(sentences())
    np.testing.assert_allclose(found, [first, MODEL.intercept, [-0.4, 1.7, 1.55]])


def test_scores_of_a_document_do_not_depend_on_other_documents():
    whole = MODEL.logits(random_documents())
    for row in range(4):
        alone = MODEL.logits(random_documents()[[row]])
        np.testing.assert_allclose(alone, whole[[row]], atol=1e-12)


def test_opposite_sentences_give_a_zero_vector():
    opposite = SentenceArray.from_vectors([[[1.0, 2.0], [-1.0, -2.0]]])
    np.testing.assert_array_equal(document_vectors(opposite), [[0, 0]])
    assert np.isfinite(MODEL.logits(opposite)).all()


def test_sets_of_sentences_score_like_documents_of_these_sentences():
    documents, rng = random_documents(), np.random.default_rng(1)
    sets = [rng.permutation(5)[:n] for n in (0, 1, 3, 5)] + [[5], [], [8, 6], [7]]
    lengths = np.array([len(each) for each in sets])
    coalitions = Coalitions(np.concatenate(sets).astype(int), lengths)
    found = MODEL.coalitions(documents, coalitions)
    np.testing.assert_allclose(found, MODEL.logits(coalitions.documents(documents)), atol=1e-12)
    kept = np.isin(np.repeat(np.arange(9), documents.words_per_sentence), [0, 2, 5, 6])
    shorten = MODEL.logits(documents.keep_words(kept))
    same = Coalitions(np.array([0, 2, 5, 6]), np.array([2, 0, 1, 1]))
    np.testing.assert_allclose(MODEL.coalitions(documents, same), shorten, atol=1e-12)


def test_contributions_of_words_sum_to_the_score():
    documents = random_documents()
    factors = np.random.default_rng(2).normal(size=(4, 3))
    words = MODEL.attributions(documents, factors)
    sums = np.bincount(np.repeat(np.arange(4), documents.words_per_document), words, minlength=4)
    expected = ((MODEL.logits(documents) - MODEL.intercept) * factors).sum(axis=1)
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    sentence = np.repeat(np.arange(9), documents.words_per_sentence)
    means = np.bincount(sentence, words) / np.bincount(sentence)
    np.testing.assert_allclose(words, means[sentence], atol=1e-12)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_rescaling_all_vectors_does_not_change_scores(factor):
    scaled = SentenceArray(DocumentArray.from_nested(NESTED), factor * VECTORS)
    np.testing.assert_allclose(MODEL.logits(scaled), MODEL.logits(sentences()), rtol=1e-6)
