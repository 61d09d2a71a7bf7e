"""The n-gram model: naive-Bayes-weighted logistic regression on n-grams, beside the network."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.kernels.engine import kernels, run_tasks
from sk_han.parts.ngrams.hashing import batches, buckets_of
from sk_han.parts.ngrams.ngram_part import (
    LARGEST_RATIO,
    LARGEST_WEIGHT,
    NGRAM_FIELDS,
    NgramAttributions,
    NgramPart,
)
from sk_han.storage.schema import Array, Field, Schema, Sizes
from sk_han.targets import Target
from sk_han.utils.containers import Flags, Floats, Integers

_TASK_SIZE = 64  # documents that a thread takes at once

# Of the table of a document's n-grams, of 64 bits and odd: another one in each process, so that no
# document is written against it.
_FACTOR = np.uint64(secrets.randbits(64) | 1)


class NgramCounts(NamedTuple):
    """Counts of n-grams in the training documents."""

    n_seen: NDArray[np.float32]  # (F,), documents with the n-gram
    inside: NDArray[np.float32]  # (F, B), the sum of their weights in each class
    outside: NDArray[np.float32]  # (F, B), and outside of it
    n_documents: Floats  # (1 + B,), weights of all, and of each class

    def of(self, features: Flags) -> NgramCounts:
        """Return the counts of some of the n-grams, marked in an array (F,)."""
        n_seen, inside, outside = (counts[features] for counts in self[:3])
        return NgramCounts(n_seen, inside, outside, self.n_documents)


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
class NgramModel(NgramPart):
    """A linear classifier on the n-grams of a document: its score is a sum over them.

    An n-gram is `n` neighbouring words of a sentence. It counts once a document.
    With the known n-grams ``g`` of a document, the score of problem ``b`` is
    ``intercept[b] + sum_g(weights[g, b]) / sqrt(sum_g(ratios[g, b] ** 2))``.

    Ratios are log-count ratios of each class against the rest; those of a latent model, (F, 1), do
    not depend on the class. Weights are ratios times their coefficients from logistic regression.
    `counts` are what `partial_fit_ngram_model` goes on from; a latent model has none.
    """

    ratios: NDArray[np.float32]  # (F, B) or (F, 1)
    weights: NDArray[np.float32]  # (F, B)
    intercept: NDArray[np.float32]  # (B,)
    counts: NgramCounts | None = None

    kind = "ngrams"
    # f n-grams, B binary problems of the target.
    SCHEMA: ClassVar[Schema] = Schema(
        (
            *NGRAM_FIELDS,
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

    def to_state(self) -> dict[str, Any]:
        """Return the learnt state as arrays and plain values."""
        counts = None if self.counts is None else self.counts._asdict()
        return super().to_state() | {"counts": counts}

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], target: Target, device: str = "cpu"
    ) -> NgramModel:
        """Create a model from the result of `to_state`, which has been checked by `SCHEMA`."""
        learnt = {name: value for name, value in state.items() if name != "counts"}
        model: NgramModel = super().from_state(learnt, target, device)
        if state["counts"] is None:
            return model
        copies = {name: array.copy() for name, array in state["counts"].items()}
        return replace(model, counts=NgramCounts(**copies))

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, (D, K)."""
        compiled = kernels("ngrams")
        if compiled is None:
            scores = np.concatenate([self._scores(batch) for batch in batches(documents)])
        else:
            scores, _ = self._compiled(compiled, documents)
        # (D, B) -> (D, K)
        return self.target.expand(scores + self.intercept).astype(np.float64, copy=False)

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words; see `NgramPart`."""
        compiled = kernels("ngrams")
        if compiled is None:
            return super().attributions(documents, factors)
        return self._compiled(compiled, documents, self.target.restrict(factors))[1]

    def ngram_attributions(self, documents: DocumentArray, factors: Floats) -> NgramAttributions:
        """Divide a linear score of the logits of a batch among the occurrences of n-grams."""
        factors = self.target.restrict(factors)  # (D, K) -> (D, B)
        keys, first, n, rows, columns = self._known(documents)
        distinct, number, count = np.unique(
            rows * len(self.buckets) + columns, return_inverse=True, return_counts=True
        )
        rows, columns = np.divmod(distinct, len(self.buckets))
        lengths = self._lengths(rows, columns, len(documents))
        values = (factors[rows] / lengths[rows] * self.weights[columns]).sum(axis=1)
        return NgramAttributions(keys, first, n, (values / count)[number])

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
        factors: Floats | None = None,
    ) -> tuple[Floats, Floats]:
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

    def _scores(self, documents: DocumentArray) -> Floats:
        """Return scores without the intercept, (D, B)."""
        known = self._known(documents)
        each_once = np.unique(known.rows * len(self.buckets) + known.columns)
        rows, columns = np.divmod(each_once, len(self.buckets))
        lengths = self._lengths(rows, columns, len(documents))
        return _sums(rows, self.weights[columns], len(documents)) / lengths

    def _lengths(
        self, rows: Integers, columns: NDArray[np.integer[Any]], n_documents: int
    ) -> Floats:
        """Return the norms of the documents' vectors of ratios, (D, B); 1 if it is 0."""
        lengths = np.sqrt(_sums(rows, self.ratios[columns] ** 2, n_documents))
        return np.where(lengths > 0, lengths, 1)


def _sums(rows: Integers, values: NDArray[Any], n_rows: int) -> Floats:
    """Sum values of shape (n_pairs, S) by their rows, shape (n_rows, S)."""
    return np.stack([np.bincount(rows, column, n_rows) for column in values.T], axis=1)


def _in_one_piece(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as kernels take it: without gaps, numbers at multiples of their size."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(array, requirements=("C", "A"))
