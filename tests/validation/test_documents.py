"""Word ids as a user hands them over as X."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sk_han import DocumentArray, HANClassifier
from tests.tiny_models import tiny

CUBE = np.array([[[2, 3, 5], [7, 0, 0]], [[2, 0, 0], [0, 0, 0]]])
X = DocumentArray.from_nested([[[2, 3]], [[4, 3]], [[2, 3]], [[4, 3]], [[2, 900]]])
WEIGHTS = [1.0, 1, 1, 1, 0]


@pytest.fixture(scope="module")
def fitted() -> HANClassifier:
    return tiny().fit(X, [0, 1, 0, 1, 0], sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    "ids", [CUBE, CUBE.astype(np.uint8), CUBE[:, 0]], ids=["cube", "unsigned cube", "matrix"]
)
def test_padded_ids_are_documents(fitted: HANClassifier, ids: Any) -> None:
    expected = fitted.predict_proba(DocumentArray.from_padded(ids))
    np.testing.assert_array_equal(fitted.predict_proba(ids), expected)


@pytest.mark.parametrize(
    "texts", [["A fine film."], np.array([2, 3]), np.array([[2.0, 3.0]]), [[2, 3]]], ids=str
)
def test_invalid_types_are_refused_by_name(fitted: HANClassifier, texts: Any) -> None:
    name = type(texts).__name__
    with pytest.raises(TypeError, match=f"X is an? {name}, .* fitted on word ids or .* Give it "):
        fitted.predict(texts)


@pytest.mark.parametrize("nothing", [DocumentArray.from_nested([]), CUBE[:0], CUBE[:0, 0]])
def test_an_empty_list_of_documents_is_refused(fitted: HANClassifier, nothing: Any) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(nothing)


def test_ids_beyond_the_vocabulary_are_unknown_words(fitted: HANClassifier) -> None:
    assert fitted.vocabulary_size_ == 5  # a document of weight 0 does not count
    beyond = DocumentArray.from_nested([[[2, 3], [4]], [], [[5, 2, 12]], [[900]]])
    unknown = DocumentArray.from_nested([[[2, 3], [4]], [], [[1, 2, 1]], [[1]]])
    np.testing.assert_array_equal(fitted.predict_proba(beyond), fitted.predict_proba(unknown))
    assert beyond.word_ids.max() == 900  # those given are left alone
