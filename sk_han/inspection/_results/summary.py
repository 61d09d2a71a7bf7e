"""The result of `summarize`: words and n-grams that speak for each class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sk_han._rendering.blocks import (
    Bar,
    Block,
    Columns,
    Fold,
    Heading,
    Sentence,
    Span,
    Table,
    Text,
    amount,
    decimal,
    number,
    percent,
    with_minus,
)
from sk_han._rendering.result import Extent, Result
from sk_han._utils.containers import listed, make_frame
from sk_han._utils.messages import in_one_line, plural

if TYPE_CHECKING:
    from pandas import DataFrame

Part = Literal["network", "ngrams", "columns"]

# The number of characters of a context on each side of a term, and of a term in a terminal.
AROUND = 40
LONGEST_TERM = 28
OPEN_CLASSES, CLASSES_IN_TERMINAL = 3, 10
PART_TITLES: dict[Part, str] = {
    "network": "Words (network)",
    "ngrams": "Words and n-grams (linear models)",
    "columns": "Columns",
}
# Relative to a smaller drop in probability, shares of it would be meaningless.
_LEAST_DROP = 0.05


@dataclass(frozen=True)
class Context:
    """An occurrence of a term.

    Attributes
    ----------
    document : int
        Row of the document in the data.
    start, end : int
        Position in the document: ``text[start:end]`` is the term as spelled there.
    before, written, after : str
        Up to 40 characters before the term, the term as spelled, and up to 40 characters after it.
    predicted : object
        Class predicted for the document.
    """

    document: int
    start: int
    end: int
    before: str
    written: str
    after: str
    predicted: Any

    @property
    def cut_before(self) -> bool:
        """Whether the text starts before `before`."""
        return self.start > len(self.before)

    @property
    def cut_after(self) -> bool:
        """Whether the text may continue after `after`."""
        return len(self.after) == AROUND


@dataclass(frozen=True)
class Term:
    """A word, n-gram or value of a column that speaks for or against a class.

    Attributes
    ----------
    text : str
        The term as the model reads it, for example in lower case; "product = phone" for a column.
    part : {"network", "ngrams", "columns"}
        The part that reads the term: the network, the n-gram models or the model of columns.
    contribution : float
        Mean contribution to the log-odds of the class, over the documents that contain the term.
        Above 0 it speaks for the class, below 0 against it.
    n_documents : int
        Number of documents of the class that contain the term.
    share : float
        Share of the documents of the class (`ClassSummary.n_documents`) that contain the term.
    decides : float or None
        Share of these `n_documents`, or of 100 drawn from them, in which removing all occurrences
        of the term changes the prediction from or to this class. None with sentence vectors.
    weight : float or None
        Weight of this n-gram for the class: the sum over the linear models, times their scales. The
        score of a document is the sum of these weights, divided by a norm that grows with their
        number. For a value of a column, what it adds to the score. None for the network.
    contexts : tuple of Context
        Up to three occurrences; empty for columns.
    """

    text: str
    part: Part
    contribution: float
    n_documents: int
    share: float
    decides: float | None = None
    weight: float | None = None
    contexts: tuple[Context, ...] = ()

    @property
    def speaks_for(self) -> bool:
        """Whether the term speaks for the class, and not against it."""
        return self.contribution > 0


@dataclass(frozen=True)
class Removal:
    """How predictions change without the words that a summary lists.

    From each document, the words listed for its predicted class are removed; for comparison, as
    many random words, and all words.

    Attributes
    ----------
    n_documents : int
    share_of_words : float
        Share of the words that were removed.
    fall, fall_random, fall_all : float
        Mean drop in the probability of the predicted class without the listed words, without as
        many random words, and without any words.
    changed, changed_random, changed_all : float
        Share of documents whose predicted class changes.
    """

    n_documents: int
    share_of_words: float
    fall: float
    fall_random: float
    fall_all: float
    changed: float
    changed_random: float
    changed_all: float

    @property
    def carried(self) -> float | None:
        """`fall` as a share of `fall_all`; None if that is below 0.05."""
        return self.fall / self.fall_all if self.fall_all >= _LEAST_DROP else None

    @property
    def carried_random(self) -> float | None:
        """`fall_random` as a share of `fall_all`; None if that is below 0.05."""
        return self.fall_random / self.fall_all if self.fall_all >= _LEAST_DROP else None


@dataclass(frozen=True)
class ClassSummary:
    """The terms that speak for and against one class.

    Attributes
    ----------
    label : object
    n_documents : int
        Number of documents explained for the class.
    n_predicted : int
        Number of those that were predicted as the class.
    network, ngrams : float
        Total contribution of all words to the log-odds of the class, by the network and by the
        linear models: mean over the documents predicted as the class, 0 without any.
    terms : tuple of Term
        Terms of the network come first; for each part, terms for the class before those against it.
        They are ranked by contribution times the square root of the number of documents.
    removal : Removal or None
        Effects on documents predicted as the class. None without any, or with sentence vectors.
    columns : float
        Total contribution of the columns of a table, averaged like `network`; 0 without columns.
    """

    label: Any
    n_documents: int
    n_predicted: int
    network: float
    ngrams: float
    terms: tuple[Term, ...]
    removal: Removal | None = None
    columns: float = 0.0

    @property
    def n_others(self) -> int:
        """Number of documents that were predicted as another class."""
        return self.n_documents - self.n_predicted

    def of(self, part: Part, *, speaks_for: bool) -> tuple[Term, ...]:
        """Return the terms of a part for the class, or against it."""
        return tuple(
            term for term in self.terms if term.part == part and term.speaks_for == speaks_for
        )


@dataclass(frozen=True)
class Summary(Result):
    """Words and n-grams that speak for and against each class, over many documents.

    It is the result of `sk_han.summarize`.

    Attributes
    ----------
    classes : tuple of ClassSummary
        In the order of the model's ``classes_``.
    n_documents : int
        Number of documents read.
    n_given : int
        Number of documents from which they were drawn.
    removal : Removal or None
        How all predictions change without the listed words. None with sentence vectors.
    several_labels : bool
        Whether a document may have several labels. "Predicted" then means the most probable one.
    middle : float or None
        For a model of numbers, the number that separates the classes "lower" and "higher", about
        the median of the fit.
    """

    classes: tuple[ClassSummary, ...]
    n_documents: int
    n_given: int
    removal: Removal | None = None
    several_labels: bool = False
    middle: float | None = None

    def __getitem__(self, label: Any) -> ClassSummary:
        """Return the summary of the class with this label."""
        for summary in self.classes:
            if summary.label == label:
                return summary
        classes = listed([summary.label for summary in self.classes], 20)
        raise KeyError(f"{label!r} is not one of the classes {classes}.")

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one row per class and term.

        Its columns are the class and the fields of `Term`, with contexts as strings with the term
        in brackets.
        """
        numbers = {
            "contribution": float,
            "n_documents": int,
            "share": float,
            "decides": float,
            "weight": float,
        }
        pairs = [(summary.label, term) for summary in self.classes for term in summary.terms]
        terms = [term for _, term in pairs]
        frame = make_frame(
            {
                "class": [label for label, _ in pairs],
                "part": [term.part for term in terms],
                "term": [term.text for term in terms],
                **{name: [getattr(term, name) for term in terms] for name in numbers},
                "contexts": [
                    [f"{c.before}[{c.written}]{c.after}" for c in term.contexts] for term in terms
                ],
            }
        )
        return frame.astype(numbers)

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        documents = plural(self.n_documents)
        if self.n_given > self.n_documents:
            documents += f", drawn at random from {self.n_given:,}"
        yield Heading(f"Summary of {documents}", 1)
        if self.middle is not None:
            yield Sentence(f"Words for numbers above and below {amount(self.middle)}.")
        elif self.removal is None:
            yield Sentence(
                "This model also reads sentence vectors, whose contributions cannot be assigned to "
                "words. They are not shown, and it was not measured how much of the predictions "
                "these terms explain."
            )
        else:
            yield Sentence("How much of the predictions do these terms explain?")
            yield from self._removal_blocks(self.removal)
        yield Sentence(self._legend(), "han-small")
        shown = self._shown_classes()
        in_terminal = extent == "terminal"
        n_open = CLASSES_IN_TERMINAL if in_terminal else OPEN_CLASSES
        for position, summary in enumerate(shown[:n_open] if in_terminal else shown):
            title: Text = [Span(summary.label, "strong"), f": {self._about(summary)}"]
            blocks = list(self._class_blocks(summary, in_terminal))
            yield Fold(title, blocks, position < n_open, "han-document")
        if in_terminal and len(shown) > n_open:
            rest = plural(len(shown) - n_open, f"more {self._kind}")
            yield Sentence(f"... and {rest}, in to_html() and to_frame()")

    def _class_blocks(self, summary: ClassSummary, in_terminal: bool) -> Iterator[Block]:
        """Yield the terms for and against a class, by part, with some of their contexts."""
        longest = max((abs(term.contribution) for term in summary.terms), default=0.0) or 1.0
        head = ["", "contribution", "documents", *["decides"] * (self.removal is not None)]
        against: Text = ["against ", Span(summary.label)]
        if self._is_of_two:
            other = next(rival for rival in self.classes if rival is not summary)
            against = ["for ", Span(other.label), ", ", *against]
        sides: dict[bool, Text] = {True: ["for ", Span(summary.label)], False: against}
        places: list[Block] = []
        for part, part_title in PART_TITLES.items():
            if part == "columns" and not any(t.part == part for c in self.classes for t in c.terms):
                continue
            yield Heading(part_title, 4)
            tables = []
            for speaks_for, title in sides.items():
                terms, scale = summary.of(part, speaks_for=speaks_for), ("against", "toward")
                rows: list[list[Text]] = []
                for term in terms:
                    share = abs(term.contribution) / longest
                    name = in_one_line(term.text, LONGEST_TERM) if in_terminal else term.text
                    weight = "" if term.weight is None else f"; weight {number(term.weight, True)}"
                    hint = f"in {percent(term.share)} of the documents of the {self._kind}{weight}"
                    row: list[Text] = [
                        Span(name),
                        Bar(share, scale[speaks_for]),
                        with_minus(number(term.contribution, True)),
                        Span(f"{term.n_documents:,}", "number", with_minus(hint)),
                    ]
                    if self.removal is not None:
                        row.append("" if term.decides is None else percent(term.decides))
                    rows.append(row)
                    shade = "p5" if speaks_for else "m5"
                    places += [Sentence(_place(context, shade)) for context in term.contexts]
                if not rows:
                    rows = [["none"]]
                tables.append(Table(rows, [title, *head], "terms"))
            yield Columns(tables)
        if summary.removal is not None and not self._is_of_two:
            yield from self._removal_blocks(summary.removal)
        if places and not in_terminal:
            yield Fold("These terms in context", places, kind="han-small")

    @property
    def _kind(self) -> str:
        return "label" if self.several_labels else "class"

    @property
    def _answer(self) -> str:
        return "most probable label" if self.several_labels else "predicted class"

    @property
    def _is_of_two(self) -> bool:
        """Whether evidence against one class is evidence for the other."""
        return len(self.classes) == 2 and not self.several_labels

    def _shown_classes(self) -> list[ClassSummary]:
        """Return the classes, the most frequently predicted first; of two only the second."""
        if self._is_of_two:
            return [self.classes[1]]
        return sorted(self.classes, key=lambda summary: -summary.n_predicted)

    def _legend(self) -> str:
        """Return the meaning of the columns."""
        kind = self._kind
        if self.middle is not None:
            return (
                "Documents: the number that contain the term. Contribution: what the term adds to "
                "the predicted number, on average over these documents; minus makes it lower. "
                "Strong and frequent terms come first."
            )
        decides = (
            "Decides: the share of these documents (of 100 drawn from more) whose "
            f"{self._answer} changes from or to this {kind} when the term is removed. "
        )
        return (
            f"Documents: the number that contain the term, of those with the {kind} as most or "
            "second most probable. Contribution: what the term adds to the log-odds of the "
            f"{kind}, on average over these documents; minus speaks against the {kind}. +0.69 "
            "doubles the odds. "
            f"{'' if self.removal is None else decides}Strong and frequent terms come first."
        )

    def _about(self, summary: ClassSummary) -> str:
        """Return how often the class is predicted, and the contribution of each part."""
        near = ""
        if not self._is_of_two:
            near = f", second most probable in {summary.n_others:,} more"
        verb = "most probable label" if self.several_labels else "predicted class"
        text = f"{verb} of {plural(summary.n_predicted)}{near}"
        if self.middle is not None:
            text = f"predicted above {amount(self.middle)} in {plural(summary.n_predicted)}"
        if summary.n_predicted:
            # A contribution of exactly 0 means that the model has no such part.
            parts = {"network": summary.network, "linear models": summary.ngrams}
            totals = [f"{name} {with_minus(number(n, True))}" for name, n in parts.items() if n]
            if totals:
                text += f"; mean contribution of their words: {', '.join(totals)}"
            if summary.columns:
                text += f"; of their columns: {with_minus(number(summary.columns, True))}"
        return text

    def _removal_blocks(self, removal: Removal) -> Iterator[Block]:
        """Yield a table of how predictions change without the listed words."""
        falls = {
            f"the words listed for it ({percent(removal.share_of_words)} of all)": (
                removal.fall,
                removal.changed,
            ),
            "as many random words": (removal.fall_random, removal.changed_random),
            "any words": (removal.fall_all, removal.changed_all),
        }
        longest = max(*(fall for fall, _ in falls.values()), 1e-9)
        rows = [
            [name, Bar(fall / longest), with_minus(decimal(fall, 2)), percent(changed)]
            for name, (fall, changed) in falls.items()
        ]
        head = ["without", "", f"drop in probability of the {self._answer}", "predictions changed"]
        yield Table(rows, head, "classes")
        carried, at_random = removal.carried, removal.carried_random
        # There is no share if the drop without some words is larger than without all words.
        if carried is None or at_random is None or not (0 <= carried <= 1 and 0 <= at_random <= 1):
            return
        yield Sentence(
            f"The listed words explain {percent(carried)} of the drop without any words, random "
            f"words {percent(at_random)}.",
            "han-small",
        )

    def __repr__(self) -> str:
        classes = plural(len(self.classes), "label" if self.several_labels else "class")
        return f"Summary({classes}, {plural(self.n_documents)})"


def _place(context: Context, shade: str) -> Text:
    """Render a term in its context, with its position."""
    # White space collapses as in HTML.
    before, after = (re.sub(r"\s+", " ", text) for text in (context.before, context.after))
    if context.cut_before:
        before = f"\N{HORIZONTAL ELLIPSIS}{before.lstrip()}"
    if context.cut_after:
        after = f"{after.rstrip()}\N{HORIZONTAL ELLIPSIS}"
    place = f"document {context.document}, characters {context.start}\N{EN DASH}{context.end}"
    return [
        Span(before),
        Span(context.written, shade),
        Span(after),
        f" ({place}, predicted ",
        Span(context.predicted),
        ")",
    ]
