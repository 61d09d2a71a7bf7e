"""Words and n-grams that speak for classes over many documents: read-only data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sk_han.inspection.results.result import Extent, Result
from sk_han.rendering.blocks import (
    Bar,
    Block,
    Columns,
    Fold,
    Heading,
    Sentence,
    Span,
    Table,
    Text,
    decimal,
    number,
    percent,
    with_minus,
)
from sk_han.utils.containers import frame_of, listed
from sk_han.utils.messages import counted, in_one_line

if TYPE_CHECKING:
    from pandas import DataFrame

Part = Literal["network", "ngrams"]

AROUND = 40  # characters of a context on each side of a term
LONGEST_TERM = 28  # characters in a terminal
OPEN_CLASSES, CLASSES_IN_TERMINAL = 3, 10
PART_TITLES: dict[Part, str] = {
    "network": "Words, by the network",
    "ngrams": "Words and n-grams, by the linear models",
}
_LEAST_FALL = 0.05  # of which another is a share


@dataclass(frozen=True)
class Context:
    """A place where a term stands.

    Attributes
    ----------
    document : int
        Number of the document among those given.
    start, end : int
        Characters of the document's text: ``text[start:end]`` is the term as it is written there.
    before, written, after : str
        Up to 40 characters before the term, the term, and up to 40 characters after it.
    predicted : object
        The class that is predicted for the document.
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
        """Whether the text begins before `before`."""
        return self.start > len(self.before)

    @property
    def cut_after(self) -> bool:
        """Whether the text may go on after `after`."""
        return len(self.after) == AROUND


@dataclass(frozen=True)
class Term:
    """A word or n-gram that speaks for or against a class.

    Attributes
    ----------
    text : str
        The term as the model reads it, in lower case for example.
    part : {"network", "ngrams"}
        What the contribution is of: the network, or the linear models of n-grams.
    contribution : float
        What it brings to the log-odds of the class: the mean over the documents that have it.
        Above 0 it speaks for the class, below 0 against it.
    n_documents : int
        Number of the class's documents that have it.
    share : float
        The same, divided by the number of the class's documents (`ClassSummary.n_documents`).
    decides : float or None
        Share of the documents with the term in which taking it out, wherever it stands, changes
        the predicted class from or to this one. Measured on at most 100 of them; None where
        nothing was measured.
    weight : float or None
        Sum of the linear models' weights of this n-gram for the class, times their scales. A
        document's score is the sum of its n-grams' weights, divided by a norm that rises with
        their number. None for the network.
    contexts : tuple of Context
        Up to three places.
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
        """Whether it speaks for the class, and not against it."""
        return self.contribution > 0


@dataclass(frozen=True)
class Removal:
    """How predictions change without the words that a summary shows.

    From each document the words are removed that stand in a term shown as speaking for the class
    predicted for it. For comparison, as many words drawn at random are removed, and all words.

    Attributes
    ----------
    n_documents : int
    share_of_words : float
        Share of the documents' words that is taken out.
    fall, fall_random, fall_all : float
        Mean fall of the predicted class's probability: without the shown words, without words
        drawn at random, without any words.
    changed, changed_random, changed_all : float
        Share of documents for which another class is predicted then.
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
        """Fall without the shown words, as a share of that without any; None if that is small."""
        return self.fall / self.fall_all if self.fall_all >= _LEAST_FALL else None

    @property
    def carried_random(self) -> float | None:
        """The same of the words drawn at random."""
        return self.fall_random / self.fall_all if self.fall_all >= _LEAST_FALL else None


@dataclass(frozen=True)
class ClassSummary:
    """The terms that speak for and against one class.

    Attributes
    ----------
    label : object
    n_documents : int
        Number of documents that were explained for the class.
    n_predicted : int
        Number of these for which it is predicted.
    network, ngrams : float
        What the words bring to the log-odds of the class in sum, by the network and by the linear
        models of n-grams: means over the documents for which it is predicted; 0 without any.
    terms : tuple of Term
        The network's first, and of each part those for the class before those against it. The
        first have the largest contributions, times the root of the number of documents.
    removal : Removal or None
        Of the documents for which the class is predicted. None without any, or where nothing was
        measured.
    """

    label: Any
    n_documents: int
    n_predicted: int
    network: float
    ngrams: float
    terms: tuple[Term, ...]
    removal: Removal | None = None

    @property
    def n_others(self) -> int:
        """Number of the documents for which another class is predicted."""
        return self.n_documents - self.n_predicted

    def of(self, part: Part, *, speaks_for: bool) -> tuple[Term, ...]:
        """Return the terms of one part that speak for the class, or those against it."""
        return tuple(
            term for term in self.terms if term.part == part and term.speaks_for == speaks_for
        )


