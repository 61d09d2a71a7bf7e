"""What a model says over many documents: read-only data, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sk_han.inspection.results.result import Result
from sk_han.rendering.summary import render_summary_html, render_summary_text
from sk_han.utils.containers import frame_of, listed
from sk_han.utils.messages import counted

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han.rendering.shading import Part

AROUND = 40  # characters of a context on each side of a term
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
        What the contribution is of: the network, or the linear models of n-grams beside it.
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
    """What becomes of predictions without the words that a summary shows: its honesty.

    From each document the words are taken out that stand in a term shown as speaking for the class
    predicted for it. Beside it, the same number of words is drawn at random and taken out, and all
    words are.

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
        "network" is the one beside it that reads words.
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

    def to_text(self, *, width: int | None = None) -> str:
        """Return the summary as lines for a terminal.

        Of more than 10 classes, those predicted most often are shown.

        Parameters
        ----------
        width : int, optional
            Columns of a line; by default those of the terminal.
        """
        return render_summary_text(self, width=width)

    def _markup(self, *, full_page: bool) -> str:
        return render_summary_html(self, full_page=full_page)

    def __repr__(self) -> str:
        classes = counted(len(self.classes), "label" if self.several_labels else "class")
        return f"Summary({classes}, {counted(self.n_documents)})"
