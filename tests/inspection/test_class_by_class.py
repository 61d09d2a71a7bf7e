import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from sk_han import explain, explain_classes
from tests.tiny_models import TEXTS, tiny

THREE = np.array(["bad", "good", "so so"] * 6)


@pytest.fixture(scope="module")
def fitted():
    return tiny(linear_ngrams=None, embedding_init="random").fit(TEXTS, THREE)


def test_each_document_is_explained_for_each_class(fitted):
    explanations = explain_classes(fitted, TEXTS[:2])
    assert [e.target for e in explanations] == ["bad", "good", "so so"] * 2
    assert explanations.numbers.tolist() == [0, 0, 0, 1, 1, 1]
    alone = explain(fitted, TEXTS[1:2], target="so so")[0]
    np.testing.assert_allclose(explanations[5].contributions, alone.contributions, atol=1e-6)


def test_chosen_classes_are_explained_in_their_order(fitted):
    explanations = explain_classes(fitted, iter(TEXTS[:2]), classes=["so so", "bad"])
    assert [e.target for e in explanations] == ["so so", "bad"] * 2
    assert [e.target for e in explain_classes(fitted, TEXTS[:1], classes="good")] == ["good"]


@pytest.mark.parametrize("container", [np.array, pd.Series, pd.Index, pl.Series, pa.array])
def test_classes_and_true_labels_come_in_any_container(fitted, container):
    labels = container(["so so", "bad"])
    explanations = explain_classes(fitted, TEXTS[:2], classes=labels, y_true=labels)
    assert [e.target for e in explanations] == ["so so", "bad"] * 2
    assert explanations.y_true.tolist() == ["so so", "so so", "bad", "bad"]


def test_true_labels_are_those_of_documents(fitted):
    explanations = explain_classes(fitted, TEXTS[:2], classes=["good", "bad"], y_true=THREE[:2])
    assert explanations.y_true.tolist() == ["bad", "bad", "good", "good"]
    with pytest.raises(ValueError, match=r"each of the 2 documents.*got the shape \(3,\)"):
        explain_classes(fitted, TEXTS[:2], y_true=THREE[:3])


def test_parameters_of_explain_are_passed_on(fitted):
    assert explain_classes(fitted, TEXTS[:1], method="occlusion")[0].method == "occlusion"
    with pytest.raises(TypeError, match="takes classes in place of target"):
        explain_classes(fitted, TEXTS[:1], target="good")
    with pytest.raises(TypeError, match="compares each class with all others"):
        explain_classes(fitted, TEXTS[:1], against="good")


def test_no_classes_and_unknown_ones_are_refused(fitted):
    with pytest.raises(ValueError, match="one class or more"):
        explain_classes(fitted, TEXTS[:1], classes=[])
    with pytest.raises(ValueError, match="target is 'bed'; the classes are"):
        explain_classes(fitted, TEXTS[:1], classes=["bed"])


def test_another_estimator_is_refused_as_by_explain():
    linear = LogisticRegression().fit([[0], [1]], [0, 1])
    with pytest.raises(TypeError, match="explain needs a HANClassifier"):
        explain_classes(linear, TEXTS)


@pytest.mark.parametrize("nothing", [None, 5])
def test_what_is_no_documents_is_named(fitted, nothing):
    with pytest.raises(TypeError, match=f"raw text documents expected; got {nothing}"):
        explain_classes(fitted, nothing)
