"""Many threads with one model, calls that a refit overtakes, and processes with copies."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from sk_han import explain_iter
from sk_han.nn import HierarchicalAttentionNetwork
from tests import tiny_models
from tests.tiny_models import UNSEEN, fitted_classifier

WORDS = ["it", "was", "a", "good", "bad", "day", "film", "meal", "long", "dull", "rain", "we"]
LABELS = ["pos", "neg"] * 16

tiny = partial(tiny_models.tiny, max_epochs=2)


def texts_of(seed, n_documents=32):
    rng = np.random.RandomState(seed)
    return [" ".join(rng.choice(WORDS, rng.randint(1, 60))) + "." for _ in range(n_documents)]


def in_threads(work, arguments):
    """Call `work` for all arguments at the same time."""
    together = Barrier(len(arguments))

    def start(argument):
        together.wait()
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as threads:
        return list(threads.map(start, arguments))


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(texts_of(0), LABELS)


class TestThreads:
    def test_eight_threads_predict_the_same_bits_with_one_model(self, fitted):
        batches = [texts_of(seed, 40) for seed in range(8)]
        expected = [fitted.predict_proba(texts) for texts in batches]
        for _ in range(5):
            for found, alone in zip(
                in_threads(fitted.predict_proba, batches), expected, strict=True
            ):
                np.testing.assert_array_equal(found, alone)

    def test_eight_threads_explain_the_same_with_one_model(self, fitted):
        batches = [texts_of(seed) for seed in range(8)]
        expected = [fitted.explain(texts) for texts in batches]
        assert in_threads(fitted.explain, batches) == expected

    @pytest.mark.thorough
    def test_models_fitted_in_threads_equal_models_fitted_in_sequence(self):
        def fit(seed):
            classifier = tiny().set_params(random_state=seed).fit(texts_of(seed), LABELS)
            return classifier.predict_proba(texts_of(99))

        expected = [fit(seed) for seed in range(4)]
        np.testing.assert_array_equal(in_threads(fit, range(4)), expected)

    def test_threads_predict_while_another_model_learns(self, fitted):
        expected = fitted.predict_proba(texts_of(1))

        def work(number):
            if number == 0:
                tiny().fit(texts_of(2), LABELS)
            return fitted.predict_proba(texts_of(1))

        for found in in_threads(work, range(4)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky"])
def test_worker_processes_give_the_scores_of_one_process(backend):
    def scores(n_jobs):
        return cross_val_score(
            tiny(), texts_of(0), LABELS, cv=2, n_jobs=n_jobs, scoring="neg_log_loss"
        )

    with joblib.parallel_config(backend):
        # Not to the bit: workers compute on fewer threads, which add in another order.
        np.testing.assert_allclose(scores(2), scores(1), rtol=1e-5)


FORKED_IN_TRAFFIC = """
import os
import signal
import sys
import time
from threading import Event, Thread
import numpy as np
from sk_han.datasets import make_reviews
from tests.tiny_models import tiny

texts, labels = make_reviews(200, random_state=0)
classifier = tiny(engine=sys.argv[1], n_threads=2).fit(texts, labels)
expected = classifier.predict_proba(texts)
stop = Event()

def traffic():
    while not stop.is_set():
        classifier.predict_proba(texts)

threads = [Thread(target=traffic) for _ in range(2)]
for thread in threads:
    thread.start()
fates = []
for number in range(15):
    time.sleep(0.013 * (number % 4))
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # the default action ends a process that waits
        # Not to the bit: a forked process computes on one thread.
        same = np.allclose(classifier.predict_proba(texts), expected, rtol=0, atol=1e-6)
        os._exit(not same)
    fates.append(os.waitpid(pid, 0)[1])
stop.set()
for thread in threads:
    thread.join()
sys.exit(any(fates))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that forks")
@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_processes_forked_while_threads_predict_give_the_same_results(engine):
    if engine == "numba":
        pytest.importorskip("numba")
    command = [sys.executable, "-W", "ignore", "-c", FORKED_IN_TRAFFIC, engine]
    assert subprocess.run(command, timeout=280).returncode == 0


OTHER_TEXTS = ["rain and rain", "sun or shade", "snow. wind."] * 6
OTHER_LABELS = ["wet", "dry", "cold"] * 6


def refitted_while_read(classifier, texts):
    """Yield texts, before which the classifier is fitted to other ones."""
    classifier.fit(OTHER_TEXTS, OTHER_LABELS)
    yield from texts


METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform"]


@pytest.mark.parametrize("method", METHODS)
def test_a_call_during_a_refit_uses_the_former_model(method):
    classifier = fitted_classifier()
    expected = getattr(classifier, method)(UNSEEN)
    found = getattr(classifier, method)(refitted_while_read(classifier, UNSEEN))
    np.testing.assert_array_equal(found, expected)
    assert list(classifier.classes_) == ["cold", "dry", "wet"]


def test_explain_iter_continues_with_the_former_model_during_a_refit():
    classifier = fitted_classifier()
    expected = classifier.explain(UNSEEN, batch_size=1)
    found = explain_iter(classifier, UNSEEN, batch_size=1)
    begun = next(found)
    classifier.fit(OTHER_TEXTS, OTHER_LABELS)
    assert [begun, *found] == list(expected)


def test_a_state_taken_during_a_refit_belongs_to_one_fit(monkeypatch):
    classifier = fitted_classifier()
    original = HierarchicalAttentionNetwork.to_plain

    def overtaken(network):
        classifier.fit(OTHER_TEXTS, OTHER_LABELS)
        return original(network)

    monkeypatch.setattr(HierarchicalAttentionNetwork, "to_plain", overtaken)
    expected = classifier.predict_proba(UNSEEN)
    state = classifier.to_state()
    np.testing.assert_array_equal(tiny().from_state(state).predict_proba(UNSEEN), expected)
