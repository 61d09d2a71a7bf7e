"""Too little memory, as `ulimit -v` and containers give it."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="needs an operating system that limits memory")

# What is freed goes back to the operating system: memory that is kept would be enough for later.
NOTHING_KEPT = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

# Allows a few megabytes more than the process has, then some more, until the work is done.
LIMITED = """
import json
import resource
import sys
import numpy as np
import psutil
from sk_han.datasets import make_reviews
from tests.tiny_models import tiny

def attempt(work, megabytes):
    limit = psutil.Process().memory_info().vms + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, -1))
    try:
        work()
        return "done"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))

def attempts(work):
    found, megabytes = [], 4
    while "done" not in found:
        found.append(attempt(work, megabytes))
        megabytes *= 2
        same.append(np.array_equal(classifier.predict_proba(texts[:64]), expected))
    return found

engine = sys.argv[1]
texts, labels = make_reviews(600, random_state=0)
params = {"engine": engine, "n_threads": 2, "embedding_dim": 64, "word_hidden": 32}
classifier = tiny(**params).fit(texts[:64], labels[:64])
expected, same = classifier.predict_proba(texts[:64]), []

def predict():
    classifier.predict_proba(texts)

def explain():
    classifier.explain(texts[:512])

def fit():
    classifier.fit(texts, labels)
    classifier.from_state(before)

before = classifier.to_state()
found = {work.__name__: attempts(work) for work in (predict, explain, fit)}
print(json.dumps({"found": found, "same": same}))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_too_little_memory_raises_an_error_and_keeps_the_model(engine):
    if engine == "numba":
        pytest.importorskip("numba")
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, engine]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=NOTHING_KEPT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert all(told["same"])
    for work, found in told["found"].items():
        *refused, last = found
        assert last == "done", work
        assert refused, work
        assert [each for each in refused if not each.startswith("MemoryError")] == [], work
