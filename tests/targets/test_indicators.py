"""Columns of labels as users give them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.tiny_models import tiny

TEXTS = ["A good day. The sun shone.", "A bad day. The rain fell."]
MARKS = np.array([[0, 1, 1], [1, 0, 0]])
FRAME = pd.DataFrame(MARKS, columns=["late", "broken", "good"])
TWO = pd.DataFrame([[0, 1], [1, 0]], columns=["late", "good"])


def fitted(y, **params):
    return tiny(validation_fraction=None, **params).fit(TEXTS, y)


@pytest.fixture(scope="module")
def expected():
    return fitted(MARKS).predict_proba(TEXTS)


@pytest.mark.parametrize(
    "y",
    [
        MARKS.tolist(),
        MARKS.astype(float),
        MARKS.astype(bool),
        MARKS.astype(object),
        sparse.csr_matrix(([0, 1, 1, 1], [0, 1, 2, 0], [0, 3, 4]), shape=(2, 3)),
    ],
    ids=["list", "floats", "booleans", "objects", "sparse with a zero"],
)
def test_columns_of_zeros_and_ones_are_labels(y, expected):
    classifier = fitted(y)
    assert classifier.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)


@pytest.mark.parametrize("dtype", ["bool", "boolean", "Int8"])
def test_column_names_are_label_names_in_any_order(dtype, expected):
    y = FRAME.astype(dtype)
    classifier = fitted(y)
    assert classifier.classes_.tolist() == ["late", "broken", "good"]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)
    in_other_order = y[["good", "late", "broken"]]
    assert classifier.score(TEXTS, in_other_order) == classifier.score(TEXTS, y)
    losses = [
        tiny().fit(TEXTS, y, X_val=TEXTS, y_val=y_val).history_[-1]["valid_loss"]
        for y_val in (y, in_other_order)
    ]
    assert losses[0] == losses[1]


def test_an_indicator_of_one_label_per_document_warns():
    texts, one_hot = [f"Day {i}." for i in range(20)], np.eye(3, dtype=int)[np.arange(20) % 3]
    model = tiny(validation_fraction=None)
    with pytest.warns(UserWarning, match=r"Each document has exactly one label.*argmax"):
        model.fit(texts, one_hot)
    model.fit(texts[:19], one_hot[:19])
    one_hot[7] = 1
    model.fit(texts, one_hot)


@pytest.mark.parametrize(("constant", "documents"), [(1, "all documents"), (0, "no document")])
def test_labels_of_no_document_or_of_all_warn(constant, documents):
    message = f"1 of 2 labels cannot be learnt, since {documents}"
    with pytest.warns(UserWarning, match=message):
        fitted(np.array([[0, constant], [1, constant]]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[0, 2], [1, 0]]), "holds 2; an indicator"),
        (np.array([[0, -1], [1, 0]]), "holds -1, as where labels are missing"),
        (np.array([[0, np.nan], [1, 0]]), "holds nan, as where labels are missing"),
        (TWO.astype("Int8").replace(0, pd.NA), "holds nan, as where labels are missing.*Give 0"),
        (np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 0], [1, 0]]), "masked .* position 1, 0"),
        (np.zeros((2, 3)), "0 throughout"),
        (np.zeros((2, 0)), "has 0 columns"),
        (sparse.csr_matrix([[1], [0]]), "1 column; an indicator of several labels has two"),
        (np.zeros((3, 2)), "2 documents in X, 3 rows in y"),
        (np.array([["a", "b"], ["c", "d"]]), "an indicator holds 1 where"),
        ([["late"], ["late", "good"]], "binarizer.fit_transform"),
        ([{"late"}, {"good"}], "binarizer.fit_transform"),
        (TWO.set_axis(["a", "a"], axis=1), "'a' twice"),
        (TWO.set_axis(["a", 1], axis=1), "all strings or all integers"),
    ],
)
def test_invalid_indicator_columns_are_refused_with_the_repair(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(y)


def test_columns_other_than_those_of_the_fit_are_refused():
    classifier = fitted(FRAME)
    with pytest.raises(ValueError, match=r"not labels of this classifier: 'new'"):
        classifier.score(TEXTS, FRAME.rename(columns={"good": "new"}))
    with pytest.raises(ValueError, match="has 2 columns, and this classifier has 3"):
        classifier.score(TEXTS, MARKS[:, :2])
    with pytest.raises(ValueError, match=r"^y_val lacks columns of .*classifier: 'good'; its"):
        tiny().fit(TEXTS, FRAME, X_val=TEXTS, y_val=FRAME[["late", "broken"]])


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"lost": 1.0}, "names 'lost'"),
        ({"late": -1.0}, "of 'late' is -1.0"),
        ([{0: 1, 1: 2}], "for each of the 3 labels"),
        ([{0: 1, 2: 2}] * 3, "for each of the 3 labels"),
    ],
)
def test_weights_of_other_labels_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        fitted(FRAME, class_weight=class_weight)


def test_a_column_of_classes_is_no_indicator():
    with pytest.raises(ValueError, match=r"threshold=0\.3 applies only to several labels"):
        fitted(["a", "b"], threshold=0.3)
