"""Giants among small documents are trained on and scored; minutes of work, so marked slow."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sk_han import Attention, HANClassifier

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "giant",
    [
        "It rained all day, and we stayed in to read. " * 230_000,
        "rain and more rain " * 250_000,
        "Rain. " * 100_000,
    ],
    ids=["10 MB", "a sentence of a million words", "100,000 one-word sentences"],
)
def test_a_giant_is_trained_on_and_scored(giant):
    texts = [giant, "A good day.", "A bad day.", "A good meal."]
    classifier = HANClassifier(
        embedding_dim=8,
        word_hidden=4,
        sentence_hidden=4,
        pooling=Attention(size=8),
        max_epochs=1,
        device="cpu",
    )
    proba = classifier.fit(texts, ["bad", "good", "bad", "good"]).predict_proba(texts)
    assert np.isfinite(proba).all()


PEAK = """
import resource, torch
from sk_han.nn import HierarchicalAttentionNetwork
torch.set_num_threads(1)
network = HierarchicalAttentionNetwork(200, 2, sparse=True)
def read(n_words):
    ids, one = torch.arange(n_words) % 198 + 2, torch.tensor([1])
    network(ids, n_words * one, one).sum().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small = read(1_000)
print((read(100_000) - small) * 1024 / 100_000)
"""


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_a_giant_sentence_takes_ten_kilobytes_a_word(engine):
    found = subprocess.run(
        [sys.executable, "-c", PEAK],
        env=os.environ | {"SK_HAN_ENGINE": engine},
        check=True,
        capture_output=True,
        text=True,
    )
    assert float(found.stdout) < 10_000
