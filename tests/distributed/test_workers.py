"""Documents are scored by other processes, which get the model once and may die."""

import os
import signal
import sys
from threading import Event

import numpy as np
import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask
import dask.bag as db
import distributed

from sk_han.distributed import predict_proba
from sk_han.serving import Scorer
from tests.dask_workers import n_objects, on_each, two_workers, wait_until
from tests.tiny_models import TEXTS, UNSEEN, fitted_classifier

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(embedding_dim=300)  # arrays that Dask sends apart from the object


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def bag(n_partitions):
    return db.from_sequence(n_partitions * UNSEEN, npartitions=n_partitions)


def test_rows_are_those_of_the_model(client, classifier):
    found = predict_proba(classifier, bag(6)).compute()
    expected = np.tile(classifier.predict_proba(UNSEEN), (6, 1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_each_worker_holds_the_model_once_and_no_pytorch(client, classifier):
    result = predict_proba(classifier, bag(12)).persist()
    distributed.wait(result)
    held = on_each(client, lambda: n_objects(Scorer))
    assert sum(held.values()) > 0
    assert max(held.values()) == 1
    assert set(on_each(client, lambda: "torch" in sys.modules).values()) == {False}


def test_a_model_that_nobody_needs_any_more_is_dropped(client, classifier):
    predict_proba(classifier, bag(2)).compute()
    wait_until(lambda: not any(on_each(client, lambda: n_objects(Scorer)).values()))


@pytest.mark.filterwarnings("error:Sending large graph")
def test_a_large_model_is_sent_apart_from_the_graph(client):
    large = fitted_classifier(embedding_dim=60_000)
    found = predict_proba(large, bag(2)).compute()
    np.testing.assert_allclose(found[: len(UNSEEN)], large.predict_proba(UNSEEN), rtol=0, atol=1e-5)


@dask.delayed
def texts_of_one_to_be_killed(folder):
    """Wait in the first two processes that come here until these are killed."""
    for mark in ("first", "second"):
        try:
            with open(folder / mark, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            continue
        Event().wait()
    return TEXTS


def test_workers_that_are_killed_while_they_work_are_survived(client, classifier, tmp_path):
    parts = [texts_of_one_to_be_killed(tmp_path) for _ in range(6)]
    working = client.compute(predict_proba(classifier, parts))
    marks = [tmp_path / "first", tmp_path / "second"]
    wait_until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
    killed = {int(mark.read_text()) for mark in marks}
    assert len(killed) == 2  # so that no worker is left that has the model
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    found = working.result(timeout=200)
    expected = np.tile(classifier.predict_proba(TEXTS), (6, 1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert not killed & on_each(client, lambda: None).keys()
