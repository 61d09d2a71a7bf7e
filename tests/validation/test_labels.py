"""Labels of training documents, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from tests.tiny_models import tiny

TEXTS = ["A good film.", "A bad film.", "Dull."]


def test_a_column_is_read_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector"):
        classifier = tiny().fit(TEXTS * 4, np.array([["bad"], ["good"], ["bad"]] * 4))
    assert classifier.classes_.tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        ([1, "a", 2], TypeError, r"y mixes .* \['number', 'str'\]. Give all labels one type"),
        ([True, 1, 0], TypeError, r"y mixes labels of different types: \['bool', 'number'\]"),
        ([None, None, None], ValueError, "y contains missing labels"),
        (["bad", float("nan"), "good"], ValueError, "y contains missing labels"),
        (pd.Series(["bad", None, "good"]), ValueError, "y contains missing labels"),
        (pd.Series(["bad", None, "good"], dtype="category"), ValueError, "y contains missing la"),
        (pl.Series(["bad", None, "good"]), ValueError, "y contains missing labels"),
        ([0.0, np.nan, 1.0], ValueError, "y contains missing labels .* position .;"),
        ([0.0, np.inf, 1.0], ValueError, "y contains missing labels .* position .;"),
        (pd.Series([1, None, 2], dtype="Int64"), ValueError, "y contains missing labels"),
        (pl.Series([1, None, 2]), ValueError, "y contains missing labels"),
        ([0.5, 1.2, 2.2], ValueError, "Unknown label type: continuous"),
        (np.zeros((3, 1, 2), int), ValueError, "array with dim 3, while dim <= 2 is required"),
        ([["a"], ["b", "c"], []], TypeError, "y holds a collection of labels for each document"),
        ([0, 1], ValueError, "3 documents in X, 2 labels in y"),
    ],
)
def test_bad_labels_are_refused(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tiny().fit(TEXTS, y)


def test_errors_name_the_labels_that_were_given() -> None:
    with pytest.raises(
        ValueError, match=r"^classes must be a list or array of labels.* got an int"
    ):
        tiny().partial_fit(TEXTS, [0, 1, 0], classes=2)
    with pytest.raises(ValueError, match="3 documents in X_val, 2 labels in y_val"):
        tiny().fit(TEXTS, [0, 1, 0], X_val=TEXTS, y_val=[0, 1])
    with pytest.raises(TypeError, match="y_val mixes labels"):
        tiny().fit(TEXTS, [0, 1, 0], X_val=TEXTS, y_val=[0, "a", 1])


@pytest.mark.parametrize("values", [["bad", "good", "bad"], [1, 0, 1], [0.0, 1.0, 1.0]])
def test_a_value_behind_a_mask_is_missing(values: list[Any]) -> None:
    masked = np.ma.masked_array(values, mask=[False, True, False])
    for y, groups in ((masked, None), (["a", "b", "a"], masked)):
        with pytest.raises(ValueError, match="masked values, the first at position 1"):
            tiny().fit(TEXTS, y, groups=groups)
