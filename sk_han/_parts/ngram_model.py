"""The n-gram model: its scores, the contributions of words to them, and its stored state."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, concatenated_ranges, document_chunks, to_offsets
from sk_han._kernels.engine import kernels, run_tasks
from sk_han._parts.ngrams import (
    BITS,
    LONGEST_WORD,
    WordTable,
    batches,
    check_ngram_range,
    column_table,
    keyed_ngrams,
    knows_words,
    to_buckets,
)
from sk_han._parts.pool import Part
from sk_han._storage.schema import Array, Field, Schema, Sizes
from sk_han._targets import Target
from sk_han._utils.containers import Flags, Floats, Integers

# Documents of a task of the kernel, and words whose characters are in memory at once.
_TASK_SIZE, _WORDS_AT_ONCE = 64, 1 << 17

# Multiplier of the hash table of a document's n-grams. It is random in each process, so that no
# document can be crafted whose n-grams collide.
_FACTOR = np.uint64(secrets.randbits(64) | 1)

# Kernels read arrays that are C-contiguous and aligned.
_contiguous = partial(np.require, requirements=["C", "A"])

# Documents cannot have n-grams of more words.
_LARGEST_SIZE = 1 << 31

# Limits for files, far beyond the results of fits, whose ratios are logarithms of counts or their
# squares. Sums of these and of their squares over a document stay within single precision.
_LARGEST_RATIO, _LARGEST_WEIGHT = 1e6, 1e12


class NgramCounts(NamedTuple):
    """Counts of n-grams in the training documents."""

    n_seen: NDArray[np.float32]  # (F,), documents with the n-gram
    inside: NDArray[np.float32]  # (F, B), the sum of their weights in each class
    outside: NDArray[np.float32]  # (F, B), and outside of it
    n_documents: Floats  # (1 + B,), sums of the weights of all documents, and of each class

    def select(self, features: Flags) -> NgramCounts:
        """Return the counts of some of the n-grams, marked in an array (F,)."""
        n_seen, inside, outside = (counts[features] for counts in self[:3])
        return NgramCounts(n_seen, inside, outside, self.n_documents)


class NgramAttributions(NamedTuple):
    """The contribution of each occurrence of a known n-gram to a score."""

    keys: NDArray[np.uint64]  # see `ngrams.keyed_ngrams`
    first_words: Integers  # positions in `DocumentArray.word_ids`
    sizes: Integers  # in words
    values: Floats


class _Terms(NamedTuple):
    """The distinct known n-grams of each document, (n_terms,)."""

    rows: Integers
    columns: Integers
    counts: Integers
    values: Floats  # 1, or 1 + log(count), before weighting by the ratios
    lengths: Floats  # (D, B) or (D, 1), of the vectors of the documents


def _check_range(value: Any, where: str, sizes: Sizes) -> None:
    # The message does not show the value, which may be as long as the file.
    is_pair = isinstance(value, list) and [type(n) for n in value] == [int, int]
    if not is_pair or value[0] > _LARGEST_SIZE:
        raise ValueError(f"its {where} is no range: it must be two numbers of words")
    try:
        check_ngram_range(tuple(value))
    except ValueError as error:
        raise ValueError(f"its {where} is no range: {error}") from error


def _check_weights(value: Any, where: str, sizes: Sizes) -> None:
    shape = "e" if np.ndim(value) == 1 else "f B"
    Array("float32", shape, -_LARGEST_WEIGHT, _LARGEST_WEIGHT)(value, where, sizes)


def _check_table(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    if state["lengths"].sum(dtype=np.int64) != len(state["characters"]):
        raise ValueError(f"its {where}.lengths do not sum to the number of characters")


def _check_weighting(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    """Check that the arrays of a state belong to one of the three weightings."""
    if sizes["K"] == 1:
        raise ValueError("its single class has an n-gram model")
    counts, problems, n_weights = (state[name] for name in ("counts", "problems", "n_weights"))
    is_sparse = state["weights"].ndim == 1
    if not (is_sparse == (problems is not None) == (n_weights is not None)):
        raise ValueError(f"its {where} has sparse weights without their places, or the reverse")
    if is_sparse:
        if n_weights.sum(dtype=np.int64) != len(state["weights"]):
            raise ValueError(f"its {where}.n_weights do not sum to the number of weights")
        if problems.max(initial=0) >= sizes["B"]:
            raise ValueError(f"its {where}.problems are beyond the {sizes['B']} that there are")
        if counts is not None:
            raise ValueError(f"its {where} has sparse weights and counts")
    if counts is None:
        if sizes["r"] != 1 or state["ratios"].min(initial=0) < 0:
            raise ValueError(
                f"its {where} has no counts, and its ratios are no squares or frequencies, (f, 1)"
            )
    elif sizes["r"] != sizes["B"]:
        raise ValueError(f"its {where}.ratios must have {sizes['B']} columns; got {sizes['r']}")
    elif counts["n_documents"][0] == 0:
        raise ValueError(f"its {where}.counts are of no documents")


@dataclass(frozen=True)
class NgramModel(Part):
    """A linear classifier whose score of a document is a sum over its n-grams.

    An n-gram is `n` consecutive words of a sentence or, with a `table`, characters of a word. With
    values ``x`` of the known n-grams ``g`` of a document, the score of problem ``b`` is
    ``intercept[b] + sum_g(x[g] * weights[g, b]) / sqrt(sum_g((x[g] * ratios[g, b]) ** 2))``, where
    weights are ratios times the coefficients of logistic regression. There are three weightings:

    - naive Bayes: `ratios` (F, B) are log-count ratios of each class against the rest, and x is 1.
      `counts` are what `partial_fit_ngram_model` continues from.
    - latent: `ratios` (F, 1) are squared inverse document frequencies, and x is 1.
    - TF-IDF, of more than 30 problems: `ratios` (F, 1) are inverse document frequencies, and x is 1
      plus the logarithm of the count. Most weights are zero. The others are stored as in a CSR
      matrix: `n_weights` has their number for each n-gram, and `problems` their columns.

    Models of characters also read out-of-vocabulary words: inflections, compounds, typos.
    """

    target: Target
    ngram_range: tuple[int, int]
    buckets: Integers  # (F,), hash values of the known n-grams, in rising order
    ratios: NDArray[np.float32]  # (F, B) or (F, 1)
    weights: NDArray[np.float32]  # (F, B), or (E,) if they are sparse
    intercept: NDArray[np.float32]  # (B,)
    counts: NgramCounts | None = None
    problems: NDArray[np.int32] | None = None  # (E,), of sparse weights
    n_weights: NDArray[np.int32] | None = None  # (F,)
    table: WordTable | None = None  # for the n-grams of characters

    kind = "ngrams"
    # f n-grams, B binary problems of the target, e sparse weights, c characters, V word ids.
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("ngram_range", _check_range),
            Field("buckets", Array("int64", "f", 0, (1 << BITS) - 1, rising=True)),
            Field("ratios", Array("float32", "f r", -_LARGEST_RATIO, _LARGEST_RATIO)),
            Field("weights", _check_weights),
            Field("intercept", Array("float32", "B", -_LARGEST_WEIGHT, _LARGEST_WEIGHT)),
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
            Field("problems", Array("int32", "e", 0), optional=True),
            Field("n_weights", Array("int32", "f", 0), optional=True),
            Field(
                "table",
                Schema(
                    (
                        Field("characters", Array("int32", "c", 0, 0x10FFFF)),
                        Field("lengths", Array("int32", "V", 0, LONGEST_WORD)),
                    ),
                    rules=(_check_table,),
                ),
                optional=True,
            ),
        ),
        rules=(_check_weighting,),
        letters={"d": lambda sizes: 1 + sizes["B"]},
    )

    @property
    def is_tfidf(self) -> bool:
        """Whether it uses TF-IDF, with sparse weights."""
        return self.problems is not None

    @property
    def sums_ngrams(self) -> bool:
        """Whether its scores are sums over n-grams of words."""
        return self.table is None

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state as arrays and plain values."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        del state["target"]
        groups = {name: state[name] and state[name]._asdict() for name in ("counts", "table")}
        return state | groups | {"ngram_range": list(self.ngram_range)}

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], target: Target, device: str = "cpu"
    ) -> NgramModel:
        """Create a model from the result of `to_state`, after a check by `SCHEMA`."""
        learnt: dict[str, Any] = {**state, "ngram_range": tuple(state["ngram_range"])}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                learnt[name] = value.copy()
        for name, kind in (("counts", NgramCounts), ("table", WordTable)):
            if state[name] is not None:
                learnt[name] = kind(**{key: value.copy() for key, value in state[name].items()})
        return cls(target, **learnt)

    def check(self, documents: DocumentArray) -> None:
        """Raise a ValueError if the model reads characters and lacks the spelling of a word."""
        if self.table is not None and not knows_words(documents):
            raise ValueError(
                "This model reads characters, but the documents have unknown words and do not hold "
                "how these are written. Give raw texts, or fit with linear_chars=None."
            )

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, (D, K)."""
        if self.table is None:
            scores = self._scores(documents)
        else:
            chunks = document_chunks(documents, _WORDS_AT_ONCE)
            scores = np.concatenate([self._scores(self.table.spell(chunk)) for chunk in chunks])
        # (D, B) -> (D, K)
        return self.target.expand(scores + self.intercept).astype(np.float64, copy=False)

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, by factors (D, K), among the words, exactly, (T,).

        The contribution of an n-gram is divided evenly among its occurrences, and that of an
        occurrence among its words; for n-grams of characters, a word gets the sum of its
        characters. The intercept belongs to no word.
        """
        read = documents if self.table is None else self.table.spell(documents)
        compiled = kernels("ngrams") if self.problems is None else None
        if compiled is not None:
            contributions = self._scores_by_kernel(compiled, read, self.target.restrict(factors))[1]
        else:
            pairs = zip(batches(read), batches(factors), strict=True)
            contributions = np.concatenate(
                [_over_words(self.ngram_attributions(*pair), pair[0].n_words) for pair in pairs]
            )
        if self.table is None or not documents.n_words:
            return contributions
        return np.add.reduceat(contributions, read.sentence_starts[:-1])

    def ngram_attributions(self, documents: DocumentArray, factors: Floats) -> NgramAttributions:
        """Divide a linear score of a batch's logits among the occurrences of n-grams."""
        keys, first_words, sizes = keyed_ngrams(documents, self.ngram_range)
        cells, is_known = self._cells(documents, keys, first_words)
        terms, number = self._terms(cells, len(documents))
        owner, problems, weights = self._take_weights(terms.columns)
        rows = terms.rows[owner]
        factors = self.target.restrict(factors) / terms.lengths  # (D, K) -> (D, B)
        shares = np.bincount(owner, weights * factors[rows, problems], len(terms.rows))
        values = (terms.values * shares / terms.counts)[number]
        return NgramAttributions(keys[is_known], first_words[is_known], sizes[is_known], values)

    def class_weights(self, keys: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the weights of n-grams for each class, (n_keys, K); zeros for unknown n-grams.

        With two classes, these are the weights of the log-odds of each class.
        """
        columns = self._column_table[to_buckets(keys)] - 1
        rows = np.flatnonzero(columns >= 0)
        owner, problems, values = self._take_weights(columns[rows])
        weights = np.zeros((len(keys), len(self.intercept)), dtype=np.float32)
        weights[rows[owner], problems] = values
        one_of_two = weights.shape[1] < self.target.n_scores
        return np.hstack([-weights, weights]) if one_of_two else weights

    def __getstate__(self) -> dict[str, Any]:
        """Leave out lookup tables, which are large and quickly recomputed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _column_table(self) -> NDArray[np.int32]:
        """Lookup table of hash values; a binary search took a third of the time of a prediction."""
        return column_table(self.buckets)

    @cached_property
    def _starts(self) -> Integers:
        """Where the sparse weights of each n-gram start."""
        assert self.n_weights is not None
        return to_offsets(self.n_weights)[:-1]

    def _scores(self, documents: DocumentArray) -> Floats:
        """Return scores without the intercept, (D, B)."""
        compiled = kernels("ngrams") if self.problems is None else None
        if compiled is not None:
            return self._scores_by_kernel(compiled, documents)[0]
        return np.concatenate([self._scores_of_batch(batch) for batch in batches(documents)])

    def _scores_by_kernel(
        self, compiled: ModuleType, documents: DocumentArray, factors: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return scores without the intercept, and words' contributions to ``factors @ scores``."""
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
            _contiguous(documents.word_ids),
            _contiguous(documents.sentence_starts),
            _contiguous(documents.document_starts),
            smallest,
            largest,
            self._column_table,
            _FACTOR,
            _contiguous(self.ratios),
            _contiguous(self.weights),
            longest,
            most_ngrams,
            scores,
            np.empty((0, n_scores)) if factors is None else _contiguous(factors),
            contributions,
        )
        return scores, contributions

    def _scores_of_batch(self, documents: DocumentArray) -> Floats:
        """Return scores without the intercept by NumPy, (D, B)."""
        keys, first_words, _ = keyed_ngrams(documents, self.ngram_range)
        terms, _ = self._terms(self._cells(documents, keys, first_words)[0], len(documents))
        owner, problems, weights = self._take_weights(terms.columns)
        D, B = len(documents), len(self.intercept)
        values = terms.values[owner] * weights
        sums = np.bincount(terms.rows[owner] * B + problems, values, D * B).reshape(D, B)
        return sums / terms.lengths

    def _cells(
        self, documents: DocumentArray, keys: NDArray[np.uint64], first_words: Integers
    ) -> tuple[Integers, Flags]:
        """Return row and column of known n-grams as one number, and flags of known n-grams."""
        columns = self._column_table[to_buckets(keys)] - 1
        is_known: Flags = columns >= 0
        rows = np.repeat(np.arange(len(documents)), documents.words_per_document)
        return rows[first_words[is_known]] * len(self.buckets) + columns[is_known], is_known

    def _terms(self, cells: Integers, n_documents: int) -> tuple[_Terms, Integers]:
        """Return the distinct n-grams of each document, and their number for each occurrence."""
        distinct, number, counts = np.unique(cells, return_inverse=True, return_counts=True)
        rows, columns = np.divmod(distinct, max(len(self.buckets), 1))
        values = 1 + np.log(counts) if self.is_tfidf else np.ones(len(counts))
        squares = (values[:, np.newaxis] * self.ratios[columns]) ** 2
        sums = [np.bincount(rows, column, n_documents) for column in squares.T]
        lengths = np.sqrt(np.stack(sums, axis=1))  # (D, B) or (D, 1)
        return _Terms(rows, columns, counts, values, np.where(lengths > 0, lengths, 1)), number

    def _take_weights(
        self, columns: NDArray[np.integer[Any]]
    ) -> tuple[Integers, NDArray[np.integer[Any]], NDArray[np.float32]]:
        """Return the weights of these n-grams: position in `columns`, problem, and weight."""
        if self.problems is None or self.n_weights is None:
            B = len(self.intercept)
            owner, problems = np.divmod(np.arange(len(columns) * B), B)
            return owner, problems, self.weights[columns].ravel()
        lengths = self.n_weights[columns]
        entries = concatenated_ranges(self._starts[columns], lengths)
        owner = np.repeat(np.arange(len(columns)), lengths)
        return owner, self.problems[entries], self.weights[entries]


def _over_words(ngrams: NgramAttributions, n_words: int) -> Floats:
    """Divide the contribution of each n-gram evenly among its words; return sums, (T,)."""
    word_values = ngrams.values / ngrams.sizes
    contributions = np.zeros(n_words)
    for k in range(int(ngrams.sizes.max(initial=0))):
        reaches = ngrams.sizes > k
        contributions += np.bincount(ngrams.first_words[reaches] + k, word_values[reaches], n_words)
    return contributions
