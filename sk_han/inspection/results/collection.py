"""Explanations of several documents: selected, sorted, as tables, text, pages and figures."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.inspection.results.result import Result, plain, written
from sk_han.inspection.results.selection import checked_labels, checked_positions
from sk_han.rendering.explanation_html import render_html_list
from sk_han.rendering.explanation_tables import explanations_frame
from sk_han.rendering.explanation_text import render_text_list
from sk_han.rendering.figure_list import plot_explanations
from sk_han.rendering.numbers import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from sk_han.rendering.protocols import Level, Quantity


class ExplanationList(Result, Sequence[DocumentExplanation]):
    """Explanations of several documents, in the order of the documents; immutable.

    Parameters
    ----------
    explanations : iterable of DocumentExplanation
    y_true : array-like of shape (n_explanations,), default=None
        True labels, if they are known. Of several labels a document an indicator of shape
        (n_explanations, n_labels), or a list of tuples of names.
    numbers : array-like of int, shape (n_explanations,), default=None
        Number of the document that each is about, by which tables and pages name it; None for 0,
        1, 2, ...

    Raises
    ------
    TypeError
        If something else than a DocumentExplanation is among the explanations.
    ValueError
        If `y_true` or `numbers` is not one for each explanation, or a label is no class.

    Notes
    -----
    An integer gives one explanation. A slice, integers and booleans (a list, an array or a column
    of pandas) give an `ExplanationList`. Neighbours with the same number are about one document:
    pages and figures show these side by side, see `sk_han.explain_classes`. Two lists are equal if
    their explanations and true labels are. Terminal text and notebooks show the first documents
    and the number of the others; `to_html` writes all of them.

    Examples
    --------
    >>> from sk_han import HANClassifier, explain
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:40], labels[:40])
    >>> explanations = explain(classifier, texts[40:], y_true=labels[40:])
    >>> explanations[[0, 5, 7]].numbers.tolist()
    [0, 5, 7]
    >>> least_sure = explanations.by_confidence(ascending=True)[:3]
    >>> mistakes = explanations.mistakes()
    >>> all(mistakes.y_true != [explanation.predicted for explanation in mistakes])
    True
    """

    __slots__ = ("_explanations", "_numbers", "_y_true")

    SHOWN_AS_TEXT = 10
    SHOWN_IN_NOTEBOOK = 50

    def __init__(
        self,
        explanations: Iterable[DocumentExplanation] = (),
        *,
        y_true: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> None:
        self._explanations = tuple(explanations)
        for i, explanation in enumerate(self._explanations):
            if not isinstance(explanation, DocumentExplanation):
                raise TypeError(
                    f"An ExplanationList holds DocumentExplanation objects; number {i} is a "
                    f"{type(explanation).__name__}."
                )
        self._numbers = _checked_numbers(numbers, len(self))
        self._y_true = None if y_true is None else tuple(checked_labels(y_true, self))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the document among those that were explained; kept by selections and sorts."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def y_true(self) -> NDArray[np.object_] | None:
        """True labels, or None; of several labels a document tuples of names."""
        if self._y_true is None:
            return None
        labels = np.empty(len(self), dtype=object)
        labels[:] = self._y_true
        return labels

    @overload
    def __getitem__(self, index: SupportsIndex) -> DocumentExplanation: ...

    @overload
    def __getitem__(self, index: slice | ArrayLike) -> ExplanationList: ...

    def __getitem__(
        self, index: SupportsIndex | slice | ArrayLike
    ) -> DocumentExplanation | ExplanationList:
        if isinstance(index, slice):
            return self._selected(range(len(self))[index])
        try:
            return self._explanations[operator.index(index)]  # type: ignore[arg-type]
        except TypeError:
            return self._selected(checked_positions(index, len(self)))

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[DocumentExplanation]:
        return iter(self._explanations)

    def mistakes(self, y_true: ArrayLike | None = None) -> ExplanationList:
        """Return the documents whose predicted label is not the true one, or not all are right.

        Parameters
        ----------
        y_true : array-like of shape (n_explanations,), default=None
            True labels; None for those that the list has, for example of
            ``explain(..., y_true=labels)``.

        Returns
        -------
        ExplanationList
            The surest mistakes first, with the true labels and the numbers of the documents.

        Raises
        ------
        ValueError
            If there are no labels, not one for each explanation, or a label is no class.
        """
        labelled = self._labelled(y_true, "mistakes")
        wrong = [
            i
            for i, (explanation, true) in enumerate(zip(self, labelled._y_true or (), strict=True))
            if bool(explanation.answer != true)
        ]
        return labelled._selected(wrong).by_confidence()

    def by_confidence(self, *, ascending: bool = False) -> ExplanationList:
        """Return the same explanations, sorted by the probability of `predicted`.

        Parameters
        ----------
        ascending : bool, default=False
            Whether the least sure come first.

        Returns
        -------
        ExplanationList
            Documents of equal probability are in the order of this list.
        """
        confidence = np.array([explanation.predicted_probability for explanation in self])
        return self._selected(np.argsort(confidence if ascending else -confidence, kind="stable"))

    def to_frame(self, level: Literal["document"] | Level = "document") -> DataFrame:
        """Return a pandas DataFrame with one row for each document, sentence or word.

        Parameters
        ----------
        level : {"document", "sentence", "word"}, default="document"

        Returns
        -------
        pandas.DataFrame
            The column ``document`` has the number of the document. One row a document has its
            prediction, its lengths, and the sentence of the largest contribution; with true labels
            also ``true`` and ``correct``. Rows of sentences and words have the columns of
            `DocumentExplanation.to_frame` and the explained class, ``target``.
        """
        return explanations_frame(self, level)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return a list of all explanations, as values that JSON can hold.

        Each is `DocumentExplanation.to_dict` with the number of its ``document`` and its ``true``
        label, or None.
        """
        true = [None] * len(self) if self._y_true is None else self._y_true
        return [
            {"document": number, "true": plain(label)} | explanation.to_dict()
            for number, label, explanation in zip(self._numbers, true, self, strict=True)
        ]

    def to_text(
        self,
        *,
        show: Quantity = "contributions",
        color: bool | None = None,
        width: int | None = None,
        max_documents: int | None = SHOWN_AS_TEXT,
    ) -> str:
        """Return the first documents as lines for a terminal, and the legend once.

        Parameters
        ----------
        show, color, width
            As in `DocumentExplanation.to_text`.
        max_documents : int or None, default=10
            Largest number of documents to show; None for all. The others are counted.
        """
        return render_text_list(
            self, show=show, color=color, width=width, max_documents=max_documents
        )

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        y_true: ArrayLike | None = None,
        misclassified_first: bool = False,
        show: Quantity = "contributions",
        full_page: bool = True,
    ) -> str:
        """Return all documents as one HTML page, the first ones open and the others folded.

        The page begins with what the colours mean, in words; how the numbers were computed is
        behind a fold. The heading of each document is its number, what is predicted and its
        probability. Explanations of one document for several classes stand side by side.

        Parameters
        ----------
        path, show, full_page
            As of `DocumentExplanation.to_html`.
        y_true : array-like of shape (n_explanations,), default=None
            True labels, in the order of this list; None for those that the list has. With them,
            the heading of every document has its true label, misclassified ones are marked, and
            the page begins with their count.
        misclassified_first : bool, default=False
            Whether misclassified documents come first; needs true labels.

        Raises
        ------
        ValueError
            If `y_true` is not one label for each document, holds labels that are no classes, or
            is missing although `misclassified_first` needs it.
        """
        labelled = self
        if y_true is not None or misclassified_first:
            labelled = self._labelled(y_true, "misclassified_first=True")
        html = labelled._markup(
            misclassified_first=misclassified_first, show=show, full_page=full_page
        )
        return written(html, path)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        show: Quantity = "contributions",
        max_documents: int = 5,
        max_sentences: int = 10,
    ) -> Axes:
        """Draw documents below each other, and classes of one document side by side.

        Parameters
        ----------
        ax, show
            As of `rendering.plot_explanation`.
        max_documents : int, default=5
            Largest number of documents; the others are counted.
        max_sentences : int, default=10
            Largest number of sentences of each; those of the largest values are drawn.

        Raises
        ------
        ValueError
            If a document is explained for more than 10 classes.
        """
        return plot_explanations(
            self, ax, show=show, max_documents=max_documents, max_sentences=max_sentences
        )

    def by_document(self) -> Iterator[ExplanationList]:
        """Yield the explanations of each document: neighbours of one number and one text.

        Yields
        ------
        ExplanationList
            Of one explanation, unless a document is explained for several classes.
        """
        first = 0
        for i in range(1, len(self) + 1):
            if i == len(self) or not self._are_of_one(first, i):
                yield self[first:i]
                first = i

    def _are_of_one(self, i: int, j: int) -> bool:
        one, other = self._explanations[i], self._explanations[j]
        return (
            self._numbers[i] == self._numbers[j]
            and one.text == other.text
            and np.array_equal(one.word_spans, other.word_spans)
            and np.array_equal(one.sentence_spans, other.sentence_spans)
        )

    def _selected(self, positions: Iterable[int]) -> ExplanationList:
        chosen = list(positions)
        return ExplanationList(
            [self._explanations[i] for i in chosen],
            y_true=None if self._y_true is None else [self._y_true[i] for i in chosen],
            numbers=[self._numbers[i] for i in chosen],
        )

    def _labelled(self, y_true: ArrayLike | None, what: str) -> ExplanationList:
        """Return the list with these true labels, or with its own."""
        if y_true is not None:
            return ExplanationList(self, y_true=y_true, numbers=self._numbers)
        if self._y_true is None:
            raise ValueError(
                f"{what} needs to know which documents are misclassified; pass their true labels "
                "as y_true, here or to explain."
            )
        return self

    def _markup(self, *, full_page: bool, **how: Any) -> str:
        return render_html_list(self, full_page=full_page, **how)

    def _repr_html_(self) -> str:
        return self._markup(full_page=False, max_documents=self.SHOWN_IN_NOTEBOOK)

    def __repr__(self) -> str:
        return f"ExplanationList({counted(len(self))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExplanationList):
            return NotImplemented
        return (self._explanations, self._y_true) == (other._explanations, other._y_true)

    def __hash__(self) -> int:
        return hash(self._explanations)


def _checked_numbers(numbers: ArrayLike | None, n: int) -> tuple[int, ...]:
    if numbers is None:
        return tuple(range(n))
    found = np.asarray(numbers)
    if found.shape != (n,) or not (np.issubdtype(found.dtype, np.integer) or n == 0):
        raise ValueError(
            f"numbers must be {n} integers, the number of the document of each explanation; got "
            f"the shape {found.shape} and the type {found.dtype}."
        )
    return tuple(found.tolist())
