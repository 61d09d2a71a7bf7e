"""What a user hands over as X."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._validation.documents import (
    as_documents,
    holds_word_ids,
    vocabulary_size_of,
    within_vocabulary,
)
from tests.tiny_models import tiny

CUBE = np.array([[[2, 3, 5], [7, 0, 0]], [[2, 0, 0], [0, 0, 0]]])


@pytest.fixture
def tokenizer(film_reviews: list[str]) -> HierarchicalTokenizer:
    return HierarchicalTokenizer().fit(film_reviews)


@pytest.mark.parametrize(
    "X",
    [DocumentArray.from_nested([]), CUBE, CUBE.astype(np.uint8), CUBE[:, 0]],
    ids=["DocumentArray", "cube", "unsigned cube", "matrix"],
)
def test_tokenized_documents_are_known(X: Any) -> None:
    assert holds_word_ids(X)


@pytest.mark.parametrize(
    "X", [["A fine film."], np.array([2, 3]), np.array([[2.0, 3.0]]), [[2, 3]], None]
)
def test_all_else_is_taken_for_texts(X: Any) -> None:
    assert not holds_word_ids(X)


def test_documents_stay_as_they_are(
    documents: DocumentArray, tokenizer: HierarchicalTokenizer
) -> None:
    assert as_documents(documents, None) is as_documents(documents, tokenizer) is documents


@pytest.mark.parametrize("X", [["A fine film."], np.array([[2.0, 3.0]])])
def test_texts_without_a_tokenizer_are_refused_with_their_type(X: Any) -> None:
    name = type(X).__name__
    with pytest.raises(
        TypeError, match=f"X is an? {name}, .* fitted on word ids or .* Give it what"
    ):
        as_documents(X, None)


@pytest.mark.parametrize("X", [DocumentArray.from_nested([]), CUBE[:0], CUBE[:0, 0]])
def test_no_documents_are_refused(X: Any) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        as_documents(X, None)


def test_ids_beyond_the_vocabulary_become_unknown(documents: DocumentArray) -> None:
    within = within_vocabulary(documents, vocabulary_size=7)
    assert within.to_nested() == [
        [[2, 3], [4]],
        [],
        [[5, 2, 2, 1, 6, 1, 1, 1, 1, 2, 3]],
        [[3, 3], [1], [2, 4, 5, 1]],
        [[1]],
    ]
    assert documents.word_ids.max() == 12  # those given are left alone
    assert within_vocabulary(documents, vocabulary_size=13) is documents


def test_a_document_of_weight_0_does_not_count_for_the_vocabulary() -> None:
    X = DocumentArray.from_nested([[[2, 3]], [[4, 3]], [[2, 3]], [[4, 3]], [[2, 900]]])
    weights = np.array([1.0, 1, 1, 1, 0])
    found = tiny().fit(X, [0, 1, 0, 1, 0], sample_weight=weights)
    assert found.vocabulary_size_ == 5


def test_a_very_high_id_is_warned_of() -> None:
    X = DocumentArray.from_nested([[[2, 1 << 23]]])
    with pytest.warns(UserWarning, match=r"highest word id is 8,388,608.*without gaps"):
        assert vocabulary_size_of(X, None, None, None) == (1 << 23) + 1
