"""The n-gram model of many classes or labels: one vector for all of them, and sparse weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.parts.ngrams.hashing import Occurrences, batches, buckets_of
from sk_han.parts.ngrams.ngram_part import (
    LARGEST_RATIO,
    LARGEST_WEIGHT,
    NGRAM_FIELDS,
    NgramAttributions,
    NgramPart,
)
from sk_han.storage.schema import Array, Field, Schema, Sizes
from sk_han.utils.containers import Floats, Integers

# Problems that are learnt with ratios of their own: these are more accurate on opinions and short
# texts (28 emotions), and less so on topics (90 of Reuters), where they cost ten times the time.
MOST_DENSE = 30

_MOST_WORDS = 2  # in an n-gram; trigrams cost half of the time and tell topics no better


def range_of_sparse(ngram_range: tuple[int, int]) -> tuple[int, int]:
    """Return the numbers of words in the n-grams of a sparse model."""
    smallest, largest = ngram_range
    return smallest, max(smallest, min(largest, _MOST_WORDS))


class Terms(NamedTuple):
    """The distinct known n-grams of documents, by document; their values have the length 1."""

    rows: Integers
    columns: Integers
    values: Floats
    of_occurrence: Integers  # the term of each occurrence of a known n-gram
    counts: Integers

    @classmethod
    def of(cls, known: Occurrences, n_documents: int, idf: NDArray[np.float32]) -> Terms:
        """Weigh the occurrences of known n-grams in documents."""
        found, number, counts = np.unique(
            known.rows * len(idf) + known.columns, return_inverse=True, return_counts=True
        )
        rows, columns = np.divmod(found, max(len(idf), 1))
        values = (1 + np.log(counts)) * idf[columns]
        lengths = np.sqrt(np.bincount(rows, values**2, n_documents))
        return cls(rows, columns, values / lengths[rows], number, counts)


def _check_entries(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    if state["n_weights"].sum() != len(state["weights"]):
        raise ValueError(f"its {where}.n_weights do not sum to the number of weights")
    if state["problems"].max(initial=0) >= sizes["B"]:
        raise ValueError(f"its {where}.problems are beyond the {sizes['B']} that there are")


@dataclass(frozen=True)
class SparseNgramModel(NgramPart):
    """A linear classifier on the n-grams of a document, whose weights are mostly zero.

    All classes share one vector of a document, of length 1: 1 plus the logarithm of the count of
    each n-gram, times its inverse document frequency. So time and memory grow little with the
    number of classes. Weights are stored n-gram by n-gram, as in a sparse matrix.
    """

    idf: NDArray[np.float32]  # (F,)
    n_weights: NDArray[np.int32]  # (F,), problems for which an n-gram has a weight
    problems: NDArray[np.int32]  # (E,), that of each weight
    weights: NDArray[np.float32]  # (E,)
    intercept: NDArray[np.float32]  # (B,)

    kind = "sparse_ngrams"
    # f n-grams, e weights that are not zero, B binary problems of the target.
    SCHEMA: ClassVar[Schema] = Schema(
        (
            *NGRAM_FIELDS,
            Field("idf", Array("float32", "f", 1e-6, LARGEST_RATIO)),
            Field("n_weights", Array("int32", "f", 0)),
            Field("problems", Array("int32", "e", 0)),
            Field("weights", Array("float32", "e", -LARGEST_WEIGHT, LARGEST_WEIGHT)),
            Field("intercept", Array("float32", "B", -LARGEST_WEIGHT, LARGEST_WEIGHT)),
        ),
        rules=(_check_entries,),
    )

    @cached_property
    def _starts(self) -> Integers:
        """Where the weights of each n-gram start."""
        return np.cumsum(self.n_weights, dtype=np.int64) - self.n_weights

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, (D, K)."""
        scores = np.concatenate([self._scores(batch) for batch in batches(documents)])
        return self.target.expand(scores + self.intercept)

    def ngram_attributions(self, documents: DocumentArray, factors: Floats) -> NgramAttributions:
        """Divide a linear score of the logits among the n-grams."""
        found = self._known(documents)
        terms = Terms.of(found, len(documents), self.idf)
        owner, entries = self._entries(terms.columns)
        factors = self.target.restrict(factors)
        shares = self.weights[entries] * factors[terms.rows[owner], self.problems[entries]]
        values = terms.values * np.bincount(owner, shares, len(terms.rows)) / terms.counts
        by_occurrence = values[terms.of_occurrence]
        return NgramAttributions(found.keys, found.first_words, found.sizes, by_occurrence)

    def class_weights(self, keys: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the weights of n-grams for each class, (n_keys, K); zeros for unknown ones."""
        columns = self._column_table[buckets_of(keys)] - 1
        known = np.flatnonzero(columns >= 0)
        owner, entries = self._entries(columns[known])
        weights = np.zeros((len(keys), len(self.intercept)), dtype=np.float32)
        of_terms = self.weights[entries] * self.idf[columns[known]][owner]
        weights[known[owner], self.problems[entries]] = of_terms
        return self.target.expand(weights)

    def _scores(self, documents: DocumentArray) -> Floats:
        terms = Terms.of(self._known(documents), len(documents), self.idf)
        owner, entries = self._entries(terms.columns)
        n_problems = len(self.intercept)
        cells = terms.rows[owner] * n_problems + self.problems[entries]
        values = terms.values[owner] * self.weights[entries]
        summed = np.bincount(cells, values, len(documents) * n_problems)
        return summed.astype(np.float64).reshape(len(documents), n_problems)

    def _entries(self, columns: NDArray[np.integer[Any]]) -> tuple[Integers, Integers]:
        """Return the weights of n-grams as the position among these, and that of the weight."""
        lengths = self.n_weights[columns]
        owner = np.repeat(np.arange(len(columns)), lengths)
        before = np.cumsum(lengths, dtype=np.int64) - lengths
        return owner, np.arange(len(owner)) + (self._starts[columns] - before)[owner]
