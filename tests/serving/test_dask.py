"""Two worker processes of Dask predict and search as one process does."""

import os
import signal

import dask
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import sk_han
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer
from tests.tiny_models import fitted_classifier, tiny

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
pytestmark = pytest.mark.thorough

TEXTS, LABELS = make_reviews(1000, random_state=0)  # enough for a tokenizer of two processes


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.han"
    sk_han.save(fitted_classifier(), path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Give a table of Dask whose file has several partitions."""
    path = tmp_path_factory.mktemp("tables") / "reviews.jsonl"
    pd.DataFrame({"text": TEXTS}).to_json(path, orient="records", lines=True)
    table = dd.read_json(path, lines=True, blocksize=path.stat().st_size // 4)
    assert table.npartitions > 3
    return table


def mapped(texts, path, before=lambda: None):
    """Predict a column of Dask by a scorer that each worker loads once."""

    def predicted(texts, scorer):  # pickled by value, so that workers import no test
        before()
        return scorer.predict_frame(texts)

    scorer, none = dask.delayed(Scorer.load)(path), Scorer.load(path).predict_frame([])
    return texts.map_partitions(predicted, scorer, meta=none)


def assert_are_those_of_the_model(found, path):
    scorer = Scorer.load(path)
    assert found["prediction"].tolist() == scorer.predict(TEXTS).tolist()
    np.testing.assert_allclose(found.iloc[:, 1:], scorer.predict_proba(TEXTS), atol=1e-6)


def test_partitions_are_predicted_as_by_one_process(client, path, table):
    found = mapped(table["text"], path)
    assert list(found.columns) == ["prediction", "probability_neg", "probability_pos"]
    assert_are_those_of_the_model(found.compute(), path)


def test_another_worker_predicts_the_partition_of_a_killed_one(client, path, table, tmp_path):
    mark = tmp_path / "killed"

    def die_once():
        if not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

    found = mapped(table["text"], path, before=die_once).compute()
    assert_are_those_of_the_model(found, path)
    assert int(mark.read_text()) not in client.run(os.getpid).values()


def test_a_search_has_the_scores_of_one_process(client):
    search = GridSearchCV(tiny(), {"lr": [1e-9, 0.02]}, cv=2, scoring="neg_log_loss", refit=False)
    expected = search.fit(TEXTS, LABELS).cv_results_["mean_test_score"].tolist()
    assert len(set(expected)) > 1
    with joblib.parallel_config("dask"):
        found = search.fit(TEXTS, LABELS).cv_results_["mean_test_score"].tolist()
    assert found == pytest.approx(expected, rel=1e-5)
