"""Slices of documents with more mistakes than the others, and near copies of training documents.

Slices are formed by label, column, length, group and word. Near copies are found by the runs of
words that two documents share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import hypergeom

from sk_han._documents import concatenated_ranges, to_offsets
from sk_han._parts.columns import is_table, to_columns
from sk_han._text.analyzer import TOKEN_PATTERNS
from sk_han._text.reader import DocumentReader, Numbering
from sk_han._utils.containers import Flags, Floats, Integers
from sk_han._utils.metrics import accuracy_interval, effective_share
from sk_han._validation.cells import DATES, NUMBERS, Column, format_value, read_column
from sk_han.inspection._estimators import ReadDocuments
from sk_han.inspection._explanations import ExplainedModel
from sk_han.inspection._results.report import Slice

# A slice has this many documents or more, and this share of them or more, up to a half.
_FEWEST, _SMALLEST = 10, 0.02
_BINS = 20  # of lengths, numbers and dates
_LEVEL = 0.05  # probability of finding a slice if mistakes are random
_SHOWN, _EXAMPLES, _NAMES = 10, 3, 2
# Documents with fewer words may be alike by chance. Training documents are compared in portions,
# which limits the memory of their runs of words, and held-out ones at once so many.
_FEWEST_WORDS, _PORTION, _AT_ONCE = 30, 25_000, 500


class Candidates(NamedTuple):
    """Slices of one kind: their names, and their documents, the columns of a sparse matrix."""

    kind: str
    names: Sequence[str]
    members: Any  # (n_slices, D), 1 if a slice has a document

    def testable(self) -> Candidates:
        """Return the slices that are neither too small nor too large."""
        sizes, n = self.members.getnnz(axis=1), self.members.shape[1]
        kept = np.flatnonzero((sizes >= max(_FEWEST, _SMALLEST * n)) & (sizes <= n / 2))
        return Candidates(self.kind, [self.names[i] for i in kept.tolist()], self.members[kept])


def candidate_slices(
    X: Any,
    model: ExplainedModel | None,
    held_out: ReadDocuments,
    groups: Sequence[Any] | None,
    labels: Sequence[Any],
    has_label: Flags,
) -> Iterator[Candidates]:
    """Yield the slices of a report that are tested; `has_label` is (D, n_labels)."""
    yield Candidates("label", [*map(str, labels)], sparse.csr_matrix(has_label.T, dtype=np.int64))
    yield from _columns(X, model)
    if held_out.texts is not None:
        yield _by_word(held_out.texts)
    if held_out.n_words is not None:
        yield _by_value("length", Column("number", held_out.n_words.astype(float)))
    if groups is not None:
        yield _by_value("group", Column("category", np.array([*map(str, groups)])))


def _columns(X: Any, model: ExplainedModel | None) -> Iterator[Candidates]:
    """Yield the slices of each column of a table, whether the model reads it or not."""
    part = None if model is None else model.fitted.pool.columns
    texts, codings = ((), {}) if part is None else part.encoder[:2]
    table = {}
    with suppress(ValueError):  # columns without names of their own
        table = to_columns(X) if is_table(X) else {}
    for name, values in table.items():
        with suppress(TypeError):  # cells of a column that is not read may be anything
            if name not in texts:
                kind = codings[name].kind if name in codings else None
                yield _by_value("column", read_column(values, name, kind), f"{name} = ")


def _by_value(kind: str, column: Column, prefix: str = "") -> Candidates:
    """Return a slice for each value or, of numbers and dates, for each range of values.

    A range has a twentieth of the documents, or all up to there, or all from there.
    """
    rows, absent = np.flatnonzero(~column.missing), np.flatnonzero(column.missing)
    values, counts = np.unique(column.values[rows], return_counts=True)
    ends = to_offsets(counts)
    first = last = np.arange(len(values))
    if column.kind in (*NUMBERS, *DATES) and len(rows):
        starts = np.unique(_BINS * ends[:-1] // len(rows), return_index=True)[1]
        stops = np.append(starts[1:], len(values)) - 1
        edges = np.broadcast_arrays(
            [starts, 0 * starts, starts], [stops, stops, 0 * stops + last[-1]]
        )
        first, last = np.unique(np.reshape(edges, (2, -1)), axis=1)
    # The documents of a range follow each other when sorted.
    order, lengths = rows[np.argsort(column.values[rows])], ends[last + 1] - ends[first]
    indices = np.append(order[concatenated_ranges(ends[first], lengths)], absent)
    starts = to_offsets(np.append(lengths, len(absent)))
    cells = np.ones(len(indices), np.int64), indices, starts
    pairs = zip(values[first], values[last], strict=True)
    names = [" to ".join(dict.fromkeys(map(format_value, pair))) for pair in pairs]
    members = sparse.csr_matrix(cells, shape=(len(starts) - 1, len(column.values)))
    return Candidates(kind, [prefix + name for name in (*names, "missing")], members)


class _Words(NamedTuple):
    """Words of texts in reading order, as numbers, and the document of each."""

    names: list[str]
    numbers: Integers  # (T,)
    documents: Integers  # (T,)
    n_documents: int

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> _Words:
        """Split texts into words, whatever the tokenizer of the model reads."""
        types, forms, _ = DocumentReader(token_pattern=TOKEN_PATTERNS["words"]).tokenize([*texts])
        number_of = Numbering()
        numbers = np.fromiter(map(number_of.__getitem__, forms), np.int64, len(forms))
        documents = np.repeat(np.arange(len(texts)), np.diff(types.word_starts))
        return cls([*number_of], numbers[types.numbers], documents, len(texts))

    def runs(self, n: int, words: Any = None) -> tuple[Integers, Any]:
        """Return the numbers of the distinct runs of n words, and their documents in a matrix.

        Runs may be limited to marked `words`, (n_names,).
        """
        # With more than two million words, numbers of runs of three wrap around. Then two runs
        # may have the same number, which is very unlikely.
        last = max(0, len(self.numbers) - n + 1)
        number, document = np.zeros(last, np.int64), self.documents[:last]
        is_run = document == self.documents[n - 1 :][:last]
        for i in range(n):
            word = self.numbers[i : last + i]
            number = number * len(self.names) + word
            is_run &= True if words is None else words[word]
        runs, row = np.unique(number[is_run], return_inverse=True)
        cells = np.ones(len(row), np.int64), (row, document[is_run])
        members = sparse.csr_matrix(cells, shape=(len(runs), self.n_documents))
        members.data[:] = 1
        return runs, members


def _by_word(texts: Sequence[str]) -> Candidates:
    """Return the slices of words and of pairs of words."""
    words, n = _Words.from_texts(texts), len(texts)
    members = words.runs(1)[1]
    pairs, of_pairs = words.runs(2, members.getnnz(axis=1) >= max(_FEWEST, _SMALLEST * n))
    both = zip(*np.divmod(pairs, max(1, len(words.names))), strict=True)
    names = [f"{words.names[i]} {words.names[j]}" for i, j in both]
    return Candidates("word", [*words.names, *names], sparse.vstack([members, of_pairs], "csr"))


def found_slices(
    candidates: Iterable[Candidates], severity: Floats, groups: Integers | None
) -> tuple[tuple[Slice, ...], int]:
    """Return the slices in which more documents are wrong than elsewhere, and how many were tested.

    `severity` (D,) is above 0 for wrong documents. The test is Fisher's exact one, with Holm's
    correction within each kind of slices, and Bonferroni's for the number of kinds. Slices that
    share two thirds of their documents become one.
    """
    n, is_wrong = len(severity), severity > 0
    tested = [slices.testable() for slices in candidates]
    named = [(slices.kind, name) for slices in tested for name in slices.names]
    if not named:
        return (), 0
    members = sparse.vstack([slices.members for slices in tested], "csr")
    sizes, n_wrong = members.getnnz(axis=1), members @ is_wrong
    p = hypergeom.sf(n_wrong - 1, n, is_wrong.sum(), sizes)
    for i in np.flatnonzero(p <= _LEVEL).tolist():
        # Documents of one group are worth fewer, but not in the slice of their group.
        if groups is not None and named[i][0] != "group":
            rows = members[i].indices
            share = effective_share(is_wrong[rows], groups[rows])
            counts = np.ceil(np.array([n, is_wrong.sum(), sizes[i]]) * share)
            p[i] = hypergeom.sf(np.floor(n_wrong[i] * share) - 1, *counts)
    kinds, kind_of = np.unique([kind for kind, _ in named], return_inverse=True)
    for i in range(len(kinds)):
        order = np.flatnonzero(kind_of == i)
        order = order[np.argsort(p[order], kind="stable")]
        holm = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
        p[order] = holm * len(kinds)
    chosen = np.argsort(p, kind="stable")[: np.count_nonzero(p <= _LEVEL)]
    shared = (members[chosen] @ members[chosen].T).toarray()
    # Two thirds of the documents that either slice has.
    are_alike = 5 * shared >= 2 * (sizes[chosen] + sizes[chosen][:, np.newaxis])
    ranked, is_left = [], np.ones(len(chosen), bool)
    while is_left.any():
        alike = np.flatnonzero(is_left & are_alike[is_left.argmax()])
        is_left[alike] = False
        first, *others = chosen[alike].tolist()
        (kind, name), rows = named[first], np.sort(members[first].indices)
        wrong = rows[is_wrong[rows]]
        units = None if groups is None or kind == "group" else groups[rows]
        also = tuple(named[i][1] for i in others[:_NAMES])
        examples = wrong[np.argsort(-severity[wrong], kind="stable")][:_EXAMPLES]
        figures = len(wrong) / len(rows), *accuracy_interval(is_wrong[rows], units), float(p[first])
        one = Slice(kind, name, len(rows), *figures, also, tuple(examples.tolist()))
        excess = len(wrong) - len(rows) * (is_wrong.sum() - len(wrong)) / (n - len(rows))
        ranked.append((excess, one))
    ranked.sort(key=lambda pair: -pair[0])
    return tuple(one for _, one in ranked[:_SHOWN]), len(named)


def near_copies(texts: Sequence[str], training: Sequence[str]) -> Integers:
    """Return the texts, of 30 words and more, that are nearly the same as a training text.

    More than half of their distinct runs of three words occur in this one training text.
    """
    n, is_copy = len(texts), np.zeros(len(texts), bool)
    portion = max(n, _PORTION)
    for start in range(0, len(training), portion):
        words = _Words.from_texts([*texts, *training[start : start + portion]])
        members = words.runs(3)[1].tocsc()
        held_out, trained = members[:, :n], members[:, n:]
        sizes = held_out.getnnz(axis=0)
        is_shared = (held_out.getnnz(axis=1) > 0) & (trained.getnnz(axis=1) > 0)
        held_out, trained = held_out.tocsr()[is_shared].T.tocsr(), trained.tocsr()[is_shared]
        is_long = np.bincount(words.documents, minlength=n)[:n] >= _FEWEST_WORDS
        may_be = np.flatnonzero(is_long & (2 * held_out.getnnz(axis=1) > sizes))
        for first in range(0, len(may_be), _AT_ONCE):
            rows = may_be[first : first + _AT_ONCE]
            shared = (held_out[rows] @ trained).max(axis=1).toarray().ravel()
            is_copy[rows] |= 2 * shared > sizes[rows]
    return np.flatnonzero(is_copy)
