"""Decisions and probabilities as a table, for one partition of many."""

import numpy as np
import pandas as pd
import pytest

import sk_han
from sk_han.serving import Scorer
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, tiny, with_classes


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier()


@pytest.fixture
def served(tmp_path):
    def serve(estimator):
        sk_han.save(estimator, tmp_path / "model.han")
        return Scorer.load(tmp_path / "model.han")

    return serve


@pytest.fixture
def scorer(served, classifier):
    return served(classifier)


@pytest.fixture
def of_labels(served):
    """Give a scorer of several labels, one of them with the name of a column."""
    indicator = pd.DataFrame({"prediction": LABELS == "pos", "a b": [len(t) > 14 for t in TEXTS]})
    return served(tiny(max_epochs=3, lr=0.05, threshold=[0.5, 0.3]).fit(TEXTS, indicator))


def test_a_decision_and_a_probability_of_each_class_are_those_of_predict(scorer):
    found = scorer.predict_frame(UNSEEN)
    assert list(found.columns) == ["prediction", "probability_neg", "probability_pos"]
    assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()
    np.testing.assert_array_equal(found.iloc[:, 1:], scorer.predict_proba(UNSEEN))


def test_the_index_of_pandas_is_kept(scorer):
    index = pd.Index(["b", "a", "b", *range(5)], name="id")  # "b" comes twice
    for texts in (pd.Series(UNSEEN, index=index), pd.DataFrame({"text": UNSEEN}, index=index)):
        found = scorer.predict_frame(texts)
        pd.testing.assert_index_equal(found.index, index)
        assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()


def test_a_threshold_marks_the_documents_that_are_accepted(scorer):
    confidence = scorer.predict_proba(UNSEEN).max(axis=1)
    threshold = float(np.median(confidence))
    found = scorer.predict_frame(pd.Series(UNSEEN, index=range(8, 0, -1)), threshold=threshold)
    assert list(found.columns)[:3] == ["prediction", "accepted", "probability_neg"]
    assert found["accepted"].tolist() == (confidence >= threshold).tolist()
    assert found["accepted"].nunique() == 2
    assert not scorer.predict_frame(UNSEEN, threshold=np.inf)["accepted"].any()
    blank = scorer.predict_frame(["Good.", " ", "", "\t"], threshold=0.0)
    assert blank["accepted"].tolist() == [True, False, False, False]
    none = scorer.predict_frame([], threshold=threshold)
    assert none.dtypes.tolist() == found.dtypes.tolist()


@pytest.mark.parametrize("threshold", [83, -0.1, np.nan, "0.83", True])
def test_a_threshold_that_is_no_probability_is_refused(scorer, threshold):
    with pytest.raises(ValueError, match="threshold must be a probability"):
        scorer.predict_frame(UNSEEN, threshold=threshold)


def test_refusals_are_those_of_predict(scorer, of_labels):
    with pytest.raises(TypeError, match=r"Document 1 is missing.*fillna\(''\)"):
        scorer.predict_frame(pd.Series(["Good.", None], dtype=object))
    with pytest.raises(ValueError, match=r"Put a single document into a list: \[text\]"):
        scorer.predict_frame("A good day.")
    with pytest.raises(ValueError, match="compare each probability with a threshold of its own"):
        of_labels.predict_frame(UNSEEN, threshold=0.5)


def test_each_of_several_labels_has_a_decision_and_a_probability(of_labels):
    found = of_labels.predict_frame(UNSEEN)
    names = ["prediction", "a b"]
    decisions, probabilities = (
        [f"{what}_{name}" for name in names] for what in ("prediction", "probability")
    )
    assert list(found.columns) == decisions + probabilities
    np.testing.assert_array_equal(found[decisions], of_labels.predict(UNSEEN))
    assert found[decisions].to_numpy().dtype == np.int64
    np.testing.assert_array_equal(found[probabilities], of_labels.predict_proba(UNSEEN))


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        (["prediction", "probability_prediction"], pd.Series(["text"]).dtype),
        ([3, 10], np.int64),
        ([-0.5, 2.0], np.float64),
        ([False, True], bool),
    ],
    ids=str,
)
def test_classes_keep_their_type_and_name_a_column_each(served, classifier, classes, dtype):
    scorer = served(with_classes(classifier, np.array(classes)))
    found = scorer.predict_frame(UNSEEN)
    names = ["prediction", *(f"probability_{label}" for label in classes)]
    assert list(found.columns) == names
    assert found["prediction"].dtype == dtype
    assert found["prediction"].tolist() == scorer.predict(UNSEEN).tolist()
    assert set(found.dtypes.iloc[1:]) == {np.dtype(np.float64)}


@pytest.mark.parametrize("model", ["scorer", "of_labels"])
@pytest.mark.parametrize("texts", [[], pd.Series([], dtype=float)])
def test_an_empty_partition_has_the_same_columns_and_dtypes(request, model, texts):
    scorer = request.getfixturevalue(model)
    found, expected = scorer.predict_frame(texts), scorer.predict_frame(UNSEEN)
    assert len(found) == 0
    pd.testing.assert_series_equal(found.dtypes, expected.dtypes)
