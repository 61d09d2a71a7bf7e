"""The cache of sentence vectors."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from sk_han.documents import EncoderFingerprint
from sk_han.sentence_vectors import cache
from sk_han.sentence_vectors.cache import VectorCache

SENTENCES = ["one", "two \ud800", "three"]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


def fingerprint():
    return EncoderFingerprint("Encoder", np.ones((2, 2), np.float32))


def test_what_was_written_is_read_by_another_process(tmp_path):
    VectorCache(tmp_path / "new" / "folder", fingerprint()).write(SENTENCES[:2], VECTORS[:2])
    found = np.zeros_like(VECTORS)
    cache = VectorCache(tmp_path / "new" / "folder", fingerprint())
    assert cache.read(SENTENCES, found).tolist() == [2]
    assert np.array_equal(found[:2], VECTORS[:2])


@pytest.fixture
def stored(tmp_path):
    cache = VectorCache(tmp_path, fingerprint())
    cache.write(SENTENCES, VECTORS)
    return cache


@pytest.fixture
def file(stored, tmp_path):
    (file,) = tmp_path.iterdir()
    return file


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"no database" * 1000,
        lambda data: data[: len(data) // 2],
        lambda data: data[:100] + b"\xff" * 100 + data[200:],
        lambda data: data[:4096] + b"\xff" * 4096 + data[8192:],
        lambda data: data.replace(b"CREATE TABLE vectors", b"CREATE TABLE \xffectors"),
        lambda data: data.replace(b"tablevectors", b"table\xffectors"),
    ],
    ids=["other", "cut off", "schema", "rows", "name", "name of a table"],
)
def test_a_damaged_file_is_named(file, damage):
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=rf"{file.name} cannot be used.*Delete it"):
        VectorCache(file.parent, fingerprint()).read(SENTENCES, np.zeros_like(VECTORS))


def test_a_flipped_bit_gives_no_other_vector(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    VectorCache(tmp_path, fingerprint()).write(SENTENCES, vectors)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    at = whole.index(vectors[1].tobytes())
    # Bits of all bytes of the rows, and of others before them.
    bits = [*range(8 * (at - 60), 8 * (at + 60), 3), *range(0, 8 * len(whole), 8 * 97 + 1)]
    n_lost = 0
    for bit in bits:
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        found = np.zeros_like(vectors)
        try:
            unknown = VectorCache(tmp_path, fingerprint()).read(SENTENCES, found)
        except ValueError:
            continue
        n_lost += len(unknown)
        known = np.delete(np.arange(3), unknown)
        np.testing.assert_array_equal(found[known], vectors[known], err_msg=f"bit {bit}")
    assert n_lost > 30


@pytest.mark.parametrize(
    "value",
    [b"abc", None, 7, "eight ch", np.full(2, np.nan, "<f4").tobytes()],
    ids=["short", "missing", "number", "text", "NaN"],
)
def test_a_row_that_is_no_vector_is_encoded_again(stored, file, value):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE vectors SET vector = ?", (value,))
    assert stored.read(SENTENCES, np.zeros_like(VECTORS)).tolist() == [0, 1, 2]


def test_a_table_of_another_program_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "sentence_vectors.sqlite")) as connection:
        connection.execute("CREATE TABLE vectors (other)")
    with pytest.raises(ValueError, match="cannot be used: no such column"):
        VectorCache(tmp_path, fingerprint()).read(SENTENCES, np.zeros_like(VECTORS))


def test_a_file_that_another_process_holds_is_not_to_be_deleted(stored, file, monkeypatch):
    monkeypatch.setattr(cache, "_PATIENCE", 0.01)
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match=r"locked\. Wait for it") as raised:
            stored.write(SENTENCES, VECTORS)
        assert "Delete" not in str(raised.value)
    stored.write(SENTENCES, VECTORS)
