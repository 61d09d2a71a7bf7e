"""Word vectors learnt from co-occurrence, held against counts by a loop and NumPy's SVD."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sk_han import DocumentArray
from sk_han.embeddings import learn_embeddings


def learnt(nested, vocabulary_size, embedding_dim, seed=0):
    """Vectors of the words 2, 3, ..., (vocabulary_size - 2, embedding_dim), 0 where none is."""
    vocabulary = {f"word{number}": number for number in range(2, vocabulary_size)}
    documents = DocumentArray.from_nested(nested)
    vectors = learn_embeddings(
        documents, vocabulary, embedding_dim=embedding_dim, random_state=seed
    )
    nothing = np.zeros(embedding_dim)
    return np.array([vectors.get(word, nothing) for word in vocabulary])


def plural(nested, vocabulary_size):
    """Count neighbours with loops."""
    counts = np.zeros((vocabulary_size, vocabulary_size))
    for document in nested:
        words = [word for sentence in document for word in sentence]
        for i, left in enumerate(words):
            for distance, right in enumerate(words[i + 1 : i + 6], start=1):
                if left > 1 and right > 1:
                    counts[left, right] += 1 / distance
                    counts[right, left] += 1 / distance
    return counts[2:, 2:]


def cosines(vectors):
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


@pytest.mark.parametrize("embedding_dim", [2, 3, 5])
def test_vectors_are_the_svd_of_positive_pointwise_mutual_information(embedding_dim):
    words = np.random.RandomState(0).randint(1, 11, size=90)  # 1 is unknown
    nested = [[part[:4].tolist(), part[4:].tolist()] for part in words.reshape(9, 10)] + [[]]
    counts = plural(nested, 11)
    of_word = counts.sum(axis=1)
    of_context = of_word**0.75 / (of_word**0.75).sum()
    with np.errstate(divide="ignore"):
        information = np.maximum(np.log(counts / np.outer(of_word, of_context)), 0)
    left, values, _ = np.linalg.svd(information)
    assert values[embedding_dim - 1] > 1.05 * values[embedding_dim]  # or either might be the last
    expected = left[:, :embedding_dim] * np.sqrt(values[:embedding_dim])
    vectors = learnt(nested, 11, embedding_dim)
    np.testing.assert_allclose(cosines(vectors), cosines(expected), atol=1e-4)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, 0.1 * embedding_dim**0.5, rtol=1e-5)


def test_the_number_of_threads_changes_no_bit():
    ranks = np.exp(np.random.RandomState(0).rand(100_000) * np.log(2_998))
    nested = (2 + ranks.astype(np.int32)).reshape(1_000, 1, 100).tolist()
    vectors = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            vectors.append(learnt(nested, 3_000, 100))
    np.testing.assert_array_equal(*vectors)
