"""Pretrained word vectors on the rows of their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sk_han.embeddings import embedding_matrix

VOCABULARY = {"film": 2, "fine": 3, "dull": 4, "joy": 5}
VECTORS = {"fine": [3.0, 0.0, 4.0], "joy": [4.0, 3.0, 0.0], "bread": [9.0, 9.0, 9.0]}


def matrix_of(vectors: Any, vocabulary: Any = VOCABULARY, embedding_dim: int = 3) -> np.ndarray:
    return embedding_matrix(vectors, vocabulary, embedding_dim, np.random.RandomState(0))


def test_each_vector_stands_on_the_row_of_its_word() -> None:
    matrix = matrix_of(VECTORS)
    assert matrix.dtype == np.float32
    assert matrix.shape == (6, 3)
    assert matrix[3].tolist() == VECTORS["fine"]
    assert matrix[5].tolist() == VECTORS["joy"]


def test_rows_follow_the_highest_id_where_ids_have_gaps() -> None:
    assert matrix_of(VECTORS, {"fine": 3, "joy": 11}).shape == (12, 3)


def test_words_without_a_vector_are_as_large_as_those_with_one() -> None:
    vocabulary = {f"word{i}": i for i in range(2, 1009)} | {"fine": 1009}
    matrix = matrix_of(VECTORS, vocabulary)
    assert matrix[:1009].std() == pytest.approx(np.std(VECTORS["fine"]), rel=0.1)


def test_same_seed_gives_the_same_rows() -> None:
    assert np.array_equal(matrix_of(VECTORS), matrix_of(VECTORS))


def test_vectors_may_come_from_anything_that_answers_in_and_brackets() -> None:
    class Vectors:
        def __contains__(self, word: str) -> bool:
            return word in VECTORS

        def __getitem__(self, word: str) -> np.ndarray:
            return np.array(VECTORS[word], dtype=np.float64)

    assert np.array_equal(matrix_of(Vectors()), matrix_of(VECTORS))


def test_no_known_word_is_refused_with_some_of_the_words() -> None:
    with pytest.raises(ValueError, match=r"lower case .* First words: \['film', 'fine', 'dull'"):
        matrix_of({"FINE": [3.0, 0.0, 4.0]})


def test_vectors_of_another_size_are_refused_with_the_size_to_set() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\), but embedding_dim=5"):
        matrix_of(VECTORS, embedding_dim=5)


@pytest.mark.parametrize("vector", [3.0, [3.0], [[3.0, 0.0, 4.0]]])
def test_one_vector_of_another_shape_is_a_value_error(vector: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        matrix_of({"fine": vector, "joy": [4.0, 3.0, 0.0]})


def test_numbers_in_place_of_vectors_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="shape"):
        matrix_of({"fine": 3.0, "joy": 4.0})
