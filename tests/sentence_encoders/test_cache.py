"""The cache of sentence vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sk_han.documents import EncoderFingerprint
from sk_han.sentence_encoders import VectorCache

SENTENCES = ["one", "two \ud800", "three"]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


def fingerprint(value: float = 1.0) -> EncoderFingerprint:
    return EncoderFingerprint("Encoder", np.full((2, 2), value, np.float32))


def test_what_was_written_is_read_by_another_process(tmp_path: Path) -> None:
    VectorCache(tmp_path / "new" / "folder", fingerprint()).write(SENTENCES[:2], VECTORS[:2])
    found = np.zeros_like(VECTORS)
    cache = VectorCache(tmp_path / "new" / "folder", fingerprint())
    assert cache.read(SENTENCES, found).tolist() == [2]
    assert np.array_equal(found[:2], VECTORS[:2])


def test_vectors_of_another_encoder_are_not_found(tmp_path: Path) -> None:
    VectorCache(tmp_path, fingerprint()).write(SENTENCES, VECTORS)
    other = VectorCache(tmp_path, fingerprint(1.0001))
    assert other.read(SENTENCES, np.zeros_like(VECTORS)).tolist() == [0, 1, 2]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    VectorCache(tmp_path, fingerprint()).write(SENTENCES, VECTORS)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(ValueError, match=file.name):
        VectorCache(tmp_path, fingerprint())
