"""The result of `audit_labels`: labels with the probability that each is wrong."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import (
    Block,
    Heading,
    Sentence,
    Span,
    Table,
    Text,
    entry,
    more,
    percent,
)
from sk_han._rendering.result import Extent, ReadOnlyResult
from sk_han._rendering.shading import document_blocks, legend
from sk_han._utils.containers import document_name, make_frame
from sk_han._utils.files import write_csv
from sk_han._utils.messages import plural
from sk_han.inspection._results.collection import ExplanationList

if TYPE_CHECKING:
    from pandas import DataFrame

# If models agree with a smaller share of labels, doubts only serve as ranks. With simulated noise
# in 2 to 10 % of the labels, the mean doubt of the first 12 labels was .92 to .94 at any agreement.
# But .96 of them were wrong at an agreement of .9, .86 at .85, .82 at .8, .78 at .75, .64 at .7,
# and .53 at .65 and .6.
ENOUGH_RIGHT = 0.8
FIRST = 100
PAIRS, CONFLICTS = 10, 20
SHOWN = {"page": 200, "notebook": 20, "terminal": 20}
JUDGED = "Each document was judged by a model that was not fitted to it. "
DOUBTS = (
    "The doubt is the estimated probability that a label is wrong. It assumes that the most "
    "confident predictions are right, and cannot distinguish a wrong label from a mistake that the "
    "models share, so look at the texts. Doubts are too low if most errors are of one kind, for "
    "example missing labels."
)


class DoubtfulLabel(NamedTuple):
    """An entry of a `LabelAudit`.

    `suggested` is the most probable other class. With several labels per document it is None, and
    `marked` is whether the document has the label, which may be wrong, or lacks it, perhaps
    wrongly.
    """

    document: int
    label: Any
    suggested: Any
    marked: bool
    doubt: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelAudit(ReadOnlyResult):
    """Labels with the probability that each is wrong, by decreasing doubt.

    It is the result of `audit_labels`, with an entry for each document or, with several labels per
    document, for each doubtful label that a document has or lacks.

    Parameters
    ----------
    documents : ndarray of int64, shape (n_entries,)
        Row of the document in the audited data.
    given : ndarray of int64, shape (n_entries,)
        Position of the label in `labels`.
    suggested : ndarray of int64, shape (n_entries,)
        Position of the most probable other class; -1 with several labels per document.
    doubts : ndarray of float64, shape (n_entries,)
        Estimated probability that the label is wrong.
    probabilities : ndarray of float64, shape (n_documents, n_labels)
        Cross-validated probabilities before calibration; 0 for documents that could not be judged.
    labels : tuple
        Names of all classes or labels.
    marked : ndarray of bool, shape (n_entries,), default=None
        With several labels per document, whether the document has the label; else None.
    texts : tuple of n_documents str, default=None
        The documents; None if they are not raw texts.
    conflicts : tuple of tuples of int, default=()
        Rows of documents with the same words but different labels.
    explanations : ExplanationList, optional
        Explanations of the first entries: why the suggested class and not the given class?
    notes : tuple of str, default=()
        Remarks on how reliable the audit is.
    ids : tuple of length n_documents, default=None
        Ids that name documents on pages and in tables; None for rows.
    agreement : float, default=1.0
        Share of the judged labels that the models predict. Below 0.8, doubts are too high, and
        pages and text show ranks instead.
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
    ids: tuple[Any, ...] | None = None
    agreement: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """Return the entry at a position, or the entries of a slice."""
        if isinstance(place, slice):
            return list(map(self._entry, range(len(self))[place]))
        return self._entry(place)

    @property
    def n_documents(self) -> int:
        """Number of audited documents."""
        return len(self.probabilities)

    @property
    def is_calibrated(self) -> bool:
        """Whether the models agree with enough labels for doubts to be probabilities."""
        return self.agreement >= ENOUGH_RIGHT

    def n_expected(self, n: int | None = None) -> float:
        """Return the expected number of wrong labels among the first n; None for all."""
        return float(self.doubts[:n].sum())

    def weights(self) -> NDArray[np.float64]:
        """Return the probability that a document's labels are right, shape (n_documents,).

        With ``fit(X, y, sample_weight=audit.weights())`` a model learns less from doubtful labels.
        """
        weights = np.ones(self.n_documents)
        np.multiply.at(weights, self.documents, 1 - self.doubts)
        return weights

    def confused(self) -> list[tuple[Any, Any, float]]:
        """Return triples of given class, suggested class and expected number of errors, sorted.

        With several labels per document, the second entry is whether documents have the label. The
        most frequent errors come first.
        """
        sums: dict[tuple[Any, Any], float] = {}
        for one in self:
            pair = (one.label, one.marked if self.marked is not None else one.suggested)
            sums[pair] = sums.get(pair, 0.0) + one.doubt
        return sorted(((*pair, n) for pair, n in sums.items()), key=lambda triple: -triple[2])

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one row per entry, in the same order.

        Its columns are the fields of `DoubtfulLabel`, and ``text`` if there are texts. With one
        label per document ``marked`` is left out, with several labels ``suggested``.
        """
        return make_frame(self._columns())

    def to_csv(
        self,
        path: str | os.PathLike[str],
        *,
        sep: str = ",",
        decimal: str = ".",
        encoding: str = "utf-8-sig",
    ) -> None:
        """Write the rows of `to_frame` as CSV, with an empty column ``decision`` to fill in.

        Doubts are left out if they are not calibrated, as on the page.

        Parameters
        ----------
        path : path-like
            Compressed if the name ends in .gz.
        sep : str, default=","
            The character between columns.
        decimal : str, default="."
            The mark of decimals.
        encoding : str, default="utf-8-sig"
            Encoding of the file. The default has the byte order mark that Excel needs.
        """
        columns = self._columns()
        if not self.is_calibrated:
            del columns["doubt"]
        rows = zip(*columns.values(), strict=True)
        filled = ([*row, ""] for row in rows)
        write_csv(path, [*columns, "decision"], filled, sep, decimal, encoding)

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
        rows: list[Any] = self.documents.tolist()
        columns = {"document": rows if self.ids is None else [self.ids[row] for row in rows]}
        if self.texts is not None:
            columns["text"] = [self.texts[row] for row in rows]
        for name in ("label", "suggested" if self.marked is None else "marked", "doubt"):
            columns[name] = [getattr(entry, name) for entry in self]
        return columns

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        yield Heading(f"Label audit of {plural(self.n_documents)}", 1)
        in_terminal = extent == "terminal"
        # Notes come first: the number of wrong labels is no more reliable than the models.
        yield from map(Sentence, self.notes)
        yield Sentence(self._expected_sentence(), "han-lead")
        if not in_terminal:
            yield Sentence(JUDGED + DOUBTS * self.is_calibrated)
            pairs = [triple for triple in self.confused()[:PAIRS] if triple[2] >= 0.5]
            if pairs and self.is_calibrated:
                yield Heading("Most confused labels")
                heading = "Suggested" if self.marked is None else "Error"
                rows = [[Span(label), self._other(pair), f"{n:.0f}"] for label, pair, n in pairs]
                yield Table(rows, ["Label", heading, "Expected wrong"])
            if self.conflicts:
                yield Heading("Same words, different labels")
                for group in self.conflicts[:CONFLICTS]:
                    numbers = ", ".join(document_name(row, self.ids) for row in group)
                    yield entry(f"Documents {numbers}:", self._text(group[0]))
                yield from more(len(self.conflicts) - CONFLICTS, "group")
        if len(self):
            yield Heading("Most doubtful labels")
        if not in_terminal:
            yield from legend(list(self.explanations))
        shown = SHOWN[extent]
        for place, one in enumerate(self[:shown]):
            content: list[Block] = []
            if place < len(self.explanations) and not in_terminal:
                content = document_blocks([self.explanations[place]])
            label, other = Span(one.label, "strong"), Span(one.suggested, "strong")
            verdict: list[Any] = ["labelled ", label, ", suggested ", other]
            if self.marked is not None:
                verdict = [label, f" may be {'wrong' if one.marked else 'missing'}"]
            doubt = (
                f" (doubt {percent(one.doubt)})" if self.is_calibrated else f" (rank {place + 1})"
            )
            name = document_name(one.document, self.ids)
            head: Text = [f"Document {name}: ", *verdict, doubt]
            yield entry(
                head, self._text(one.document), content, is_open=not place and bool(content)
            )
        yield from more(len(self) - shown, "label")

    def _text(self, row: int) -> str | None:
        return None if self.texts is None else self.texts[row]

    def _other(self, value: Any) -> Text:
        """Render the second entry of a triple of `confused`."""
        if self.marked is None:
            return Span(value)
        return "given but wrong" if value else "missing"

    def _expected_sentence(self) -> list[Any]:
        """Return a sentence on the expected number of wrong labels and the most frequent error."""
        if not self.is_calibrated:
            return ["Labels are ranked, the most doubtful first: how many are wrong is unknown."]
        n_wrong = f"{self.n_expected():,.0f}"
        labels, are = ("label", "is") if n_wrong == "1" else ("labels", "are")
        text: list[Any] = [
            f"About {n_wrong} {labels} of {plural(self.n_documents)} {are} expected to be wrong"
        ]
        if len(self) > FIRST:
            n_first = f"{self.n_expected(FIRST):,.0f}"
            text.append(f", {n_first} of them among the {FIRST} most doubtful")
        for label, other, n in self.confused()[:1]:
            if n >= 1:
                joint = " instead of " if self.marked is None else " "
                text += [". Most often: ", Span(label), joint, self._other(other), f" ({n:,.0f})"]
        return [*text, "."]

    def __repr__(self) -> str:
        outcome = f"{self.n_expected():.0f} expected wrong" if self.is_calibrated else "ranked"
        return f"LabelAudit({plural(self.n_documents)}, {outcome})"
