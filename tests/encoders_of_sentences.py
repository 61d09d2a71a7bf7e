"""Small sentence encoders for tests, called as those of several libraries."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

NAMED = "tests.encoders_of_sentences:HashEncoder"


class HashEncoder:
    """Sums of random vectors of words; counts its calls and sentences."""

    def __init__(self, size: int = 12, seed: int = 0) -> None:
        self.size, self.seed = size, seed
        self.calls: list[list[str]] = []

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        self.calls.append(list(sentences))
        return np.stack([self._vector(sentence) for sentence in sentences])

    def __deepcopy__(self, memo: Any) -> HashEncoder:
        raise RuntimeError("an encoder must not be copied")

    def _vector(self, sentence: str) -> NDArray[np.float32]:
        found = np.zeros(self.size, dtype=np.float32)
        for word in sentence.lower().replace(".", " ").replace("!", " ").split():
            rng = np.random.default_rng(crc32(word.encode()) + self.seed)
            found += rng.normal(size=self.size).astype(np.float32)
        return found / max(float(np.linalg.norm(found)), 1e-9)


class SessionEncoder(HashEncoder):
    """Can be neither copied nor pickled after its first call, as one that holds a session."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        self.session = Lock()
        return super().encode(sentences)


class StreamEncoder(HashEncoder):
    """The same vectors one by one, as fastembed yields them."""

    encode = None  # type: ignore[assignment]

    def embed(self, sentences: list[str]) -> Iterator[NDArray[np.float32]]:
        return iter(HashEncoder.encode(self, sentences))


class OtherEncoder(HashEncoder):
    """Other vectors by another name."""

    def __init__(self, size: int = 12) -> None:
        super().__init__(size, seed=1)


class DoubleEncoder(HashEncoder):
    """The same directions, twice as long."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:
        return 2 * super().encode(sentences)


def directions() -> Any:
    """Make a transformer, which a fit fits to its sentences."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))


class WrongEncoder:
    """Gives what it is told to."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def encode(self, sentences: list[str]) -> Any:
        return self.result(len(sentences))
