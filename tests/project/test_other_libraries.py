"""Other libraries take texts, or refuse them, as the pages and examples say."""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sk_han
from sk_han import HANClassifier

pytestmark = [pytest.mark.slow, pytest.mark.neighbours]
EXAMPLE = Path(__file__).parents[2] / "examples" / "with_other_libraries.py"
TEXTS = np.array(20 * ["A good day.", "A bad day.", "A day."], dtype=object)
COLUMN = TEXTS.reshape(-1, 1)
CODES = np.arange(60) % 3
QUICK = HANClassifier(embedding_dim=4, word_hidden=2, max_epochs=1, random_state=0)


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


def test_nine_of_ten_prediction_sets_hold_the_right_class(example):
    sets = example["prediction_sets"]()
    classes = example["classifier"].classes_
    covered = sets[np.arange(300), np.searchsorted(classes, example["labels"][900:])]
    assert 0.83 < covered.mean() < 0.97
    assert sets.sum(axis=1).mean() < 2


def test_a_tree_of_classifiers_predicts_a_class_of_its_group(example):
    groups, classes = example["tree_of_classes"]().T
    np.testing.assert_array_equal(groups == "unclear", classes == "neutral")
    assert (classes == example["labels"][600:]).mean() > 0.5


def test_active_learning_does_not_ask_for_labelled_documents(example):
    rows = example["next_to_label"]()
    assert len(set(rows)) == 20
    assert min(rows) >= 100


@pytest.mark.filterwarnings("ignore")  # Evidently imports what NumPy deprecates
@pytest.mark.parametrize("changed", [False, True])
def test_drift_is_found_where_the_texts_have_changed(example, changed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    german = 50 * ["Das Paket kam nie an.", "Nicht schlecht."]
    drift = example["drift_of_predictions"](german if changed else example["texts"][900:])
    assert drift["value"][0]["share"] == changed
    assert (tmp_path / "drift.html").exists()


@pytest.mark.filterwarnings("ignore")  # MLflow asks for type hints
def test_mlflow_predicts_as_the_saved_model_does(example, tmp_path):
    import mlflow

    model = QUICK.fit(TEXTS, CODES)
    sk_han.save(model, tmp_path / "reviews.han")
    example["saved_for_mlflow"](str(tmp_path / "reviews.han"), str(tmp_path / "mlflow"))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "mlflow"))
    found = loaded.predict(pd.DataFrame({"text": TEXTS[:3]}))
    np.testing.assert_array_equal(found["prediction"], model.predict(TEXTS[:3]))


def wrap(library, name, *args):
    return getattr(import_module(library), name)(*args)


NEED_NUMBERS = [
    ("hiclass", "LocalClassifierPerNode", ()),
    ("sklego.meta", "OrdinalClassifier", ()),
    ("sklego.meta", "ConfusionBalancer", ()),
    ("sklego.meta", "SubjectiveClassifier", ({0: 0.5, 1: 0.3, 2: 0.2},)),
]


@pytest.mark.parametrize(("library", "name", "args"), NEED_NUMBERS)
def test_texts_are_refused_where_numbers_are_needed(library, name, args):
    with pytest.raises(ValueError, match="could not convert string to float"):
        wrap(library, name, QUICK, *args).fit(COLUMN, CODES)


def test_queries_refuse_texts():
    with pytest.raises(ValueError, match="could not convert string to float"):
        wrap("skactiveml.pool", "RandomSampling", None).query(COLUMN, np.full(60, None))


def test_mapie_refuses_a_list_of_texts():
    mapie = wrap("mapie.classification", "SplitConformalClassifier", QUICK.fit(TEXTS, CODES))
    with pytest.raises(TypeError, match="number of features"):
        mapie.conformalize(list(TEXTS), CODES)


def test_an_ordinal_classifier_takes_row_numbers():
    by_row = make_pipeline(FunctionTransformer(TEXTS.take), QUICK)
    rows = np.arange(60).reshape(-1, 1)
    fitted = wrap("sklego.meta", "OrdinalClassifier", by_row).fit(rows, CODES)
    assert set(fitted.predict(rows)) <= {0, 1, 2}


@pytest.mark.parametrize(("name", "args"), [("Thresholder", (0.5,)), ("DecayEstimator", ())])
def test_some_estimators_of_scikit_lego_accept_lists_of_texts(name, args):
    fitted = wrap("sklego.meta", name, QUICK, *args).fit(list(TEXTS), CODES % 2)
    assert set(fitted.predict(list(TEXTS))) <= {0, 1}
