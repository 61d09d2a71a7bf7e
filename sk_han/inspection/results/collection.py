"""Explanations of several documents: selected, sorted, as tables, text and pages."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.inspection.results.result import Result, plain, written
from sk_han.rendering.explanation_html import render_html_list
from sk_han.rendering.explanation_tables import explanations_frame
from sk_han.rendering.explanation_text import render_text_list
from sk_han.targets.target import log_odds
from sk_han.utils.containers import label_list, listed, plain_label
from sk_han.utils.messages import a_kind, agreeing, counted
from sk_han.validation.labels import check_indicator, in_order, is_indicator

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han.rendering.shading import Level, Quantity


class ExplanationList(Result, Sequence[DocumentExplanation]):
    """Explanations of several documents, in the order of the documents; immutable.

    Parameters
    ----------
    explanations : iterable of DocumentExplanation
    y_true : array-like of shape (n_explanations,), default=None
        True labels, if they are known. With several labels a document an indicator of shape
        (n_explanations, n_labels), or a list of tuples of names.
    numbers : array-like of int, shape (n_explanations,), default=None
        Number of the document that each is about, by which tables and pages name it; None for 0,
        1, 2, ...

    Raises
    ------
    ValueError
        If `y_true` or `numbers` is not one for each explanation, or a label is no class.

    Notes
    -----
    An integer gives one explanation. A slice, integers and booleans (a list, an array or a column
    of pandas) give an `ExplanationList`. Neighbours with the same number are about one document:
    pages show these side by side, see `sk_han.explain_classes`. Two lists are equal if
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
        self._y_true = None if y_true is None else tuple(_checked_labels(y_true, self))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the document among those that were explained; kept by selections and sorts."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def y_true(self) -> NDArray[np.object_] | None:
        """True labels, or None; with several labels a document tuples of names."""
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
            position = operator.index(index)  # type: ignore[arg-type]
        except TypeError:
            return self._selected(_checked_positions(index, len(self)))
        (position,) = _checked_positions([position], len(self))
        return self._explanations[position]

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
            With the true labels and the numbers of the documents; the surest mistakes first: of the
            highest probability of `predicted` or, with several labels a document, of the label with
            the most wrong probability, as `report` lists them.
        """
        labelled = self._labelled(y_true, "mistakes")
        pairs = enumerate(zip(self, labelled._y_true or (), strict=True))
        wrong = [i for i, (explanation, true) in pairs if bool(explanation.answer != true)]
        selected = labelled._selected(wrong)
        errors = [_error(*pair) for pair in zip(selected, selected._y_true or (), strict=True)]
        return selected._selected(np.argsort(np.negative(errors), kind="stable"))

    def by_confidence(self, *, ascending: bool = False) -> ExplanationList:
        """Return the same explanations, sorted by how sure the model is of its answer.

        That is the probability of `predicted`; with several labels a document, how far the label
        next to its threshold is away from it, in log-odds. Equals are in the order of this list.

        Parameters
        ----------
        ascending : bool, default=False
            Whether the least sure come first.
        """
        confidence = np.array([_confidence(explanation) for explanation in self])
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
            also ``true`` and ``correct``. With several labels a document, ``probability`` is that
            of the most probable label, and ``target_probability`` that of the explained one. Rows
            of sentences and words have the columns of `DocumentExplanation.to_frame` and the
            explained class, ``target``.
        """
        return explanations_frame(self, level)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return `DocumentExplanation.to_dict` of all, with ``document`` and ``true`` label."""
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
        """
        labelled = self
        if y_true is not None or misclassified_first:
            labelled = self._labelled(y_true, "misclassified_first=True")
        html = labelled._markup(
            misclassified_first=misclassified_first, show=show, full_page=full_page
        )
        return written(html, path)

    def by_document(self) -> Iterator[ExplanationList]:
        """Yield lists of the explanations of each document: neighbours of one number and text."""
        documents = [
            (number, e.text, e.word_spans.tobytes(), e.sentence_spans.tobytes())
            for number, e in zip(self._numbers, self, strict=True)
        ]
        for _, positions in groupby(range(len(self)), key=documents.__getitem__):
            yield self._selected(positions)

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
            f"numbers must be {counted(n, 'integer')}, the number of the document of each "
            f"explanation; got the shape {found.shape} and the type {found.dtype}."
        )
    return tuple(found.tolist())


