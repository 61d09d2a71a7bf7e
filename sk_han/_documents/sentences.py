"""Documents of sentence vectors, and coalitions of the sentences of any document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._documents.array import (
    UNKNOWN_ID,
    DocumentArray,
    chunk_slices,
    concatenated_ranges,
    to_offsets,
)
from sk_han._utils.files import LARGEST_NUMBER
from sk_han._utils.messages import plural, refuse_masked

_ROWS_AT_ONCE = 1 << 14
# Tolerance relative to the length of a probe's vector. Another number of threads or batch size
# changes vectors by about 1e-6.
_TOLERANCE = 1e-3


class EncoderIdentity(NamedTuple):
    """Fingerprint of a sentence encoder: its name, and its vectors of fixed probe sentences.

    Encoders of one class may differ in their weights or options, which only vectors show.
    """

    name: str  # class, package and version
    probes: NDArray[np.float32]  # (P, d)

    def check(self, other: EncoderIdentity, name: str = "encoder=") -> None:
        """Raise a ValueError unless another encoder gives the same vectors; `name` is its name."""
        expected, probes = (identity.probes.astype(np.float64) for identity in (self, other))
        sizes, difference = [probes.shape[1], expected.shape[1]], "in size"
        if sizes[0] == sizes[1]:
            length = max(np.linalg.norm(expected, axis=1).mean(), np.finfo(np.float32).tiny)
            change = np.linalg.norm(probes - expected, axis=1).max() / length
            if change <= _TOLERANCE:
                return
            difference = f"by up to {100 * change:.3g} % of their length"
        raise ValueError(
            f"{name} is {other.name} with vectors of {plural(sizes[0], 'number')}, and the fit "
            f"had {self.name} with {sizes[1]:,}: their vectors of the same sentences differ "
            f"{difference}. Give the encoder of the fit, or fit again."
        )


class SentenceArray(DocumentArray):
    """Documents of sentence vectors, and of the words of the same sentences.

    It is a `DocumentArray`, so models of words, such as the n-gram model of `HANClassifier`, can
    read it. In addition, sentence ``j`` has the vector ``vectors[sentence_numbers[j]]``. Selections
    of rows share `vectors`.

    Parameters
    ----------
    documents : DocumentArray of shape (n_documents,)
        The words.
    vectors : array-like of float, shape (n_vectors, d)
        Vectors of the distinct sentences, kept as float32.
    sentence_numbers : array-like of int, shape (n_sentences,), default=None
        The row of `vectors` of each sentence; None if row ``j`` belongs to sentence ``j``.
    encoder : EncoderIdentity, default=None
        Fingerprint of the encoder of the vectors, set by `SentenceEmbedder`; None if unknown.

    Raises
    ------
    TypeError
        If vectors are not numbers, or sentence numbers not integers.
    ValueError
        If shapes do not match, a vector holds NaN, infinity or a number beyond 1e12,
        or a sentence has no vector.

    Notes
    -----
    ``joblib.dump(X, path)`` stores it, and ``joblib.load(path, mmap_mode="r")`` opens it without
    reading the vectors into memory. A pickle of selected rows holds only their vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han import SentenceArray
    >>> one, other = np.zeros((2, 3)), np.ones((1, 3))
    >>> X = SentenceArray.from_vectors([one, other])
    >>> X
    SentenceArray(2 documents, 3 sentences, 3 words, vectors of 3 numbers)
    >>> X[[1]].sentence_vectors()
    array([[1., 1., 1.]], dtype=float32)
    """

    __slots__ = ("encoder", "sentence_numbers", "vectors")

    def __init__(
        self,
        documents: DocumentArray,
        vectors: ArrayLike,
        sentence_numbers: ArrayLike | None = None,
        encoder: EncoderIdentity | None = None,
    ) -> None:
        n = documents.n_sentences
        table = _finite_vectors(vectors)
        numbers = np.arange(n) if sentence_numbers is None else np.asarray(sentence_numbers)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise TypeError(f"sentence_numbers must be integers; got dtype {numbers.dtype}.")
        if numbers.shape != (n,):
            raise ValueError(
                f"sentence_numbers must have one number for each of {plural(n, 'sentence')}; got "
                f"shape {numbers.shape}."
            )
        if n and not 0 <= numbers.min() <= numbers.max() < len(table):
            raise ValueError(
                f"Sentences have the vectors {numbers.min()} to {numbers.max()}, and there are "
                f"{plural(len(table), 'vector')} for {plural(n, 'sentence')}."
            )
        self._fill(documents, table, numbers.astype(np.int64, copy=False), encoder)

    @classmethod
    def from_vectors(cls, documents: Iterable[ArrayLike]) -> SentenceArray:
        """Build from the sentence vectors of each document, without text.

        Parameters
        ----------
        documents : iterable of array-like of shape (n_sentences, d)
            The vectors of the sentences of each document; shape (0, d) for an empty one.

        Returns
        -------
        SentenceArray of shape (n_documents,)
            Each sentence has one unknown word, which carries no information for the n-gram model.
        """
        arrays = []
        for vectors in documents:
            refuse_masked(vectors, "An array of sentence vectors")
            arrays.append(np.atleast_2d(np.asarray(vectors)))
        dimensions = {vectors.shape[-1] for vectors in arrays}
        if len(dimensions) != 1:
            raise ValueError(f"Sentence vectors need one size; got {sorted(dimensions) or 'none'}.")
        starts = to_offsets(np.array([len(vectors) for vectors in arrays]))
        words = np.full(starts[-1], UNKNOWN_ID, dtype=np.int32)
        return cls(DocumentArray(words, np.arange(starts[-1] + 1), starts), np.concatenate(arrays))

    def _with(self, documents: DocumentArray, numbers: NDArray[np.int64]) -> SentenceArray:
        """Return other documents with the same vectors, without checking the vectors again."""
        array = object.__new__(SentenceArray)
        array._fill(documents, self.vectors, numbers, self.encoder)
        return array

    def _fill(self, documents: DocumentArray, *own: Any) -> None:
        """Set the arrays of documents, and vectors, numbers and encoder."""
        for name in DocumentArray.__slots__:
            setattr(self, name, getattr(documents, name))
        self.vectors, self.sentence_numbers, self.encoder = own

    @property
    def dimension(self) -> int:
        """Size d of a sentence vector."""
        return self.vectors.shape[1]

    def sentence_vectors(self) -> NDArray[np.float32]:
        """Return the vector of each sentence, in order, shape (n_sentences, d)."""
        return np.asarray(self.vectors[self.sentence_numbers])

    def words(self) -> DocumentArray:
        """Return the documents as words alone."""
        return DocumentArray._from_arrays(
            self.word_ids, self.sentence_starts, self.document_starts, self.spelling, self.columns
        )

    def with_word_ids(self, word_ids: NDArray[np.int32]) -> SentenceArray:
        """Return the same documents with other ids of their words."""
        words = super().with_word_ids(word_ids)
        return self._with(words, self.sentence_numbers)

    def keep_words(self, kept: NDArray[np.bool_]) -> SentenceArray:
        """Return the documents without some of their sentences; see `DocumentArray.keep_words`.

        Raises
        ------
        ValueError
            If a sentence loses some of its words, since its vector represents the whole sentence.
        """
        words = super().keep_words(kept)
        n_kept = np.diff(to_offsets(kept)[self.sentence_starts])
        stays = n_kept > 0
        if np.any(stays & (n_kept < self.words_per_sentence)):
            raise ValueError(
                "A sentence vector belongs to the whole sentence, so single words cannot be left "
                "out. Leave out whole sentences, or transform changed texts by SentenceEmbedder."
            )
        return self._with(words, self.sentence_numbers[stays])

    def __repr__(self) -> str:
        words = super().__repr__().partition("(")[2][:-1]
        return f"SentenceArray({words}, vectors of {plural(self.dimension, 'number')})"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        own = {name: getattr(self, name) for name in SentenceArray.__slots__}
        state = super().__getstate__()[1] | own
        used = np.unique(self.sentence_numbers)
        if len(used) < len(self.vectors):
            state["vectors"] = np.asarray(self.vectors[used])
            state["sentence_numbers"] = np.searchsorted(used, self.sentence_numbers)
        return None, state

    def _take(self, rows: NDArray[np.int64]) -> SentenceArray:
        sentences = concatenated_ranges(
            self.document_starts[rows], self.sentences_per_document[rows]
        )
        return self._with(super()._take(rows), self.sentence_numbers[sentences])

    @staticmethod
    def _concatenate(parts: Sequence[SentenceArray]) -> SentenceArray:
        """Concatenate the documents of several arrays."""
        first = parts[0]
        encoder = next((part.encoder for part in parts if part.encoder is not None), None)
        for part in parts[1:]:
            check_same_encoder(encoder, first.dimension, part, "the documents before it")
        tables = {id(part.vectors): part.vectors for part in parts}
        starts = to_offsets(np.array([len(table) for table in tables.values()]))
        start_of = dict(zip(tables, starts[:-1], strict=True))
        joined = first._with(
            DocumentArray.concatenate([part.words() for part in parts]),
            np.concatenate([part.sentence_numbers + start_of[id(part.vectors)] for part in parts]),
        )
        joined.encoder = encoder
        if len(tables) > 1:
            joined.vectors = np.concatenate(list(tables.values()))
        return joined


def check_same_encoder(
    encoder: EncoderIdentity | None, dimension: int, X: SentenceArray, of: str
) -> None:
    """Check the size of vectors against those of `of`, and their encoder where both are known."""
    if encoder is not None and X.encoder is not None:
        encoder.check(X.encoder, "The encoder of these sentence vectors")
    if X.dimension != dimension:
        raise ValueError(
            f"Sentence vectors of {plural(X.dimension, 'number')} are given, and those of {of} "
            f"have {dimension:,}. Use the SentenceEmbedder that was used there."
        )


def _finite_vectors(vectors: ArrayLike) -> NDArray[np.float32]:
    refuse_masked(vectors, "An array of sentence vectors")
    array = np.asarray(vectors)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"Sentence vectors must be numbers; got dtype {array.dtype}.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"Sentence vectors have the shape (n, d); got the shape {array.shape}.")
    if array.dtype != np.float32:
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
    for start in range(0, len(array), _ROWS_AT_ONCE):
        wrong = rows_beyond_limit(array[start : start + _ROWS_AT_ONCE])
        if len(wrong):
            raise ValueError(
                f"Sentence vector {start + wrong[0]} holds NaN, infinity or a number beyond "
                f"{LARGEST_NUMBER:g}, which no model file can hold."
            )
    return array


def rows_beyond_limit(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows of vectors (n, d) with NaN, infinity or a number beyond `LARGEST_NUMBER`."""
    return np.flatnonzero(~(np.abs(vectors) <= LARGEST_NUMBER).all(axis=1))


