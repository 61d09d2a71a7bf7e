"""Short opinions for a sentence encoder, some in words that no training document has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han import Attention, HANClassifier

WORDS = {"neg": ["bad", "dull", "poor"], "pos": ["good", "fine", "great"]}
NEW_WORDS = {"neg": ["grim", "weak", "vile"], "pos": ["neat", "keen", "swell"]}
NOUNS = ["film", "lamp", "tent", "book", "song"]


def opinions(n_documents: int, seed: int, words: dict[str, list[str]] = WORDS) -> Any:
    """Texts of two sentences that say their class, and one to four others among them."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(words), size=n_documents)
    texts = []
    for label in labels:
        told = [f"The {rng.choice(NOUNS)} is {rng.choice(words[label])}." for _ in range(2)]
        others = [f"We saw a {rng.choice(NOUNS)}." for _ in range(rng.integers(1, 5))]
        texts.append(" ".join(rng.permutation(told + others)))
    return texts, labels


TEXTS, LABELS = opinions(120, 0)
UNSEEN, UNSEEN_LABELS = opinions(60, 1)
QUICK: dict[str, Any] = {
    "embedding_dim": 4,
    "word_hidden": 2,
    "sentence_hidden": 6,
    "pooling": Attention(size=5),
    "max_epochs": 1,
    "batch_size": 32,
    "random_state": 0,
}


def quick(**params: Any) -> HANClassifier:
    return HANClassifier(**(QUICK | params))


class Thesaurus:
    """Knows beforehand what words mean, and which sentences say nothing."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return np.array([[self._says(s, "neg"), self._says(s, "pos"), 0.1] for s in sentences])

    def _says(self, sentence: str, label: str) -> float:
        return float(any(word in sentence for word in WORDS[label] + NEW_WORDS[label]))