def _checked_positions(index: Any, n: int) -> list[int]:
    """Return the positions that integers or booleans choose among n explanations."""
    chosen = np.asarray(index)
    if chosen.ndim != 1:
        raise TypeError(
            "An ExplanationList takes an integer, a slice, or a sequence of integers or booleans; "
            f"got {index!r}."
        )
    if len(chosen) == 0:
        return []
    if chosen.dtype == object and all(isinstance(one, (bool, np.bool_)) for one in chosen):
        chosen = chosen.astype(bool)  # a nullable column of pandas
    if chosen.dtype == bool:
        if len(chosen) != n:
            raise IndexError(
                f"A boolean index needs a value for each explanation: {n:,}; got {len(chosen):,}."
            )
        return np.flatnonzero(chosen).tolist()
    if not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError(
            "An ExplanationList takes integers or booleans as an index; got values of the type "
            f"{chosen.dtype}, the first of them {chosen[0]!r}."
        )
    outside = chosen[(chosen < -n) | (chosen >= n)]
    if len(outside):
        there = f"There {agreeing(n, 'are')} {counted(n, 'explanation')}"
        raise IndexError(f"{there}, and none at position {outside[0]}.")
    return (chosen % n).tolist()


def _confidence(explanation: DocumentExplanation) -> float:
    """Return how sure a model is of its answer, as `by_confidence` sorts."""
    if explanation.labels is None:
        return explanation.predicted_probability
    thresholds = 0.5 if explanation.thresholds is None else explanation.thresholds
    away = log_odds(explanation.probabilities) - log_odds(thresholds)
    return float(np.abs(away).min())


def _error(explanation: DocumentExplanation, true: Any) -> float:
    """Return how sure a mistake is, as `mistakes` sorts; several labels come as a tuple."""
    given = explanation.labels
    if given is None:
        return explanation.predicted_probability
    return max(
        float(1 - p if label in true else p)
        for label, p in zip(explanation.classes.tolist(), explanation.probabilities, strict=True)
        if (label in true) != (label in given)
    )


def _checked_labels(y_true: Any, explanations: Sequence[DocumentExplanation]) -> list[Any]:
    """Return true labels, a class for each explanation; of several labels a tuple for each."""
    n_documents = len(explanations)
    if n_documents and explanations[0].labels is not None:
        return _label_sets(y_true, explanations[0].classes, n_documents)
    true = label_list(y_true)
    if len(true) != n_documents or any(map(np.ndim, true)):
        raise ValueError(
            f"y_true must hold a label for each of {counted(n_documents)}, "
            f"shape ({n_documents},); got the shape {np.asarray(y_true, dtype=object).shape}."
        )
    for i, (label, explanation) in enumerate(zip(true, explanations, strict=True)):
        classes = explanation.classes.tolist()
        if label not in classes:
            raise ValueError(
                f"y_true[{i}] is {label!r}, which is none of the classes "
                f"{listed(classes, 20)}. Give labels of classes_, and leave out documents of "
                "classes that the classifier was not fitted on."
            )
    return true


def _are_sets(y_true: Any, names: list[Any]) -> bool:
    """Return whether true labels are tuples of names, and no rows of an indicator."""
    if not isinstance(y_true, (list, np.ndarray)):
        return False
    if not all(isinstance(row, tuple) for row in y_true):
        return False
    rows_of_all = {row for row in y_true if len(row) == len(names) and set(row) <= {0, 1}}
    return len(rows_of_all) < len(set(y_true)) or rows_of_all <= {tuple(names)}


def _label_sets(y_true: Any, classes: NDArray[Any], n_documents: int) -> list[tuple[Any, ...]]:
    """Return the true labels of each document, of an indicator or of tuples of names."""
    if _are_sets(y_true, classes.tolist()):
        found = [tuple(map(plain_label, row)) for row in y_true]
        unknown = {label for row in found for label in row} - set(classes.tolist())
        if len(found) != n_documents or unknown:
            raise ValueError(
                f"y_true must hold the labels of each of {counted(n_documents)}, of "
                f"{listed(classes.tolist(), 20)}; got {counted(len(found), 'tuple')}"
                f"{', and unknown are ' * bool(unknown)}{listed(list(unknown))}."
            )
        return [tuple(label for label in classes.tolist() if label in row) for row in found]
    if not is_indicator(y_true):
        raise ValueError(
            "A model of several labels a document has an indicator as y_true, of shape "
            f"({n_documents}, {len(classes)}): 1 where a document has the label of the column, "
            f"else 0; got {a_kind(y_true)}."
        )
    t = in_order(*check_indicator(y_true, n_documents, "y_true"), classes, "y_true")
    return [tuple(classes[row].tolist()) for row in t]
