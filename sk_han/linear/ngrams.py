"""The n-gram channel: a linear bag of n-grams beside the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from sk_han.documents import DocumentArray, LabelledDocuments

__all__ = ["NgramChannel", "check_ngram_range", "fit_ngram_channel", "hash_ngrams"]

# 25,000 film reviews hold about a million distinct pairs of words; with 2**20 buckets the
# collisions cost accuracy.
_BITS = 22

_C = 10.0  # inverse strength of the L2 regularization

# Counts are smoothed by as many occurrences, spread over the classes like the documents: an n-gram
# that is merely rare has a ratio near 0 in small and in large classes.
_SMOOTHING = 8.0

_BATCH_SIZE = 256  # documents whose n-grams are hashed at once, for the memory that hashing takes

_MIN_DOCUMENTS = 2  # an n-gram of a single document tells nothing about others

# Odd constants of the SplitMix64 generator (Steele, Lea and Flood, 2014).
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)


_Sliceable = TypeVar("_Sliceable", DocumentArray, NDArray[np.float64])


@dataclass(frozen=True)
class NgramChannel:
    """A linear classifier on the n-grams of a document, exactly additive over them.

    An n-gram is `n` neighbouring words of a sentence; it counts once, however often it occurs.
    With the known n-grams ``g`` of a document, the score of class ``c`` is
    ``intercept[c] + sum_g(weights[g, c]) / sqrt(sum_g(ratios[g, c] ** 2))``.

    Attributes
    ----------
    ngram_range : tuple of int
        Smallest and largest number of words in an n-gram.
    buckets : ndarray of int64, shape (n_features,)
        Rising hash values of the known n-grams.
    ratios : ndarray of float32, shape (n_features, n_scores)
        Log-count ratios of each class against the rest. Two classes have one score, the log-odds
        of the second.
    weights : ndarray of float32, shape (n_features, n_scores)
        The ratios times what logistic regression made of them.
    intercept : ndarray of float32, shape (n_scores,)
    """

    ARRAYS: ClassVar = ("buckets", "ratios", "weights", "intercept")

    ngram_range: tuple[int, int]
    buckets: NDArray[np.int64]
    ratios: NDArray[np.float32]
    weights: NDArray[np.float32]
    intercept: NDArray[np.float32]

    @cached_property
    def _column_of_bucket(self) -> NDArray[np.int32]:
        """Look-up table, -1 for n-grams that are not known; a search took a third of a scoring."""
        columns = np.full(1 << _BITS, -1, dtype=np.int32)
        columns[self.buckets] = np.arange(len(self.buckets))
        return columns

    @classmethod
    def checked(
        cls, ngram_range: tuple[int, int], arrays: Mapping[str, NDArray[Any]], n_classes: int
    ) -> NgramChannel:
        """Make a channel of stored arrays.

        Raises
        ------
        ValueError
            If an array has another shape or dtype than is due, or holds what it cannot.
        """
        n_features, n_scores = len(arrays["buckets"]), 1 if n_classes == 2 else n_classes
        due = {
            "buckets": ((n_features,), np.int64),
            "ratios": ((n_features, n_scores), np.float32),
            "weights": ((n_features, n_scores), np.float32),
            "intercept": ((n_scores,), np.float32),
        }
        for name, (shape, dtype) in due.items():
            array = arrays[name]
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(
                    f"the array {name} of its n-grams has the shape {array.shape} and dtype "
                    f"{array.dtype}; {shape} and {np.dtype(dtype)} are due"
                )
            if not np.isfinite(array).all():
                raise ValueError(f"the array {name} of its n-grams holds no finite numbers")
        buckets = arrays["buckets"]
        if np.any(np.diff(buckets) <= 0) or np.any((buckets < 0) | (buckets >= 1 << _BITS)):
            raise ValueError("the buckets of its n-grams do not rise within the hash's range")
        return cls(ngram_range, **{name: arrays[name].copy() for name in cls.ARRAYS})

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was learnt, by name."""
        return {name: getattr(self, name) for name in self.ARRAYS}

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Score documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        scores = np.concatenate([self._scores(batch) for batch in _batches(documents)])
        if scores.shape[1] == 1:
            scores = np.hstack([-scores, scores]) / 2  # (D, 1) -> (D, 2)
        return scores.astype(np.float64)

    def word_parts(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Divide a linear score of the logits among the words, exactly.

        What an n-gram brings is divided evenly among its occurrences, and that of each among its
        words. The intercept is no word's part.

        Parameters
        ----------
        documents : DocumentArray of shape (n_documents,)
        factors : ndarray of shape (n_documents, n_classes)
            Those of the logits in the score of each document.

        Returns
        -------
        ndarray of shape (n_words,)
            The parts of a document's words sum to
            ``factors @ (logits - the logits of a document without known n-grams)``.
        """
        if self.weights.shape[1] == 1:
            factors = (factors[:, 1:] - factors[:, :1]) / 2  # (D, 2) -> (D, 1), as in `logits`
        batches = zip(_batches(documents), _batches(factors), strict=True)
        return np.concatenate([self._word_parts(*batch) for batch in batches])

    def _scores(self, documents: DocumentArray) -> NDArray[np.float32]:
        rows, buckets = _occurrences(documents, self.ngram_range)
        columns = self._column_of_bucket[buckets]
        known = columns >= 0
        each_once = np.unique(rows[known] * len(self.buckets) + columns[known])
        rows, columns = np.divmod(each_once, len(self.buckets))
        present, lengths = self._vectors(rows, columns, len(documents))
        return present @ self.weights[columns] / lengths + self.intercept

    def _word_parts(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        buckets, first, n = _sized_ngrams(documents, self.ngram_range)
        rows = np.repeat(np.arange(len(documents)), documents.words_per_document)[first]
        columns = self._column_of_bucket[buckets]
        known = columns >= 0
        distinct, number, count = np.unique(
            rows[known] * len(self.buckets) + columns[known],
            return_inverse=True,
            return_counts=True,
        )
        rows, columns = np.divmod(distinct, len(self.buckets))
        _, lengths = self._vectors(rows, columns, len(documents))
        values = (factors[rows] / lengths[rows] * self.weights[columns]).sum(axis=1)
        n, first = n[known], first[known]
        of_each_word = (values / count)[number] / n
        parts = np.zeros(documents.n_words)
        for k in range(int(n.max(initial=0))):
            reaches = n > k
            parts += np.bincount(first[reaches] + k, of_each_word[reaches], documents.n_words)
        return parts

    def _vectors(
        self, rows: NDArray[np.int64], columns: NDArray[np.integer[Any]], n_documents: int
    ) -> tuple[csr_matrix, NDArray[np.float32]]:
        """What occurs in each document, a column for each pair, and the documents' lengths."""
        starts = np.searchsorted(rows, np.arange(n_documents + 1))
        one = np.ones(len(columns), dtype=np.float32)
        present = csr_matrix((one, np.arange(len(columns)), starts), (n_documents, len(columns)))
        return present, _lengths(present, self.ratios[columns] ** 2)


def fit_ngram_channel(
    data: LabelledDocuments, n_classes: int, ngram_range: tuple[int, int]
) -> NgramChannel | None:
    """Learn the weights of n-grams: logistic regression on log-count ratios, class by class.

    Each class stands against the rest, as in the NB-SVM of Wang and Manning (2012), with the
    logistic loss. Documents are brought to length 1, lest long ones outweigh short ones.

    Parameters
    ----------
    data : LabelledDocuments
    n_classes : int
    ngram_range : tuple of int
        Smallest and largest number of words in an n-gram.

    Returns
    -------
    NgramChannel or None
        None where no n-gram occurs in two documents, a class has no document, or there is only
        one.

    Notes
    -----
    Takes about 150 bytes of memory for each word of the documents, with words, pairs and triples.

    References
    ----------
    Wang, Manning (2012). Baselines and Bigrams: Simple, Good Sentiment and Topic Classification.
    ACL.
    """
    ngram_range = int(ngram_range[0]), int(ngram_range[1])  # searches hand over NumPy's numbers
    present = vstack(
        [
            _presence(*_occurrences(batch, ngram_range), (len(batch), 1 << _BITS))
            for batch in _batches(data.documents)
        ],
        format="csr",
    )
    buckets = np.flatnonzero(present.getnnz(axis=0) >= _MIN_DOCUMENTS)
    if n_classes == 1 or not len(buckets) or len(np.unique(data.targets)) < n_classes:
        return None
    present = present[:, buckets]  # (D, F)
    in_class = np.eye(n_classes, dtype=np.float32)[data.targets]  # (D, C)
    if n_classes == 2:
        in_class = in_class[:, 1:]
    sample_weight = data.weights / data.weights.mean()
    ratios = _log_count_ratios(present, in_class, sample_weight)
    lengths = _lengths(present, ratios**2)  # (D, C)

    weights, intercept = np.empty_like(ratios), np.empty(ratios.shape[1], dtype=np.float32)
    features = present.copy()
    row_of_entry = np.repeat(np.arange(len(data)), np.diff(present.indptr))
    for c in range(ratios.shape[1]):
        features.data = ratios[present.indices, c] / lengths[row_of_entry, c]
        model = LogisticRegression(C=_C, max_iter=1000)
        model.fit(features, in_class[:, c], sample_weight)
        weights[:, c] = model.coef_[0] * ratios[:, c]
        intercept[c] = model.intercept_[0]
    return NgramChannel(ngram_range, buckets, ratios, weights, intercept)


def check_ngram_range(ngram_range: Any) -> None:
    """Refuse what is no pair of numbers of words.

    Raises
    ------
    ValueError
        Naming the range.
    """
    if ngram_range is None:
        return
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in ngram_range)
    if len(ngram_range) != 2 or not whole or not 1 <= ngram_range[0] <= ngram_range[1]:
        raise ValueError(
            f"ngram_range is {ngram_range!r}; it takes the smallest and the largest number of "
            "words, such as (1, 2), or None for the network alone."
        )


