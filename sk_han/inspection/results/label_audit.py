"""Labels that may be wrong: read-only data, without a model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.result import Extent, ReadOnlyResult, freeze
from sk_han.rendering.blocks import Block, Heading, Sentence, Span, Table, Text, entry, more
from sk_han.rendering.shading import document_blocks, legend
from sk_han.utils.containers import frame_of
from sk_han.utils.files import write_csv
from sk_han.utils.messages import counted

if TYPE_CHECKING:
    from pandas import DataFrame

FIRST = 100
PAIRS, CONFLICTS = 10, 20
SHOWN = {"page": 200, "notebook": 20, "terminal": 20}
METHOD = (
    "Up to five models were fitted, each without a part of the documents, and predicted these. A "
    "doubt is an estimate of the chance that a label is wrong. It assumes that what the models are "
    "surest of is right, and cannot distinguish a wrong label from a mistake that the models "
    "share: a person has to look. Where errors go one way, as labels that are missing do, expect "
    "it to be too low."
)


class DoubtfulLabel(NamedTuple):
    """A label that may be wrong, as `LabelAudit` lists them.

    `suggested` is the class that was likelier meant. With several labels a document it is None, and
    `marked` is whether the document has the label: then it may be wrong, else missing.
    """

    document: int
    label: Any
    suggested: Any
    marked: bool
    doubt: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelAudit(ReadOnlyResult):
    """The labels of documents, and how likely each is wrong, the most doubtful first.

    `audit_labels` returns it. Arrays are of n_entries labels: one for each document or, of several
    labels a document, each label that is doubtful at all, given or missing.

    Parameters
    ----------
    documents : ndarray of int64, shape (n_entries,)
        The row of the document in what was audited.
    given : ndarray of int64, shape (n_entries,)
        The number of the label in `labels`.
    suggested : ndarray of int64, shape (n_entries,)
        The number of the most probable other class; -1 with several labels a document.
    doubts : ndarray of float64, shape (n_entries,)
        The chance that the label is wrong.
    probabilities : ndarray of float64, shape (n_documents, n_labels)
        Predicted by models that were not fitted to the document, before doubts are computed; zeros
        of one that was not looked at.
    labels : tuple
        Names of all classes or labels.
    marked : ndarray of bool, shape (n_entries,), default=None
        With several labels a document, whether the document has the label; else None.
    texts : tuple of n_documents str, default=None
        The documents; None if they are not raw texts.
    conflicts : tuple of tuples of int, default=()
        Rows of documents of the same words that have different labels.
    explanations : ExplanationList, optional
        Of the first labels: why the suggested class and not the given one.
    notes : tuple of str, default=()
        What one must know to read the audit.
    """

    documents: NDArray[np.int64]
    given: NDArray[np.int64]
    suggested: NDArray[np.int64]
    doubts: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    labels: tuple[Any, ...]
    marked: NDArray[np.bool_] | None = None
    texts: tuple[str, ...] | None = None
    conflicts: tuple[tuple[int, ...], ...] = ()
    explanations: ExplanationList = dataclasses.field(default_factory=ExplanationList)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.documents)
        freeze(
            self,
            {
                "documents": ((n,), np.int64),
                "given": ((n,), np.int64),
                "suggested": ((n,), np.int64),
                "doubts": ((n,), np.float64),
                "marked": ((n,), np.bool_),
                "probabilities": ((None, len(self.labels)), np.float64),
            },
        )
        conflicts = tuple(tuple(map(int, group)) for group in self.conflicts)
        object.__setattr__(self, "conflicts", conflicts)

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[DoubtfulLabel]:
        return map(self._entry, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> DoubtfulLabel: ...

    @overload
    def __getitem__(self, place: slice) -> list[DoubtfulLabel]: ...

    def __getitem__(self, place: int | slice) -> DoubtfulLabel | list[DoubtfulLabel]:
        """Return the entry at a place of the order, from 0, or those of a slice."""
        if isinstance(place, slice):
            return list(map(self._entry, range(len(self))[place]))
        return self._entry(place)

    @property
    def n_documents(self) -> int:
        """Number of all documents, listed or not."""
        return len(self.probabilities)

    def n_expected(self, n: int | None = None) -> float:
        """Return how many of the first n labels are expected to be wrong; None for all."""
        return float(self.doubts[:n].sum())

    def weights(self) -> NDArray[np.float64]:
        """Return the chance that all labels of a document are right, shape (n_documents,).

        For ``fit(X, y, sample_weight=audit.weights())``, so that a model learns less from labels
        that are likely wrong.
        """
        found = np.ones(self.n_documents)
        np.multiply.at(found, self.documents, 1 - self.doubts)
        return found

    def confused(self) -> list[tuple[Any, Any, float]]:
        """Return pairs of a given and a suggested class, and how many are expected to be wrong.

        The most frequent first. With several labels a document: the label, whether it is marked,
        and how many of these marks are expected to be wrong.
        """
        sums: dict[tuple[Any, Any], float] = {}
        for one in self:
            pair = (one.label, one.marked if self.marked is not None else one.suggested)
            sums[pair] = sums.get(pair, 0.0) + one.doubt
        return sorted(((*pair, n) for pair, n in sums.items()), key=lambda found: -found[2])

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each entry, in their order.

        Its columns are the fields of an entry, and ``text`` if there are texts. Of one label a
        document ``marked`` is left out, of several labels ``suggested``.
        """
        return frame_of(self._columns(), "LabelAudit.to_frame")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of `to_frame` in UTF-8, with an empty column ``decision`` to fill in.

        Parameters
        ----------
        path : path-like
            Compressed if the name ends in .gz. The file begins with a byte order mark, as Excel
            needs; Python's `open` leaves it out with ``encoding="utf-8-sig"``.
        """
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        write_csv(path, [*columns, "decision"], ([*row, ""] for row in rows))

    def _entry(self, place: int) -> DoubtfulLabel:
        other = int(self.suggested[place])
        return DoubtfulLabel(
            int(self.documents[place]),
            self.labels[self.given[place]],
            None if other < 0 else self.labels[other],
            self.marked is None or bool(self.marked[place]),
            float(self.doubts[place]),
        )

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {"document": self.documents.tolist()}
        if self.texts is not None:
            columns["text"] = [self.texts[row] for row in columns["document"]]
        for name in ("label", "suggested" if self.marked is None else "marked", "doubt"):
            columns[name] = [getattr(entry, name) for entry in self]
        return columns

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        yield Heading(f"Labels of {counted(self.n_documents)}", 1)
        in_terminal = extent == "terminal"
        # Notes come first: where the models cannot be relied on, nor can the number.
        yield from map(Sentence, self.notes)
        yield Sentence(self._expected(), "han-lead")
        if not in_terminal:
            yield Sentence(METHOD)
            pairs = [found for found in self.confused()[:PAIRS] if found[2] >= 0.5]
            if pairs:
                yield Heading("Most confused labels")
                heading = "Rather" if self.marked is None else "Doubt"
                rows = [[Span(label), self._other(pair), f"{n:.0f}"] for label, pair, n in pairs]
                yield Table(rows, ["Label", heading, "Expected wrong"])
            if self.conflicts:
                yield Heading("The same words with different labels")
                for group in self.conflicts[:CONFLICTS]:
                    numbers = ", ".join(f"{row:,}" for row in group)
                    yield entry(f"Documents {numbers}:", self._text(group[0]))
                yield from more(len(self.conflicts) - CONFLICTS, "group")
        if len(self):
            yield Heading("The most doubtful labels")
        if not in_terminal:
            yield from legend(list(self.explanations), "contributions")
        shown = SHOWN[extent]
        for place, one in enumerate(self[:shown]):
            content: list[Block] = []
            if place < len(self.explanations) and not in_terminal:
                content = document_blocks([self.explanations[place]], "contributions")
            label, other = Span(one.label, "strong"), Span(one.suggested, "strong")
            said: list[Any] = ["labelled ", label, ", rather ", other]
            if self.marked is not None:
                said = [label, " is marked, rather not" if one.marked else " is missing, perhaps"]
            head: Text = [
                Span(f"{one.doubt:.3f}", "number"),
                f" document {one.document:,}: ",
                *said,
            ]
            yield entry(
                head, self._text(one.document), content, is_open=not place and bool(content)
            )
        yield from more(len(self) - shown, "label")

    def _text(self, row: int) -> str | None:
        return None if self.texts is None else self.texts[row]

    def _other(self, found: Any) -> Text:
        """Return the other one of a pair of `confused`."""
        if self.marked is None:
            return Span(found)
        return "marked where it is wrong" if found else "missing where it is right"

    def _expected(self) -> list[Any]:
        """Return how many labels are expected to be wrong, and which are most often."""
        first = min(FIRST, len(self))
        n_wrong = f"{self.n_expected():,.0f}"
        labels = "label is" if n_wrong == "1" else "labels are"
        said: list[Any] = [
            f"{counted(self.n_documents)}: about {n_wrong} {labels} expected to be wrong"
        ]
        if first:
            said.append(f", {self.n_expected(first):,.0f} of the {first} most doubtful")
        for label, other, n in self.confused()[:1]:
            if n >= 1:
                joint = " for " if self.marked is None else ", "
                said += ["; most often ", Span(label), joint, self._other(other), f" ({n:,.0f})"]
        return [*said, "."]

    def __repr__(self) -> str:
        return f"LabelAudit({counted(self.n_documents)}, {self.n_expected():.0f} expected wrong)"
