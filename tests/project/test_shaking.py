"""Shaken runs (tests/shaking.py): every drawn weight is a little off, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import tiny_models, tiny_pairs, tiny_sentences
from tests.shaking import SIZE, shaking

STILL = 1e-20  # a rate at which no weight is trained


def words(**params):
    return tiny_models.tiny(lr=STILL, **params).fit(tiny_models.TEXTS, tiny_models.LABELS)


def pairs():
    return tiny_pairs.tiny(lr=STILL).fit(*tiny_pairs.pairs())


def tags():
    tagger = tiny_sentences.tiny_tagger(lr=STILL, max_epochs=1)
    return tagger.fit(tiny_sentences.X, tiny_sentences.Y)


NETWORKS = {
    "words": words,
    "words drawn": lambda: words(embedding_init="random"),
    "translation": pairs,
    "tagging": tags,
}


@pytest.mark.thorough
@pytest.mark.parametrize("fitted", NETWORKS.values(), ids=NETWORKS.keys())
def test_all_weights_that_a_network_starts_from_are_shaken(fitted: Callable) -> None:
    plain = fitted().net_.weights
    with shaking(7):
        shaken = fitted().net_.weights
    for name, weight in plain.items():
        drawn = np.abs(weight) > 1e-12  # others are zero, or a step away from it
        ratios = shaken[name][drawn] / weight[drawn].astype(float)
        assert np.allclose(ratios, 1, rtol=0, atol=8 * SIZE), name
        assert drawn.sum() < 5 or ratios.std() > SIZE / 3, name
