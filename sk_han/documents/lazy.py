"""Documents that are read when one of their arrays is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray
from sk_han.documents.checks import UNKNOWN_ID
from sk_han.documents.offsets import packed, starts_of

# Documents and words that are read at once. Numbers of documents that networks read at once divide
# the first, so documents of usual length are scored in the batches of those in memory.
_AT_ONCE, _MOST_WORDS = 1024, 1 << 22


class DocumentSource(Protocol):
    """What documents are read from, by their numbers."""

    def __len__(self) -> int: ...

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sentences and words documents have, (n, 2); nothing is read."""

    def read(self, rows: NDArray[np.int64]) -> DocumentArray:
        """Read documents into memory."""


class LazyDocuments(DocumentArray):
    """Documents of a source, all or the given rows (D,). Rows chosen of them are lazy too.

    The three arrays are made when one of them is first asked for, and kept from then on.
    """

    __slots__ = ("_rows", "_source")

    def __init__(self, source: DocumentSource, rows: NDArray[np.int64] | None = None) -> None:
        self._source = source
        self._rows = np.arange(len(source)) if rows is None else rows

    def __getattr__(self, name: str) -> Any:  # called for arrays that are not there yet
        if name not in DocumentArray.__slots__:
            raise AttributeError(f"A DocumentArray has no attribute {name!r}.")
        found = self.in_memory()
        for array in DocumentArray.__slots__:
            setattr(self, array, getattr(found, array))
        return getattr(self, name)

    def in_memory(self) -> DocumentArray:
        """Read all documents; what is read is not kept here."""
        return self._source.read(self._rows)

    @property
    def n_sentences(self) -> int:
        """Number of sentences of all documents."""
        return int(self.sentences_per_document.sum())

    @property
    def n_words(self) -> int:
        """Number of words of all documents."""
        return int(self.words_per_document.sum())

    @property
    def sentences_per_document(self) -> NDArray[np.int64]:
        """Number of sentences of each document, shape (n_documents,)."""
        return self._source.lengths(self._rows)[:, 0]

    @property
    def words_per_document(self) -> NDArray[np.int64]:
        """Number of words of each document, shape (n_documents,)."""
        return self._source.lengths(self._rows)[:, 1]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[list[NDArray[np.int32]]]:
        for portion in portions(self):
            yield from portion.in_memory()

    def __reduce__(self) -> Any:
        return LazyDocuments, (self._source, self._rows)

    def _document(self, i: int) -> list[NDArray[np.int32]]:
        return self._source.read(self._rows[i : i + 1])._document(0)

    def _take(self, rows: Any) -> DocumentArray:
        return LazyDocuments(self._source, self._rows[rows])


@dataclass(frozen=True)
class JoinedDocuments:
    """The documents of several arrays, one array after the other."""

    parts: tuple[DocumentArray, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sentences and words documents have, (n, 2)."""
        found = np.empty((len(rows), 2), dtype=np.int64)
        for part, places, numbers in self._divided(rows):
            found[places] = _lengths(part[numbers])
        return found

    def read(self, rows: NDArray[np.int64]) -> DocumentArray:
        """Read documents into memory."""
        divided = list(self._divided(rows))
        found = [part[numbers].in_memory() for part, _, numbers in divided]
        if len(found) == 1:
            return found[0]
        order = np.concatenate([np.empty(0, np.int64), *(places for _, places, _ in divided)])
        joined = DocumentArray.concatenate(found)
        return joined if np.all(np.diff(order) > 0) else joined[np.argsort(order)]

    def _divided(
        self, rows: NDArray[np.int64]
    ) -> Iterator[tuple[DocumentArray, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield each part with rows, the places of these in `rows`, and their numbers in it."""
        starts = starts_of(np.array([len(part) for part in self.parts]))
        number = np.searchsorted(starts, rows, side="right") - 1
        for i in np.unique(number).tolist():
            places = np.flatnonzero(number == i)
            yield self.parts[i], places, rows[places] - starts[i]


@dataclass(frozen=True)
class KnownDocuments:
    """Documents whose ids beyond a vocabulary are the unknown word."""

    documents: DocumentArray
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.documents)

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sentences and words documents have, (n, 2)."""
        return _lengths(self.documents[rows])

    def read(self, rows: NDArray[np.int64]) -> DocumentArray:
        """Read documents into memory."""
        found = self.documents[rows].in_memory()
        found.word_ids[found.word_ids >= self.vocabulary_size] = UNKNOWN_ID
        return found


def _lengths(documents: DocumentArray) -> NDArray[np.int64]:
    return np.column_stack([documents.sentences_per_document, documents.words_per_document])


def divided(
    documents: DocumentArray, most_words: int, most_documents: int | None = None
) -> Iterator[DocumentArray]:
    """Yield documents in order, so many of so many words at a time, or one of more.

    Few documents are yielded as they are, and no documents too.
    """
    n_documents = len(documents)
    are_few = most_documents is None or n_documents <= most_documents
    if are_few and (n_documents <= 1 or documents.n_words <= most_words):
        yield documents
        return
    for rows in packed(documents.words_per_document, most_words, most_documents):
        yield documents[rows]


def portions(documents: DocumentArray) -> Iterator[DocumentArray]:
    """Yield documents that are in memory as a whole, and others in portions, in order.

    There is at least one portion, if only an empty one. What is read of it is not kept with the
    documents.
    """
    if isinstance(documents, LazyDocuments):
        return divided(documents[:], _MOST_WORDS, _AT_ONCE)
    return iter([documents])


def highest_id(documents: DocumentArray) -> int:
    """Return the highest word id, at least that of the unknown word; read portion by portion."""
    return max(int(part.word_ids.max(initial=UNKNOWN_ID)) for part in portions(documents))
