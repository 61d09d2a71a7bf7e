"""Texts of words that nobody has seen: ``from tests.inflected_texts import inflected``."""

import random

import numpy as np


def inflected(n, seed=0):
    """Return texts of invented words with a stem that says the label, and endings nobody knows."""
    rng = random.Random(seed)
    stems = {0: ["glimp", "farod", "sulen"], 1: ["trask", "mobil", "kerut"]}

    def letters(n):
        return "".join(rng.choice("aeioubdfgklmnprst") for _ in range(n))

    labels = [number % 2 for number in range(n)]
    texts = [
        " ".join([letters(4), rng.choice(stems[label]) + letters(3), letters(5)])
        for label in labels
    ]
    return texts, np.array(labels)
