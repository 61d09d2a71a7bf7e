"""A cache of sentence vectors in a file, by encoder and sentence."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import EncoderFingerprint
from sk_han.documents.sentences import rows_beyond_limit
from sk_han.sentence_vectors.encoders import Encode, own_probes

_FILE = "sentence_vectors.sqlite"
_PATIENCE = 60  # seconds for another process that writes


class VectorCache:
    """Vectors of sentences that an encoder has encoded before, in this process or another.

    Several processes may use the folder, which is made. A file that is damaged, no cache, or held
    by another process for a minute is a ValueError.
    """

    def __init__(self, folder: str | os.PathLike[str], encoder: EncoderFingerprint) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._path = Path(folder) / _FILE
        self._encoder = _digest(encoder.name.encode() + encoder.vectors.tobytes())
        self._dimension = encoder.dimension
        with self._opened() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (encoder BLOB, sentence BLOB, vector BLOB, "
                "PRIMARY KEY (encoder, sentence)) WITHOUT ROWID"
            )

    def read_of(
        self, encode: Encode, sentences: Sequence[str], vectors: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Read vectors of distinct sentences as `read` does, if they are those that `encode` gives.

        A few are encoded again, among them the longest: the encoder may differ from that of the
        cache in what the probes of its fingerprint do not tell, such as words of a field or the
        limit of very long sentences, or have been changed in place. Then all are unknown.
        """
        unknown = self.read(sentences, vectors)
        known = np.delete(np.arange(len(sentences)), unknown).tolist()
        row_of = {sentences[row]: row for row in known}
        if row_of:
            asked = list(dict.fromkeys(own_probes(list(row_of))))
            stored = EncoderFingerprint("", vectors[[row_of[sentence] for sentence in asked]])
            if not stored.is_of_same(EncoderFingerprint("", encode(asked))):
                self.clear()
                return np.arange(len(sentences))
        return unknown

    def read(self, sentences: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Fill in the rows of vectors (n, d) that are known; return the others."""
        unknown = []
        with self._opened() as connection:
            find = "SELECT vector FROM vectors WHERE encoder = ? AND sentence = ?"
            for row, sentence in enumerate(sentences):
                found = connection.execute(find, (self._encoder, _key(sentence))).fetchone()
                vector = self._vector(_key(sentence), found[0]) if found else None
                if vector is None:
                    unknown.append(row)
                else:
                    vectors[row] = vector
        return np.array(unknown, dtype=np.int64)

    def write(self, sentences: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add the vectors of sentences (n, d)."""
        rows = []
        for sentence, vector in zip(sentences, vectors, strict=True):
            key, data = _key(sentence), vector.astype("<f4").tobytes()
            rows.append((self._encoder, key, data + self._checksum(key, data)))
        with self._opened() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def clear(self) -> None:
        """Leave out all vectors of the encoder."""
        with self._opened() as connection:
            connection.execute("DELETE FROM vectors WHERE encoder = ?", (self._encoder,))

    def _vector(self, key: bytes, stored: object) -> NDArray[np.float32] | None:
        """Return a stored vector, or None if it is none: its sentence is then encoded again."""
        size = 4 * self._dimension
        if not isinstance(stored, bytes) or stored[size:] != self._checksum(key, stored[:size]):
            return None
        vector = np.frombuffer(stored, "<f4", self._dimension)
        return None if len(rows_beyond_limit(vector[None])) else vector

    def _checksum(self, key: bytes, data: bytes) -> bytes:
        """Return what finds a changed bit of a row: that of its keys too."""
        return _digest(self._encoder + key + data)[:8]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file, and keep what is done with it if there is no error."""
        try:
            connection = sqlite3.connect(self._path, timeout=_PATIENCE)
            with closing(connection), connection:
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of a damaged name
            repair = "Delete it, or give another folder as memory."
            if "locked" in str(error):
                repair = "Wait for it, or give another folder as memory."
            raise ValueError(f"The cache {self._path} cannot be used: {error}. {repair}") from error


def _key(sentence: str) -> bytes:
    return _digest(sentence.encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