@dataclass(frozen=True)
class Summary(Result):
    """For each class, the words and n-grams that speak for and against it over many documents.

    `sk_han.summarize` returns it. It is data: it needs no model, and can be pickled.

    Attributes
    ----------
    classes : tuple of ClassSummary
        In the order of the model's ``classes_``.
    n_documents : int
        Number of documents that were read.
    n_given : int
        Number of documents that they were drawn from.
    removal : Removal or None
        What becomes of all predictions without the shown words. None if the model was not at
        hand, or reads sentence vectors.
    several_labels : bool
        Whether a document may have several labels. "Predicted" is then its most probable one.
    reads_vectors : bool
        Whether a network of the model reads sentence vectors. What these bring belongs to no word:
        "network" is the one that reads words.
    """

    classes: tuple[ClassSummary, ...]
    n_documents: int
    n_given: int
    removal: Removal | None = None
    several_labels: bool = False
    reads_vectors: bool = False

    def __getitem__(self, label: Any) -> ClassSummary:
        """Return the summary of the class with this label."""
        for found in self.classes:
            if found.label == label:
                return found
        classes = listed([each.label for each in self.classes], 20)
        raise KeyError(f"{label!r} is none of the classes {classes}.")

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one row for each class and term.

        Columns are the class, the fields of its `Term`, and contexts as strings with the term in
        brackets.
        """
        numbers = {
            "contribution": float,
            "n_documents": int,
            "share": float,
            "decides": float,
            "weight": float,
        }
        found = [(each.label, term) for each in self.classes for term in each.terms]
        terms = [term for _, term in found]
        frame = frame_of(
            {
                "class": [label for label, _ in found],
                "part": [term.part for term in terms],
                "term": [term.text for term in terms],
                **{name: [getattr(term, name) for term in terms] for name in numbers},
                "contexts": [
                    [f"{c.before}[{c.written}]{c.after}" for c in term.contexts] for term in terms
                ],
            },
            "Summary.to_frame",
        )
        return frame.astype(numbers)

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        documents = counted(self.n_documents)
        if self.n_given > self.n_documents:
            documents += f", drawn at random from {self.n_given:,}"
        yield Heading(f"Summary of {documents}", 1)
        if self.removal is None:
            yield Sentence(self._not_measured())
        else:
            yield Sentence("How much do these terms explain?")
            yield from self._removal_blocks(self.removal)
        yield Sentence(self._legend(), "han-small")
        shown = self._shown_classes()
        in_terminal = extent == "terminal"
        n_open = CLASSES_IN_TERMINAL if in_terminal else OPEN_CLASSES
        for position, found in enumerate(shown[:n_open] if in_terminal else shown):
            title: Text = [Span(found.label, "strong"), f": {self._about(found)}"]
            blocks = list(self._class_blocks(found, in_terminal))
            yield Fold(title, blocks, position < n_open, "han-document")
        if in_terminal and len(shown) > n_open:
            rest = counted(len(shown) - n_open, f"more {self._kind}")
            yield Sentence(f"... and {rest}, in to_html() and to_frame()")

    def _class_blocks(self, found: ClassSummary, in_terminal: bool) -> Iterator[Block]:
        """Yield the terms for and against a class, by each part, with the places of some."""
        longest = max((abs(term.contribution) for term in found.terms), default=0.0) or 1.0
        head = ["", "brings", "documents", *["decides"] * (self.removal is not None)]
        against: Text = ["against ", Span(found.label)]
        if self._is_of_two:
            other = next(each for each in self.classes if each is not found)
            against = ["for ", Span(other.label), ", ", *against]
        sides: dict[bool, Text] = {True: ["for ", Span(found.label)], False: against}
        places: list[Block] = []
        for part, part_title in PART_TITLES.items():
            yield Heading(part_title, 4)
            tables = []
            for speaks_for, title in sides.items():
                terms, scale = found.of(part, speaks_for=speaks_for), ("against", "toward")
                rows: list[list[Text]] = []
                for term in terms:
                    share = abs(term.contribution) / longest
                    name = in_one_line(term.text, LONGEST_TERM) if in_terminal else term.text
                    weight = "" if term.weight is None else f", weight {number(term.weight, True)}"
                    said = f"in {percent(term.share)} of the documents of its class{weight}"
                    row: list[Text] = [
                        Span(name),
                        Bar(share, scale[speaks_for]),
                        with_minus(number(term.contribution, True)),
                        Span(f"{term.n_documents:,}", "number", with_minus(said)),
                    ]
                    if self.removal is not None:
                        row.append("" if term.decides is None else percent(term.decides))
                    rows.append(row)
                    shade = "p5" if speaks_for else "m5"
                    places += [Sentence(_place(each, shade)) for each in term.contexts]
                if not rows:
                    rows = [["none"]]
                tables.append(Table(rows, [title, *head], "terms"))
            yield Columns(tables)
        if found.removal is not None and not self._is_of_two:
            yield from self._removal_blocks(found.removal)
        if places and not in_terminal:
            yield Fold("Where these terms stand", places, kind="han-small")

    @property
    def _kind(self) -> str:
        return "label" if self.several_labels else "class"

    @property
    def _answer(self) -> str:
        return "most probable label" if self.several_labels else "predicted class"

    @property
    def _is_of_two(self) -> bool:
        """Whether what speaks against one class speaks for the other."""
        return len(self.classes) == 2 and not self.several_labels

    def _shown_classes(self) -> list[ClassSummary]:
        """Return the classes, those predicted most often first; of two the second alone."""
        if self._is_of_two:
            return [self.classes[1]]
        return sorted(self.classes, key=lambda found: -found.n_predicted)

    def _legend(self) -> str:
        """Return the meaning of the numbers."""
        kind, becomes = self._kind, "another class would be predicted"
        if self.several_labels:
            becomes = "another label would be the most probable one"
        decides = (
            f"A term decides in a document if without it {becomes}, and one of the two is the "
            f"{kind} shown; the share is of all documents that have the term, or of up to 100 of "
            "them drawn at random, not only of those counted here. "
        )
        return (
            f"A number is what a term brings to its {kind} on average, in the documents that have "
            f"it: plus speaks for the {kind}, minus against it. 0.69 doubles the odds of the "
            f"{kind} (from 1:1 to 2:1, say), 1.39 makes them four times as high. "
            f"{'' if self.removal is None else decides}Strong and frequent terms come first."
        )

    def _about(self, found: ClassSummary) -> str:
        """Return how often the class is predicted, and what each part brings."""
        near = ""
        if not self._is_of_two:
            near = f", the second most probable {self._kind} of {found.n_others:,} more"
            if self._is_of_explanations:
                near = f", explained for {found.n_others:,} more"
        verb = "the most probable label of" if self.several_labels else "predicted for"
        said = f"{verb} {counted(found.n_predicted)}{near}"
        if found.n_predicted:
            # Exactly 0 is a part that is missing, or that reads vectors of sentences and no words.
            parts = {"network": found.network, "linear models": found.ngrams}
            brought = [
                f"{with_minus(number(n, True))} by the {name}" for name, n in parts.items() if n
            ]
            if brought:
                said += f"; there its words bring {', '.join(brought)}"
        return said

    @property
    def _is_of_explanations(self) -> bool:
        return self.removal is None and not self.reads_vectors

    def _not_measured(self) -> str:
        """Return why it is not known how much of the predictions the shown words carry."""
        if self.reads_vectors:
            return (
                "What sentence vectors bring belongs to no word and is not shown: a network here "
                "is one that reads words. So how much of the predictions these terms carry was "
                "not measured."
            )
        return (
            "How much of the predictions these terms carry was not measured: that needs the "
            "model, summarize(estimator, documents), and one that reads words alone."
        )

    def _removal_blocks(self, removal: Removal) -> Iterator[Block]:
        """Yield what becomes of predictions without the shown words, and what share that is."""
        falls = {
            f"the words shown for it ({percent(removal.share_of_words)} of all)": (
                removal.fall,
                removal.changed,
            ),
            "as many drawn at random": (removal.fall_random, removal.changed_random),
            "any words": (removal.fall_all, removal.changed_all),
        }
        longest = max(*(fall for fall, _ in falls.values()), 1e-9)
        rows = [
            [name, Bar(fall / longest), with_minus(decimal(fall, 2)), percent(changed)]
            for name, (fall, changed) in falls.items()
        ]
        head = ["without", "", f"fall of the {self._answer}'s probability", "predictions changed"]
        yield Table(rows, head, "classes")
        carried, at_random = removal.carried, removal.carried_random
        # Falls do not add up: without some words it may be more than without all, no share then.
        if carried is None or at_random is None or not (0 <= carried <= 1 and 0 <= at_random <= 1):
            return
        yield Sentence(
            f"So the shown words carry {percent(carried)} of what all words do, those drawn at "
            f"random {percent(at_random)}.",
            "han-small",
        )

    def __repr__(self) -> str:
        classes = counted(len(self.classes), "label" if self.several_labels else "class")
        return f"Summary({classes}, {counted(self.n_documents)})"


def _place(context: Context, shade: str) -> Text:
    """Return a term with the words around it, and where it stands."""
    # Single blanks, as HTML shows them, those at the ends too.
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