def hash_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hash every n-gram of every sentence.

    Returns
    -------
    bucket : ndarray of int64, shape (n_ngrams,)
    first_word : ndarray of int64, shape (n_ngrams,)
        Where the n-gram starts in ``documents.word_ids``.
    """
    buckets, first_words, _ = _sized_ngrams(documents, ngram_range)
    return buckets, first_words


def _sized_ngrams(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Bucket, first word and number of words of every n-gram."""
    n_words = documents.n_words
    sentence = np.repeat(np.arange(documents.n_sentences), documents.words_per_sentence)
    mixed = documents.word_ids.astype(np.uint64) * _MIX_1
    mixed ^= mixed >> np.uint64(29)
    none = np.empty(0, dtype=np.int64)
    of_ngram, buckets, first_words, sizes = mixed, [none], [none], [none]
    longest = int(documents.words_per_sentence.max(initial=0))
    for n in range(1, min(ngram_range[1], longest) + 1):
        if n > 1:
            of_ngram = of_ngram[:-1] * _MIX_2 + mixed[n - 1 :]
            of_ngram ^= of_ngram >> np.uint64(31)
        if n >= ngram_range[0]:
            first = np.flatnonzero(sentence[: n_words - n + 1] == sentence[n - 1 :])
            buckets.append((of_ngram[first] * _MIX_1 >> np.uint64(64 - _BITS)).astype(np.int64))
            first_words.append(first)
            sizes.append(np.full(len(first), n))
    return np.concatenate(buckets), np.concatenate(first_words), np.concatenate(sizes)


