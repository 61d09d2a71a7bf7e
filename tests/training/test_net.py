"""What belongs to processes rather than to an estimator."""

import os
import subprocess
import sys

import pytest

FORKED = """
import multiprocessing
import torch
from sk_han import HANClassifier

torch.set_num_threads(2)
texts, labels = ["A good day. " * 50, "A bad day. " * 50] * 20, ["pos", "neg"] * 20
classifier = HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(texts, labels)

def work(queue):
    queue.put(classifier.predict(texts[:2]).shape)
    queue.put(classifier.fit(texts, labels).n_iter_)

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
child = context.Process(target=work, args=(queue,))
child.start()
assert queue.get() == (2,)
assert queue.get() == 1
child.join()
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that forks")
def test_a_forked_process_predicts_and_fits():
    # A process that hangs fails by its time limit.
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)
