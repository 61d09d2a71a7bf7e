"""Weights of training documents."""

from __future__ import annotations

import traceback
from enum import Enum
from typing import Any

import numpy as np
import pytest

from sk_han._validation.labels import document_weights

CLASSES = np.array(["bad", "good"])
LABELS = np.array(["good", "bad", "good", "good", "good"])
Kind = Enum("Kind", {"GOOD": "good", "BAD": "bad"}, type=str)


def weights_of(sample_weight: Any = None, class_weight: Any = None) -> np.ndarray:
    return document_weights(sample_weight, class_weight, LABELS, CLASSES)


@pytest.mark.parametrize(
    ("sample_weight", "class_weight", "expected"),
    [
        (None, None, [1, 1, 1, 1, 1]),
        (3, None, [3, 3, 3, 3, 3]),
        (None, {"bad": 3, "good": 0.5}, [0.5, 3, 0.5, 0.5, 0.5]),
        (None, {"bad": np.float16(3)}, [1, 3, 1, 1, 1]),
        (None, {Kind.GOOD: 2, Kind.BAD: 3}, [2, 3, 2, 2, 2]),
        (None, {"bad": 3, "good": 2, "awful": 9}, [2, 3, 2, 2, 2]),  # of no document of a fold
        # 5 documents, 2 classes: 5 / (2 * 4) for good, 5 / (2 * 1) for bad.
        (None, "balanced", [0.625, 2.5, 0.625, 0.625, 0.625]),
        ([1, 2, 0, 3, 1], {"bad": 5, "good": 7}, [7, 10, 0, 21, 7]),
        ([1e300] * 5, None, [1e300] * 5),
        ([1e-300, 2e-300, 0, 0, 0], None, [1e-300, 2e-300, 0, 0, 0]),
    ],
)
def test_sample_and_class_weights_multiply(
    sample_weight: Any, class_weight: Any, expected: list[float]
) -> None:
    weights = weights_of(sample_weight, class_weight)
    assert weights.dtype == np.float64
    assert weights.tolist() == expected


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1, 1, 1], r"sample_weight.shape == \(3,\), expected \(5,\)"),
        ([1, 1, -1, 1, 1], "Negative values in data passed to `sample_weight`"),
        ([1, 1, np.nan, 1, 1], "sample_weight contains NaN"),
        ([1, 1, np.inf, 1, 1], "sample_weight contains infinity"),
        ([1, 1, 10**400, 1, 1], "sample_weight: .*too large"),
        ([1, 1, 1e300, 1, 0], r"range from 1 to 1e\+300, too far .* a weight of 0"),
        ([1, 1, 1e-200, 1, 0], "range from 1e-200 to 1, too far"),
        ([0, 0, 0, 0, 0], "zero"),  # scikit-learn 1.9 says it before we do
    ],
)
def test_bad_sample_weights_are_refused(sample_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weights_of(sample_weight)


def test_texts_passed_as_weights_are_not_quoted() -> None:
    text = "A secret."
    with pytest.raises(ValueError, match=r"the third argument.*X_unlabelled=texts") as caught:
        weights_of([text] * 5)
    assert text not in "".join(traceback.format_exception(caught.value))


def test_weights_of_classes_and_of_documents_are_distinguished() -> None:
    with pytest.raises(TypeError, match=r"a number for each document; got .*class_weight="):
        weights_of("balanced")
    with pytest.raises(ValueError, match=r"class_weight=.*a list is for several labels"):
        weights_of(class_weight=[1, 2])


@pytest.mark.parametrize("digits", [["-1", "10"], ["1", "01"], ["1.0", "1"]])
def test_strings_of_digits_have_class_weights(digits: list[str]) -> None:
    labels = np.array([digits[0], digits[1], digits[0]])
    weights = document_weights(None, {digits[0]: 2, digits[1]: 3}, labels, np.unique(labels))
    assert weights.tolist() == [2, 3, 2]


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], [-5, 7], np.array([3, 9], np.uint8)])
def test_numbers_have_class_weights(labels: Any) -> None:
    labels = np.array(labels)
    first, second = labels.tolist()
    assert document_weights(None, {first: 2, second: 3}, labels, labels).tolist() == [2, 3]
    by_numpy = {labels[0]: 2, labels[1]: 3}
    assert document_weights(None, by_numpy, labels, labels).tolist() == [2, 3]


def test_a_class_without_documents_takes_nothing_from_balanced_ones() -> None:
    weights = document_weights(None, "balanced", LABELS, np.array(["awful", *CLASSES]))
    assert weights.tolist() == weights_of(class_weight="balanced").tolist()


def test_class_weights_of_unknown_classes_are_named() -> None:
    message = "class_weight names 'fine', 3, .* no weight of 'good'; the classes are 'bad', 'good'"
    with pytest.raises(ValueError, match=message):
        weights_of(class_weight={"fine": 2, 3: 1, "bad": 1})


@pytest.mark.parametrize(
    ("sample_weight", "class_weight", "message"),
    [
        (None, {"bad": 0, "good": 0}, "class_weight"),
        (None, {"bad": -1, "good": 1}, "class_weight"),
        (None, {"bad": 10**400}, r"class_weight of 'bad' is 10+; weights are >= 0"),
        ([1e-50, 1e200, 0, 0, 0], {"bad": 1e200, "good": 1}, "range from 1e-50 to inf, too far"),
    ],
)
def test_bad_class_weights_are_refused(
    sample_weight: Any, class_weight: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        weights_of(sample_weight, class_weight)


def test_a_masked_weight_is_missing() -> None:
    masked = np.ma.masked_array(np.ones(5), mask=[0, 0, 0, 1, 0])
    with pytest.raises(ValueError, match="sample_weight has masked values, the first at position"):
        document_weights(masked, None, LABELS, CLASSES)
