"""States of a SentenceEmbedder that no fit has made."""

import numpy as np
import pytest

from sk_han import (
    HierarchicalTokenizer,
    SentenceEmbedder,
)
from sk_han.sentence_vectors._embedder import restore, state_of
from tests.tiny_models import TEXTS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokenizer", HierarchicalTokenizer()),
        ("encoder", 3),
        ("dimension", 8),
        ("dimension", "400"),
        ("fitted_encoder", {}),
        ("fitted_encoder", 3),
    ],
)
def test_a_crafted_state_is_refused(name, value):
    embedder = SentenceEmbedder().fit(TEXTS)
    with pytest.raises(ValueError):
        restore(SentenceEmbedder(), {**state_of(embedder), name: value}, None)


@pytest.mark.parametrize("name", ["vectors", "directions"])
def test_crafted_vectors_are_refused(name):
    state = state_of(SentenceEmbedder().fit(TEXTS))
    table = state["fitted_encoder"][name]
    for changed in (table[1:], table.astype(np.float64), np.full_like(table, np.inf)):
        crafted = {**state, "fitted_encoder": {**state["fitted_encoder"], name: changed}}
        with pytest.raises(ValueError, match=f"fitted_encoder.{name}"):
            restore(SentenceEmbedder(), crafted, None)
