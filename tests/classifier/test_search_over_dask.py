"""Searches over Dask's workers, by joblib's backend, give the scores of other processes."""

import joblib
import psutil
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline

from sk_han import HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.text import word_types
from tests.dask_workers import on_each, two_workers
from tests.tiny_models import tiny

pytest.importorskip("distributed", reason="the extra dask is not installed")
pytestmark = pytest.mark.thorough

TEXTS, LABELS = make_reviews(1000, random_state=0)  # enough for a tokenizer of two processes


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def spaced(sentence):
    return sentence.split()


def two_steps(**params):
    tokenizer = HierarchicalTokenizer(n_jobs=2, **params)
    return Pipeline([("tokenizer", tokenizer), ("han", tiny(lr=0.02))])


def n_threads(estimator, X, y):
    seen = []  # while the network computes
    encoder = estimator.net_.module_.sentence_encoder
    handle = encoder.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    estimator.predict(X)
    handle.remove()
    return max(seen)


def n_readers(estimator, X, y):
    return word_types._n_workers(2)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (two_steps(), {"tokenizer__max_features": [20, None]}),
        (two_steps(word_tokenizer=spaced), {"han__lr": [1e-9, 0.02]}),
        (tiny(), {"lr": [1e-9, 0.02]}),
    ],
    ids=["pipeline", "own word tokenizer", "raw texts"],
)
def test_scores_are_those_of_loky(client, model, grid):
    def scores(backend):
        with joblib.parallel_config(backend=backend):
            search = GridSearchCV(model, grid, cv=2, n_jobs=2, scoring="neg_log_loss", refit=False)
            return search.fit(TEXTS, LABELS).cv_results_["mean_test_score"].tolist()

    found = scores("dask")
    assert len(set(found)) > 1
    assert found == pytest.approx(scores("loky"), rel=1e-5)


def test_a_task_keeps_to_the_thread_that_it_owns(client):
    scoring = {"threads": n_threads, "readers": n_readers}
    with joblib.parallel_config(backend="dask"):
        found = cross_validate(tiny(), TEXTS, LABELS, cv=4, scoring=scoring)
    assert found["test_threads"].tolist() == 4 * [1]
    assert found["test_readers"].tolist() == 4 * [1]
    children = on_each(client, lambda: len(psutil.Process().children()))
    assert set(children.values()) == {0}
