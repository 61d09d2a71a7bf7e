"""The n-gram model: naive-Bayes-weighted logistic regression on n-grams, beside the network."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.documents.lazy import divided
from sk_han.engines.loading import kernels
from sk_han.engines.tasks import run_tasks
from sk_han.parts.ngrams.hashing import (
    BITS,
    WORDS_AT_ONCE,
    batches,
    buckets_of,
    check_ngram_range,
    column_table,
    keyed_ngrams,
    occurrences,
)
from sk_han.parts.part import Part
from sk_han.storage.schema import Array, Field, Schema, Sizes
from sk_han.targets import Target
from sk_han.utils.caching import cached_property

__all__ = [
    "LARGEST_RATIO",
    "LARGEST_WEIGHT",
    "NgramAttributions",
    "NgramCounts",
    "NgramModel",
    "check_range",
    "over_words",
]

_MOST_WORDS = 1 << 31  # of an n-gram that a document can have

_TASK_SIZE = 64  # documents that a thread takes at once

# Of the table of a document's n-grams, of 64 bits and odd: another one in each process, so that no
# document is written against it.
_FACTOR = np.uint64(secrets.randbits(64) | 1)

# Far beyond what fits find: ratios are logarithms of counts, or their squares. Sums of these and of
# their squares over the n-grams of a document stay within single precision.
LARGEST_RATIO, LARGEST_WEIGHT = 1e6, 1e12

_ARRAYS = ("buckets", "ratios", "weights", "intercept")


class NgramCounts(NamedTuple):
    """Counts of n-grams in the training documents."""

    n_seen: NDArray[np.float32]  # (F,), documents with the n-gram
    inside: NDArray[np.float32]  # (F, B), the sum of their weights in each class
    outside: NDArray[np.float32]  # (F, B), and outside of it
    n_documents: NDArray[np.float64]  # (1 + B,), weights of all, and of each class

    def of(self, features: NDArray[np.bool_]) -> NgramCounts:
        """Return the counts of some of the n-grams, marked in an array (F,)."""
        return NgramCounts(
            self.n_seen[features], self.inside[features], self.outside[features], self.n_documents
        )


class NgramAttributions(NamedTuple):
    """What each occurrence of a known n-gram brings to a score."""

    keys: NDArray[np.uint64]  # as of `hashing.keyed_ngrams`
    first_words: NDArray[np.int64]  # positions in `DocumentArray.word_ids`
    sizes: NDArray[np.int64]  # in words
    values: NDArray[np.float64]


def check_range(value: Any, where: str, sizes: Sizes) -> None:
    """Check a range of a state."""
    # What is no number is not shown: it may be as long as the file.
    is_pair = isinstance(value, list) and [type(n) for n in value] == [int, int]
    if not is_pair or value[0] > _MOST_WORDS:
        raise ValueError(f"its {where} is no range: it must be two numbers of words")
    try:
        check_ngram_range(tuple(value))
    except ValueError as error:
        raise ValueError(f"its {where} is no range: {error}") from error


def _check_ratios(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    """Check what tells a model that has learnt by counts from a latent one, which has none."""
    if sizes["K"] == 1:
        raise ValueError("its single class has an n-gram model")
    if state["counts"] is None:
        if sizes["r"] != 1 or state["ratios"].min(initial=0) < 0:
            raise ValueError(f"its {where} has no counts, and its ratios are no squares, (f, 1)")
    elif sizes["r"] != sizes["B"]:
        raise ValueError(f"its {where}.ratios must have {sizes['B']} columns; got {sizes['r']}")
    elif state["counts"]["n_documents"][0] == 0:
        raise ValueError(f"its {where}.counts are of no documents")


@dataclass(frozen=True)
class NgramModel(Part):
    """A linear classifier on the n-grams of a document: its score is a sum over them.

    An n-gram is `n` neighbouring words of a sentence. It counts once a document.
    With the known n-grams ``g`` of a document, the score of problem ``b`` is
    ``intercept[b] + sum_g(weights[g, b]) / sqrt(sum_g(ratios[g, b] ** 2))``.

    Ratios are log-count ratios of each class against the rest; those of a latent model, (F, 1), do
    not depend on the class. Weights are ratios times their coefficients from logistic regression.
    `counts` are what `partial_fit_ngram_model` goes on from; a latent model has none.
    """

    target: Target
    ngram_range: tuple[int, int]
    buckets: NDArray[np.int64]  # (F,), hash values of the known n-grams, in rising order
    ratios: NDArray[np.float32]  # (F, B) or (F, 1)
    weights: NDArray[np.float32]  # (F, B)
    intercept: NDArray[np.float32]  # (B,)
    counts: NgramCounts | None = None

    kind = "ngrams"
    sums_ngrams = True
    # f n-grams, B binary problems of the target.
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("ngram_range", check_range),
            Field("buckets", Array("int64", "f", 0, (1 << BITS) - 1, rising=True)),
            Field("ratios", Array("float32", "f r", -LARGEST_RATIO, LARGEST_RATIO)),
            Field("weights", Array("float32", "f B", -LARGEST_WEIGHT, LARGEST_WEIGHT)),
            Field("intercept", Array("float32", "B", -LARGEST_WEIGHT, LARGEST_WEIGHT)),
            Field(
                "counts",
                Schema(
                    (
                        Field("n_seen", Array("float32", "f", 0)),
                        Field("inside", Array("float32", "f B", 0)),
                        Field("outside", Array("float32", "f B", 0)),
                        Field("n_documents", Array("float64", "d", 0)),
                    )
                ),
                optional=True,
            ),
        ),
        rules=(_check_ratios,),
        letters={"d": lambda sizes: 1 + sizes["B"]},
    )

    @cached_property
    def _column_table(self) -> NDArray[np.int32]:
        """Look-up table of `column_table`; a binary search took a third of the time."""
        return column_table(self.buckets)

    def to_state(self) -> dict[str, Any]:
        """Return the learnt state as arrays and plain values."""
        return {
            "ngram_range": list(self.ngram_range),
            **{name: getattr(self, name) for name in _ARRAYS},
            "counts": None if self.counts is None else self.counts._asdict(),
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], target: Target, device: str = "cpu"
    ) -> NgramModel:
        """Create a model from the result of `to_state`, which has been checked by `SCHEMA`."""
        counts = state["counts"]
        if counts is not None:
            counts = NgramCounts(**{name: array.copy() for name, array in counts.items()})
        learnt = {name: state[name].copy() for name in _ARRAYS}
        return cls(target, tuple(state["ngram_range"]), counts=counts, **learnt)

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Score documents, (D, K)."""
        compiled = kernels("ngrams")
        if compiled is None:
            scores = np.concatenate([self._scores(batch) for batch in batches(documents)])
        else:
            parts = [
                self._compiled(compiled, some)[0] for some in divided(documents, WORDS_AT_ONCE)
            ]
            scores = np.concatenate(parts)
        scores = scores + self.intercept
        return self.target.expand(scores).astype(np.float64, copy=False)  # (D, B) -> (D, K)

    def attributions(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Divide a linear score of the logits among the words, exactly, (T,).

        The contribution of an n-gram is divided evenly among its occurrences, and that of each
        occurrence among its words. The intercept belongs to no word: those of a document sum to
        ``factors @ (logits - the logits of a document without known n-grams)``.
        """
        factors = self.target.restrict(factors)  # (D, K) -> (D, B)
        compiled = kernels("ngrams")
        if compiled is not None:
            return self._compiled(compiled, documents, factors)[1]
        pairs = zip(batches(documents), batches(factors), strict=True)
        return np.concatenate([self._attributions(*pair) for pair in pairs])

    def ngram_attributions(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NgramAttributions:
        """Divide a linear score of the logits of a batch among the occurrences of n-grams."""
        return self._ngram_attributions(documents, self.target.restrict(factors))

    def class_weights(self, keys: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the weights of n-grams for each class, (n_keys, K); zeros for unknown ones.

        With two classes, those of the log-odds of each.
        """
        columns = self._column_table[buckets_of(keys)] - 1
        known = (columns >= 0)[:, np.newaxis]
        weights = np.zeros((len(keys), self.weights.shape[1]), dtype=np.float32)
        np.copyto(weights, self.weights.take(columns, axis=0, mode="clip"), where=known)
        one_of_two = weights.shape[1] < self.target.n_scores
        return np.hstack([-weights, weights]) if one_of_two else weights

    def _compiled(
        self,
        compiled: ModuleType,
        documents: DocumentArray,
        factors: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores without the intercept, and the words' shares of ``factors @ scores``."""
        n_scores = len(self.intercept)
        smallest, largest = self.ngram_range
        longest = int(documents.words_per_sentence.max(initial=0))
        largest = min(largest, longest)
        most_words = int(documents.words_per_document.max(initial=0))
        most_ngrams = min(most_words * max(largest - smallest + 1, 0), len(self.buckets))
        scores = np.empty((len(documents), n_scores))
        contributions = np.zeros(0 if factors is None else documents.n_words)
        run_tasks(
            compiled.scores,
            -(-len(documents) // _TASK_SIZE),
            _TASK_SIZE,
            _in_one_piece(documents.word_ids),
            _in_one_piece(documents.sentence_starts),
            _in_one_piece(documents.document_starts),
            smallest,
            largest,
            self._column_table,
            _FACTOR,
            _in_one_piece(self.ratios),
            _in_one_piece(self.weights),
            longest,
            most_ngrams,
            scores,
            np.empty((0, n_scores)) if factors is None else _in_one_piece(factors),
            contributions,
        )
        return scores, contributions

    def _scores(self, documents: DocumentArray) -> NDArray[np.float64]:
        rows, buckets = occurrences(documents, self.ngram_range)
        columns = self._column_table[buckets] - 1
        known = columns >= 0
        each_once = np.unique(rows[known] * len(self.buckets) + columns[known])
        rows, columns = np.divmod(each_once, len(self.buckets))
        lengths = self._lengths(rows, columns, len(documents))
        return _sums(rows, self.weights[columns], len(documents)) / lengths

    def _attributions(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return over_words(self._ngram_attributions(documents, factors), documents.n_words)

    def _ngram_attributions(
        self, documents: DocumentArray, factors: NDArray[np.float64]
    ) -> NgramAttributions:
        keys, first, n = keyed_ngrams(documents, self.ngram_range)
        rows = np.repeat(np.arange(len(documents)), documents.words_per_document)[first]
        columns = self._column_table[buckets_of(keys)] - 1
        known = columns >= 0
        distinct, number, count = np.unique(
            rows[known] * len(self.buckets) + columns[known],
            return_inverse=True,
            return_counts=True,
        )
        rows, columns = np.divmod(distinct, len(self.buckets))
        lengths = self._lengths(rows, columns, len(documents))
        values = (factors[rows] / lengths[rows] * self.weights[columns]).sum(axis=1)
        return NgramAttributions(keys[known], first[known], n[known], (values / count)[number])

    def _lengths(
        self, rows: NDArray[np.int64], columns: NDArray[np.integer[Any]], n_documents: int
    ) -> NDArray[np.float64]:
        """Return the norms of the documents' vectors of ratios, shape (D, S); 1 if it is 0."""
        lengths = np.sqrt(_sums(rows, self.ratios[columns] ** 2, n_documents))
        return np.where(lengths > 0, lengths, 1)


def over_words(found: NgramAttributions, n_words: int) -> NDArray[np.float64]:
    """Divide what n-grams bring evenly among their words, (n_words,)."""
    word_values = found.values / found.sizes
    contributions = np.zeros(n_words)
    for k in range(int(found.sizes.max(initial=0))):
        reaches = found.sizes > k
        contributions += np.bincount(found.first_words[reaches] + k, word_values[reaches], n_words)
    return contributions


def _sums(rows: NDArray[np.int64], values: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    """Sum values of shape (n_pairs, S) by their rows, shape (n_rows, S)."""
    return np.stack([np.bincount(rows, column, n_rows) for column in values.T], axis=1)


def _in_one_piece(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as kernels take it: without gaps, numbers at multiples of their size."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(array, requirements=("C", "A"))