def _batches(of_documents: _Sliceable) -> Iterator[_Sliceable]:
    for start in range(0, len(of_documents), _BATCH_SIZE):
        yield of_documents[start : start + _BATCH_SIZE]


def _occurrences(
    documents: DocumentArray, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the document and the bucket of every n-gram."""
    bucket, first_word = hash_ngrams(documents, ngram_range)
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    return document[first_word], bucket


def _presence(
    rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> csr_matrix:
    """Mark with 1 what occurs in a document, however often it does."""
    present = csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    present.data[:] = 1  # repeated entries were added up
    return present


def _log_count_ratios(
    present: csr_matrix, in_class: NDArray[np.float32], sample_weight: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Compare how often an n-gram occurs in and outside of each class, shape (F, C)."""
    weights = sample_weight[:, np.newaxis]
    shares = (weights * in_class).mean(axis=0).clip(1e-9, 1 - 1e-9)  # (C,)
    inside = present.T @ (weights * in_class) + _SMOOTHING * shares  # (F, C)
    outside = present.T @ (weights * (1 - in_class)) + _SMOOTHING * (1 - shares)
    ratios = np.log(inside / inside.sum(axis=0)) - np.log(outside / outside.sum(axis=0))
    return ratios.astype(np.float32)


def _lengths(present: csr_matrix, squared_ratios: NDArray[np.float32]) -> NDArray[np.float32]:
    """Euclidean lengths of the documents' vectors of ratios, shape (D, C); 1 for an empty one."""
    lengths = np.sqrt(present @ squared_ratios)
    return np.where(lengths > 0, lengths, 1)