def each_sentence_alone(documents: DocumentArray) -> DocumentArray:
    """Return each sentence as a document of its own, shape (N,)."""
    starts = np.arange(documents.n_sentences + 1)
    alone = DocumentArray._from_arrays(
        documents.word_ids, documents.sentence_starts, starts, documents.spelling
    )
    if isinstance(documents, SentenceArray):
        return documents._with(alone, documents.sentence_numbers)
    return alone


@dataclass(frozen=True)
class Coalitions:
    """M sets of sentences, each of one document and in its order; some may be empty."""

    sentences: NDArray[np.int64]  # numbers among those of all documents, set by set
    lengths: NDArray[np.int64]  # (M,), sentences of each set

    def documents(self, source: DocumentArray) -> DocumentArray:
        """Return a document for each set, shape (M,), with the sentences of `source`."""
        chosen: DocumentArray = each_sentence_alone(source)[self.sentences]
        chosen.document_starts = to_offsets(self.lengths)
        return chosen

    def portions(self, sizes: NDArray[np.int64], most: int) -> Iterator[Coalitions]:
        """Yield runs of sets whose sentences, of sizes (N,), sum to at most `most`, or one set."""
        starts = to_offsets(self.lengths)
        of_sets = np.diff(to_offsets(sizes[self.sentences])[starts])
        for sets in chunk_slices(of_sets, most):
            sentences = self.sentences[starts[sets.start] : starts[sets.stop]]
            yield Coalitions(sentences, self.lengths[sets])
