"""Tokenized documents: word ids with the offsets of sentences and documents."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._utils.messages import plural, refuse_masked

PADDING_ID = 0
UNKNOWN_ID = 1
LARGEST_ID = int(np.iinfo(np.int32).max)


def as_integers(array: ArrayLike, name: str, ndim: tuple[int, ...] = (1,)) -> NDArray[Any]:
    """Return an array of integers; raise TypeError or ValueError for anything else."""
    refuse_masked(array, name)
    integers = np.asarray(array)
    if integers.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; got dtype {integers.dtype}.")
    if integers.ndim not in ndim:
        dimensions = " or ".join(map(str, ndim))
        raise ValueError(f"{name} must have {dimensions} dimensions; got shape {integers.shape}.")
    return integers


def as_starts(array: ArrayLike, end: int, name: str, pieces: str) -> NDArray[np.int64]:
    """Return offsets as int64, after checking that they rise from 0 to `end`."""
    starts = as_integers(array, name).astype(np.int64, copy=False)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != end or np.any(np.diff(starts) < 0):
        raise ValueError(
            f"{name} must rise from 0 to the number of {pieces}, {end}; got {starts!r}."
        )
    return starts


def check_ids(ids: NDArray[Any]) -> None:
    """Raise a ValueError if a word id is the padding, negative or beyond int32."""
    if not len(ids) or (ids.min() >= UNKNOWN_ID and ids.max() <= LARGEST_ID):
        return
    wrong = np.flatnonzero((ids < UNKNOWN_ID) | (ids > LARGEST_ID))[0]
    raise ValueError(
        f"Word {wrong} has the id {ids[wrong]}; ids run from {UNKNOWN_ID} (unknown word) to "
        f"2**31 - 1. {PADDING_ID} is the padding; DocumentArray.from_padded takes it off."
    )


def to_offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the offsets of consecutive pieces of these lengths: ``[0, 2, 5]`` for ``[2, 3]``."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def concatenated_ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Concatenate the ranges ``start, ..., start + length - 1`` of all pieces."""
    shift = starts - to_offsets(lengths)[:-1]
    return np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def chunk_slices(sizes: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Yield slices of consecutive pieces of at most `most` in total, or of one larger piece."""
    ends, first = to_offsets(sizes), 0
    while first < len(sizes):
        fitting = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = max(fitting, first + 1)
        yield slice(first, last)
        first = last


def sampled_rows(
    words_per_document: NDArray[np.int64], n_words: int, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw rows in random order until their documents have `n_words` words; else draw all."""
    order = random_state.permutation(len(words_per_document))
    reached = np.cumsum(words_per_document[order])
    return order[: np.searchsorted(reached, n_words) + 1]


# The type of a word whose spelling is not known.
NOT_KNOWN = -1


class Spelling(NamedTuple):
    """How each word of some documents is written; selections of documents share the list."""

    types: NDArray[np.int32]  # (n_words,), the position of each word in the list, or `NOT_KNOWN`
    words: list[str]

    def at(self, chosen: NDArray[Any]) -> Spelling:
        """Return the spelling of some of the words, by position or marked."""
        return Spelling(self.types[chosen], self.words)

    def compact(self) -> Spelling:
        """Return the same spelling without the words of the list that no type refers to."""
        has_type = self.types >= 0
        rows, numbers = np.unique(self.types[has_type], return_inverse=True)
        if len(rows) == len(self.words):
            return self
        types = np.full(len(self.types), NOT_KNOWN, dtype=np.int32)
        types[has_type] = numbers
        return Spelling(types, [self.words[row] for row in rows.tolist()])

    @staticmethod
    def concatenate(parts: Sequence[Spelling | None], lengths: Sequence[int]) -> Spelling | None:
        """Concatenate the spellings of several arrays of these lengths; None if none has one."""
        lists = {id(part.words): part.words for part in parts if part is not None}
        if not lists:
            return None
        starts = to_offsets(np.array([len(words) for words in lists.values()])).astype(np.int32)
        start_of = dict(zip(lists, starts[:-1], strict=True))
        types = [
            np.full(length, NOT_KNOWN, dtype=np.int32)
            if part is None
            else np.where(part.types < 0, NOT_KNOWN, part.types + start_of[id(part.words)])
            for part, length in zip(parts, lengths, strict=True)
        ]
        words = [*chain.from_iterable(lists.values())]
        return Spelling(np.concatenate(types).astype(np.int32, copy=False), words)


def code_points(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the concatenated code points of words, and the length of each word."""
    # Broken texts may hold lone surrogates, which are code points too.
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, words), np.int32, len(words))
    return np.frombuffer(text, "<i4").astype(np.int32, copy=False), lengths


# `unicodedata.normalize` takes quadratic time for a run of combining marks, so it gets pieces of
# this length. Hardly any word is longer.
_PIECE = 256


def normalize(form: Literal["NFC", "NFKD"], word: str) -> str:
    """Return a word in a normal form of Unicode, in linear time, a long word piece by piece."""
    if len(word) <= _PIECE:
        return unicodedata.normalize(form, word)
    pieces = (word[i : i + _PIECE] for i in range(0, len(word), _PIECE))
    return "".join(unicodedata.normalize(form, piece) for piece in pieces)


def normal_form(word: str) -> str:
    """Return the canonical spelling of a word: Unicode's form NFC, with "'" as apostrophe."""
    if word.isascii():
        return word
    return normalize("NFC", word.replace("’", "'").replace("\u02bc", "'"))


class DocumentArray:
    """Documents of sentences of word ids, stored as three flat arrays.

    Nothing is padded and nothing is cut off: document ``i`` holds the sentences
    ``document_starts[i]`` to ``document_starts[i + 1]``, and sentence ``j`` the words
    ``word_ids[sentence_starts[j]:sentence_starts[j + 1]]``. A document may be empty; a
    sentence may not, since it would have nothing to attend to.

    Parameters
    ----------
    word_ids : array-like of int, shape (n_words,)
        Vocabulary ids of all words in reading order, kept as int32. 1 is the unknown word; 0, which
        is the padding elsewhere, does not occur.
    sentence_starts : array-like of int, shape (n_sentences + 1,)
        Position in `word_ids` at which each sentence starts, then ``n_words``; kept as int64.
    document_starts : array-like of int, shape (n_documents + 1,)
        Number of the sentence at which each document starts, then ``n_sentences``; int64 too.

    Raises
    ------
    TypeError
        If an array does not hold integers.
    ValueError
        If the offsets do not start at 0, fall, or do not end where the next array ends; if a
        sentence is empty; if an id is below 1 or beyond int32.

    Notes
    -----
    ``X.shape`` is ``(n_documents,)`` and ``X[rows]`` takes slices, index arrays and boolean
    masks, so scikit-learn's splitters and searches select documents without unpacking them.
    The arrays may be read-only memory maps, as joblib passes them to its workers. Documents from a
    `HierarchicalTokenizer` also store how their words are written, including those that are not in
    its vocabulary, for models of characters.

    Examples
    --------
    >>> from sk_han import DocumentArray
    >>> X = DocumentArray.from_nested([[[2, 3], [4]], [], [[5, 2, 2]]])
    >>> X
    DocumentArray(3 documents, 3 sentences, 6 words)
    >>> X[[2, 0]].to_nested()
    [[[5, 2, 2]], [[2, 3], [4]]]
    >>> X.pad().shape
    (3, 2, 3)
    """

    __slots__ = ("columns", "document_starts", "sentence_starts", "spelling", "word_ids")

    def __init__(
        self, word_ids: ArrayLike, sentence_starts: ArrayLike, document_starts: ArrayLike
    ) -> None:
        ids = as_integers(word_ids, "word_ids")
        self.sentence_starts = as_starts(sentence_starts, len(ids), "sentence_starts", "words")
        self.document_starts = as_starts(
            document_starts, self.n_sentences, "document_starts", "sentences"
        )
        empty = np.flatnonzero(np.diff(self.sentence_starts) == 0)
        if len(empty):
            raise ValueError(
                f"Sentence {empty[0]} is empty; leave sentences without words out by from_nested."
            )
        check_ids(ids)
        self.word_ids: NDArray[np.int32] = ids.astype(np.int32, copy=False)
        self.spelling: Spelling | None = None
        self.columns: NDArray[np.int32] | None = None  # (D, M), of a table; see `parts.columns`

    @staticmethod
    def _from_arrays(
        word_ids: NDArray[np.int32],
        sentence_starts: NDArray[np.int64],
        document_starts: NDArray[np.int64],
        spelling: Spelling | None = None,
        columns: NDArray[np.int32] | None = None,
    ) -> DocumentArray:
        """Build from arrays that need no further check."""
        documents = object.__new__(DocumentArray)
        documents.spelling, documents.columns = spelling, columns
        documents.word_ids = word_ids
        documents.sentence_starts = sentence_starts
        documents.document_starts = document_starts
        return documents

    @classmethod
    def concatenate(cls, parts: Sequence[DocumentArray]) -> DocumentArray:
        """Concatenate the documents of several arrays.

        Parameters
        ----------
        parts : sequence of DocumentArray
            Their ids must be of the same vocabulary.
        """
        if isinstance(parts, DocumentArray) or not all(
            isinstance(part, DocumentArray) for part in parts
        ):
            raise TypeError(
                "parts must be a list of DocumentArrays; from_nested converts lists of word ids."
            )
        if len(parts) == 1:
            return parts[0]
        from sk_han._documents.sentences import SentenceArray

        of_sentences = [part for part in parts if isinstance(part, SentenceArray)]
        if of_sentences and len(of_sentences) == len(parts):
            return SentenceArray._concatenate(of_sentences)
        if of_sentences:
            raise TypeError("Documents with sentence vectors and without them cannot be joined.")
        none = np.empty(0, dtype=np.int64)
        columns = [part.columns for part in parts if part.columns is not None]
        return DocumentArray._from_arrays(
            np.concatenate([none.astype(np.int32), *(part.word_ids for part in parts)]),
            to_offsets(np.concatenate([none, *(part.words_per_sentence for part in parts)])),
            to_offsets(np.concatenate([none, *(part.sentences_per_document for part in parts)])),
            Spelling.concatenate(
                [part.spelling for part in parts], [part.n_words for part in parts]
            ),
            np.concatenate(columns) if len(columns) == len(parts) > 0 else None,
        )

    @classmethod
    def from_nested(cls, documents: Iterable[Iterable[Sequence[int]]]) -> DocumentArray:
        """Build from nested lists: documents of sentences of word ids.

        Parameters
        ----------
        documents : iterable of iterable of sequence of int
            Sentences without words are dropped.
        """
        word_ids: list[int] = []
        sentence_starts, document_starts = [0], [0]
        for document in documents:
            for sentence in document:
                if isinstance(sentence, (int, np.integer)):
                    raise TypeError(
                        "Documents are lists of sentences, which are lists of word ids, such as "
                        f"[[2, 3], [4]]; got an integer in document {len(document_starts) - 1}."
                    )
                if len(sentence):
                    word_ids.extend(sentence)
                    sentence_starts.append(len(word_ids))
            document_starts.append(len(sentence_starts) - 1)
        # NumPy would convert an empty list to an array of floats.
        ids = np.asarray(word_ids) if word_ids else np.empty(0, dtype=np.int32)
        return cls(ids, sentence_starts, document_starts)

    @classmethod
    def from_padded(cls, padded: ArrayLike) -> DocumentArray:
        """Build from a cube of documents x sentences x words padded with 0.

        Parameters
        ----------
        padded : array-like of int, shape (n_documents, n_sentences, n_words) or \
                (n_documents, n_words)
            Documents of a two-dimensional array have one sentence. Padding may be anywhere.
        """
        cube = as_integers(padded, "padded", ndim=(2, 3))
        if cube.ndim == 2:
            cube = cube[:, np.newaxis, :]  # (D, 1, W)
        real = cube != PADDING_ID  # (D, S, W)
        words_per_sentence = real.sum(axis=2)  # (D, S)
        sentences_per_document = (words_per_sentence > 0).sum(axis=1)  # (D,)
        return cls(
            cube[real],
            to_offsets(words_per_sentence[words_per_sentence > 0]),
            to_offsets(sentences_per_document),
        )

    def pad(self, max_sentences: int | None = None, max_words: int | None = None) -> NDArray[Any]:
        """Return the documents as a cube padded with 0.

        Parameters
        ----------
        max_sentences, max_words : int, optional
            Size of the second and third axis; what does not fit is cut off at the end. By default
            that of the longest document and sentence, which for real reviews gives 20 to 30 entries
            per word.

        Returns
        -------
        ndarray of int32, shape (n_documents, max_sentences, max_words)
        """
        words, sentences = self.words_per_sentence, self.sentences_per_document
        S = int(sentences.max(initial=0)) if max_sentences is None else max_sentences
        W = int(words.max(initial=0)) if max_words is None else max_words
        cube = np.full((len(self), S, W), PADDING_ID, dtype=np.int32)
        document = np.repeat(np.arange(len(self)), sentences)
        row = np.arange(self.n_sentences) - self.document_starts[document]
        sentence_of_word = np.repeat(np.arange(self.n_sentences), words)
        column = np.arange(self.n_words) - self.sentence_starts[sentence_of_word]
        fits = (row[sentence_of_word] < S) & (column < W)
        kept = sentence_of_word[fits]
        cube[document[kept], row[kept], column[fits]] = self.word_ids[fits]
        return cube

    def words(self) -> DocumentArray:
        """Return the documents as words alone, without the vectors of a `SentenceArray`."""
        return self

    def with_word_ids(self, word_ids: NDArray[np.int32]) -> DocumentArray:
        """Return the same documents with other word ids, shape (n_words,), and without spelling."""
        check_ids(word_ids)
        return DocumentArray._from_arrays(
            word_ids, self.sentence_starts, self.document_starts, columns=self.columns
        )

    def keep_words(self, kept: NDArray[np.bool_]) -> DocumentArray:
        """Return the documents with only the marked words.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_words,)
            Sentences that lose all their words are dropped; documents stay, perhaps empty.
        """
        sentence_starts = to_offsets(kept)[self.sentence_starts]
        has_words = np.diff(sentence_starts) > 0
        return DocumentArray._from_arrays(
            self.word_ids[kept],
            np.append(0, sentence_starts[1:][has_words]),
            to_offsets(has_words)[self.document_starts],
            self.spelling and self.spelling.at(kept),
            self.columns,
        )

    def excerpts(self, most_words: int, random_state: np.random.RandomState) -> DocumentArray:
        """Return a random excerpt of each document that has more than `most_words` words.

        An excerpt is a run of whole sentences from a random one on, up to the sentence that reaches
        `most_words`; the first sentence follows the last, but the original order is kept. A
        sentence of more words is cut to `most_words` words from a random one on. If no document is
        longer, no random number is drawn.
        """
        if self.words_per_document.max(initial=0) <= most_words:
            return self
        sentences, words = self.sentences_per_document, self.words_per_sentence
        kept_words = np.minimum(words, most_words)  # (N,) words of a sentence that is kept
        first = (random_state.random_sample(len(self)) * sentences).astype(np.int64)  # (D,)
        cut = random_state.random_sample(len(words)) * (words - kept_words + 1)
        document = np.repeat(np.arange(len(self)), sentences)  # (N,)
        place = np.arange(self.n_sentences) - self.document_starts[document]
        order = np.lexsort(((place - first[document]) % sentences[document], document))
        before = to_offsets(kept_words[order])[:-1]  # (N,) words of earlier sentences of the run
        before -= before[self.document_starts[document]]
        kept_words[order[before >= most_words]] = 0
        row = concatenated_ranges(-cut.astype(np.int64), words)  # (T,) from the first word kept
        return self.keep_words((row >= 0) & (row < np.repeat(kept_words, words)))

    def to_nested(self) -> list[list[list[int]]]:
        """Return the documents as lists of lists of word ids."""
        return [[sentence.tolist() for sentence in document] for document in self]

    @property
    def shape(self) -> tuple[int]:
        """``(n_documents,)``."""
        return (len(self),)

    @property
    def n_sentences(self) -> int:
        """Number of sentences of all documents."""
        return len(self.sentence_starts) - 1

    @property
    def n_words(self) -> int:
        """Number of words of all documents."""
        return len(self.word_ids)

    @property
    def words_per_sentence(self) -> NDArray[np.int64]:
        """Number of words of each sentence, shape (n_sentences,)."""
        return np.diff(self.sentence_starts)

    @property
    def sentences_per_document(self) -> NDArray[np.int64]:
        """Number of sentences of each document, shape (n_documents,)."""
        return np.diff(self.document_starts)

    @property
    def word_starts(self) -> NDArray[np.int64]:
        """Position of the first word of each document, shape (n_documents + 1,), the end last."""
        return self.sentence_starts[self.document_starts]

    @property
    def words_per_document(self) -> NDArray[np.int64]:
        """Number of words of each document, shape (n_documents,)."""
        return np.diff(self.word_starts)

    def __len__(self) -> int:
        return len(self.document_starts) - 1

    def __iter__(self) -> Iterator[list[NDArray[np.int32]]]:
        return (self._document(i) for i in range(len(self)))

    def __getitem__(self, rows: Any) -> Any:
        # scikit-learn indexes objects that have a shape with the tuple (rows, ...).
        if isinstance(rows, tuple):
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError(
                    f"A DocumentArray has one axis, its documents; got the index {rows!r}."
                )
            rows = rows[0]
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_)):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"document {rows} is out of bounds of {plural(len(self))}.")
            return self._document(int(rows) % len(self))
        if isinstance(rows, slice):
            return self._take(np.arange(*rows.indices(len(self))))
        chosen = np.asarray(rows)
        if chosen.size == 0 and chosen.dtype != bool:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
            raise IndexError(
                "Rows of a DocumentArray are chosen by a slice, integers or a boolean mask; got "
                f"{type(rows).__name__} of dtype {chosen.dtype} and shape {chosen.shape}."
            )
        if chosen.dtype == bool:
            return self._take(np.arange(len(self))[chosen])
        if len(chosen) and not -len(self) <= chosen.min() <= chosen.max() < len(self):
            wrong = chosen[(chosen < -len(self)) | (chosen >= len(self))][0]
            raise IndexError(f"document {wrong} is out of bounds of {plural(len(self))}.")
        numbers = chosen.astype(np.int64, copy=False)
        return self._take(np.where(numbers < 0, numbers + len(self), numbers))

    def __repr__(self) -> str:
        counts = {"document": len(self), "sentence": self.n_sentences, "word": self.n_words}
        return f"DocumentArray({', '.join(plural(n, name) for name, n in counts.items())})"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # A pickle of a class with slots has a pair: the __dict__, which is None, and the slots.
        state = {name: getattr(self, name) for name in DocumentArray.__slots__}
        return None, state | {"spelling": self.spelling and self.spelling.compact()}

    def _document(self, i: int) -> list[NDArray[np.int32]]:
        first, last = self.document_starts[i], self.document_starts[i + 1]
        bounds = self.sentence_starts[first : last + 1]
        return [self.word_ids[start:end] for start, end in pairwise(bounds)]

    def _take(self, rows: NDArray[np.int64]) -> DocumentArray:
        sentences = concatenated_ranges(
            self.document_starts[rows], self.sentences_per_document[rows]
        )
        words_per_sentence = self.sentence_starts[sentences + 1] - self.sentence_starts[sentences]
        words = concatenated_ranges(self.sentence_starts[sentences], words_per_sentence)
        return DocumentArray._from_arrays(
            self.word_ids[words],
            to_offsets(words_per_sentence),
            to_offsets(self.sentences_per_document[rows]),
            self.spelling and self.spelling.at(words),
            None if self.columns is None else self.columns[rows],
        )


def document_chunks(documents: DocumentArray, most_words: int) -> Iterator[DocumentArray]:
    """Yield documents in chunks of up to `most_words` words, or of one longer document.

    If one chunk is enough, the array itself is yielded, even if it has no document.
    """
    if len(documents) <= 1 or documents.n_words <= most_words:
        yield documents
        return
    for rows in chunk_slices(documents.words_per_document, most_words):
        yield documents[rows]
