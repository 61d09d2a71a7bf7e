"""Columns of labels as users give them."""

import numpy as np
import pytest

from sk_han._targets import fit_target
from tests.tiny_models import tiny

TEXTS = ["A good day. The sun shone.", "A bad day. The rain fell."]
MARKS = np.array([[0, 1, 1], [1, 0, 0]])


def fitted(y, **params):
    return tiny(validation_fraction=None, **params).fit(TEXTS, y)


@pytest.fixture(scope="module")
def expected():
    return fitted(MARKS).predict_proba(TEXTS)


@pytest.mark.parametrize(
    "y",
    [
        np.array([[0, 1, 1], [1, 0, 0]]),
        [[0, 1, 1], [1, 0, 0]],
        np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]),
        np.array([[False, True, True], [True, False, False]]),
        np.array([[0, 1, 1], [1, 0, 0]], dtype=object),
    ],
)
def test_columns_of_zeros_and_ones_are_labels(y, expected):
    classifier = fitted(y)
    assert classifier.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)


@pytest.mark.parametrize("dtype", ["int64", "bool", "boolean", "Int8", "float32"])
def test_names_of_columns_are_names_of_labels_in_any_order(dtype, expected):
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame(dict(zip(["late", "broken", "good"], MARKS.T, strict=True))).astype(dtype)
    classifier = fitted(y)
    assert classifier.classes_.tolist() == ["late", "broken", "good"]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), expected)
    in_other_order = y[["good", "late", "broken"]]
    assert classifier.score(TEXTS, in_other_order) == classifier.score(TEXTS, y)
    given = {"X_val": TEXTS, "y_val": in_other_order}
    of_other = tiny().fit(TEXTS, y, **given).history_[-1]["valid_loss"]
    assert of_other == tiny().fit(TEXTS, y, X_val=TEXTS, y_val=y).history_[-1]["valid_loss"]


def test_sparse_indicators_with_explicit_zeros_are_read(expected):
    sparse = pytest.importorskip("scipy.sparse")
    y = sparse.csr_matrix(([0, 1, 1, 1], [0, 1, 2, 0], [0, 3, 4]), shape=(2, 3))
    np.testing.assert_array_equal(fitted(y).predict_proba(TEXTS), expected)


@pytest.mark.parametrize("dtype", ["boolean", "Int8", "Float64"])
def test_a_missing_mark_of_a_nullable_column_is_told(dtype):
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame({"late": [1, 0], "good": [0, 1]}).astype(dtype)
    y.iloc[1, 0] = pandas.NA
    with pytest.raises(ValueError, match=r"holds nan, as where labels are missing.*Give 0"):
        fitted(y)


def test_a_sparse_column_is_no_indicator_of_several_labels():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="y has 1 column; an indicator of several labels has two"):
        fitted(sparse.csr_matrix([[1], [0]]))


def test_an_indicator_of_one_label_a_document_is_doubted():
    one_hot = np.eye(3, dtype=int)[np.arange(20) % 3]
    with pytest.warns(UserWarning, match=r"Each document has exactly one label.*argmax"):
        fit_target(one_hot, 20)
    fit_target(one_hot[:19], 19)
    one_hot[7] = 1
    fit_target(one_hot, 20)


def test_labels_that_no_document_or_each_has_are_told():
    with pytest.warns(UserWarning, match="1 of 2 labels cannot be learnt, since all documents"):
        fitted(np.array([[0, 1], [1, 1]]))
    with pytest.warns(UserWarning, match="1 of 2 labels cannot be learnt, since no document"):
        fitted(np.array([[0, 0], [1, 0]]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[0, 2], [1, 0]]), "holds 2; an indicator"),
        (np.array([[0, -1], [1, 0]]), "holds -1, as where labels are missing"),
        (np.array([[0, np.nan], [1, 0]]), "holds nan, as where labels are missing"),
        (np.zeros((2, 3)), "0 throughout"),
        (np.zeros((2, 0)), "has 0 columns"),
        (np.zeros((3, 2)), "2 documents in X, 3 rows in y"),
        (np.array([["a", "b"], ["c", "d"]]), "an indicator holds 1 where"),
        ([["late"], ["late", "good"]], "binarizer.fit_transform"),
        ([{"late"}, {"good"}], "binarizer.fit_transform"),
        ([("late",), ("good",)], "binarizer.fit_transform"),
    ],
)
def test_other_columns_are_refused_with_the_repair(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(y)


def test_names_that_are_not_distinct_or_of_two_types_are_refused():
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="'a' twice"):
        fitted(y.set_axis(["a", "a"], axis=1))
    with pytest.raises(TypeError, match="all strings or all integers"):
        fitted(y.set_axis(["a", 1], axis=1))


def test_a_mark_behind_a_mask_is_not_read():
    y = np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="y has masked values, the first at position 1, 0"):
        fitted(y)
    y.mask = False
    fitted(y)


def test_other_columns_than_those_of_the_fit_are_refused():
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame(MARKS, columns=["late", "broken", "good"])
    classifier = fitted(y)
    with pytest.raises(ValueError, match=r"not labels of this classifier: 'new'"):
        classifier.score(TEXTS, y.rename(columns={"good": "new"}))
    with pytest.raises(ValueError, match="has 2 columns, and this classifier has 3"):
        classifier.score(TEXTS, MARKS[:, :2])
    with pytest.raises(ValueError, match=r"^y_val lacks columns of .*classifier: 'good'; its"):
        tiny().fit(TEXTS, y, X_val=TEXTS, y_val=y[["late", "broken"]])


def test_labels_that_a_message_leaves_out_are_counted():
    pandas = pytest.importorskip("pandas")
    names = [f"t{i:02}" for i in range(30)]
    y = pandas.DataFrame(np.repeat(np.eye(2, dtype=int), 15, axis=1), columns=names)
    rest = r"'t05', 't06' and 1 more; its labels are 't00', .* 't19' and 10 more\.$"
    with pytest.raises(ValueError, match=rf"lacks .*: 't02', .*{rest}"):
        fitted(y).score(TEXTS, y[names[:2] + names[8:]])


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
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=message):
        fitted(
            pandas.DataFrame(MARKS, columns=["late", "broken", "good"]), class_weight=class_weight
        )


def test_a_column_of_classes_is_no_indicator():
    with pytest.raises(ValueError, match=r"threshold=0\.3 is for several labels"):
        fitted(["a", "b"], threshold=0.3)
