"""Explanations of several documents: selected, sorted, as tables, text and pages."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._rendering.blocks import (
    Block,
    Fold,
    Heading,
    Sentence,
    Span,
    excerpt,
    percent,
)
from sk_han._rendering.result import Extent, Result, plain
from sk_han._rendering.shading import (
    document_blocks,
    label_spans,
    legend,
    prediction,
    shade_document,
)
from sk_han._rendering.text import format_lines
from sk_han._targets.target import log_odds
from sk_han._utils.containers import (
    column_dtype,
    document_name,
    label_list,
    listed,
    make_frame,
    plain_label,
)
from sk_han._utils.messages import a_kind, check_count, counted, in_one_line
from sk_han._validation.labels import (
    ClassNames,
    check_indicator,
    check_numbers,
    in_label_order,
    is_indicator,
    refuse_collections,
)
from sk_han.inspection._results.document import DocumentExplanation

if TYPE_CHECKING:
    from pandas import DataFrame

    from sk_han._rendering.shading import Level


OPEN_DOCUMENTS = 3
_NO_SPANS, _NO_NUMBERS = np.empty((0, 2), dtype=np.int64), np.empty(0)
_NOTHING = DocumentExplanation(
    text="",
    word_spans=_NO_SPANS,
    sentence_spans=_NO_SPANS,
    sentence_of_word=_NO_SPANS[:, 0],
    word_attention=_NO_NUMBERS,
    sentence_attention=_NO_NUMBERS,
    contributions=_NO_NUMBERS,
    sentence_contributions=_NO_NUMBERS,
    method="attention",
    classes=np.array([None]),
    probabilities=np.ones(1),
    predicted=None,
    target=None,
    unknown=np.empty(0, dtype=bool),
    truncated=False,
)


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
    ids : sequence, default=None
        Ids of all documents, by their numbers: tables and pages name documents by them.

    Raises
    ------
    ValueError
        If `y_true` or `numbers` is not one for each explanation, a number has no id, or a label is
        not a class.

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

    __slots__ = ("_explanations", "_ids", "_n_selected_from", "_numbers", "_y_true")

    SHOWN_AS_TEXT = 10
    SHOWN_IN_NOTEBOOK = 50

    def __init__(
        self,
        explanations: Iterable[DocumentExplanation] = (),
        *,
        y_true: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        self._explanations = tuple(explanations)
        for i, explanation in enumerate(self._explanations):
            if not isinstance(explanation, DocumentExplanation):
                raise TypeError(
                    f"An ExplanationList holds DocumentExplanation objects; number {i} is a "
                    f"{type(explanation).__name__}."
                )
        self._numbers = _checked_numbers(numbers, len(self))
        self._ids = None if ids is None else tuple(ids)
        if self._ids is not None and max(self._numbers, default=-1) >= len(self._ids):
            raise ValueError(f"ids must name all documents; got {len(self._ids)}.")
        self._y_true = None if y_true is None else tuple(_checked_labels(y_true, self))
        self._n_selected_from: int | None = None  # documents of which these are the mistakes

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the document among those that were explained; kept by selections and sorts."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def ids(self) -> list[Any]:
        """The id of each document or, without ids, its number."""
        return [number if self._ids is None else self._ids[number] for number in self._numbers]

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
        chosen: NDArray[Any] = np.asarray(index)
        if chosen.ndim > 1:
            raise IndexError(f"An ExplanationList has one dimension; got the index {index!r}.")
        if not chosen.size:
            chosen = chosen.astype(int)
        elif chosen.dtype == object or (chosen.dtype == bool and not chosen.ndim):
            kinds = {type(each) for each in chosen.ravel().tolist()}
            if not chosen.ndim or kinds not in ({bool}, {int}):
                raise TypeError(
                    "An index of an ExplanationList is an integer, a slice, or integers or "
                    f"booleans for some of its documents; got {in_one_line(repr(index), 60)}."
                )
            chosen = chosen.astype(kinds.pop())  # a nullable column of pandas, say
        found = np.arange(len(self))[chosen]
        return self._selected(found.tolist()) if chosen.ndim else self._explanations[found]

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
            With the true labels and the numbers of the documents, of predicted numbers the largest
            errors first. Of classes the surest mistakes come first: of the
            highest probability of `predicted` or, with several labels a document, of the label with
            the most wrong probability, as `report` lists them.
        """
        labelled = self._labelled(y_true)
        pairs = enumerate(zip(self, labelled._y_true or (), strict=True))
        wrong = [i for i, (explanation, true) in pairs if bool(explanation.answer != true)]
        selected = labelled._selected(wrong)
        errors = [_error(*pair) for pair in zip(selected, selected._y_true or (), strict=True)]
        mistakes = selected._selected(np.argsort(np.negative(errors), kind="stable"))
        mistakes._n_selected_from = len(list(self.by_document()))
        return mistakes

    def by_confidence(self, *, ascending: bool = False) -> ExplanationList:
        """Return the same explanations, sorted by how sure the model is of its answer.

        That is the probability of `predicted`, or of a number minus the standard deviation of its
        distribution; with several labels a document, how far the label
        next to its threshold is away from it, in log-odds. Equals are in the order of this list.

        Parameters
        ----------
        ascending : bool, default=False
            Whether the least sure come first.
        """
        confidence = np.array([_confidence(explanation) for explanation in self])
        order = np.argsort(confidence if ascending else -confidence, kind="stable")
        found = self._selected(order)
        found._n_selected_from = self._n_selected_from
        return found

    def to_frame(self, level: Literal["document"] | Level = "document") -> DataFrame:
        """Return a pandas DataFrame with one row for each document, sentence or word.

        Parameters
        ----------
        level : {"document", "sentence", "word"}, default="document"

        Returns
        -------
        pandas.DataFrame
            The column ``document`` has the id of the document, or its number. One row a document
            has its prediction, its lengths, and the sentence of the largest contribution; with true
            labels also ``true`` and ``correct``. With several labels a document, ``probability`` is
            that of the most probable label, and ``target_probability`` that of the explained one.
            Rows of sentences and words have the columns of `DocumentExplanation.to_frame` and the
            explained class, ``target``.
        """
        if level == "document":
            return self._frame_of_documents()
        if level not in ("sentence", "word"):
            raise ValueError(f"level must be 'document', 'sentence' or 'word'; got {level!r}.")
        import pandas

        # A table without rows, of no mistakes for example, has all its columns too.
        explanations, ids = list(self) or [_NOTHING], self.ids
        frames = [explanation.to_frame(level) for explanation in explanations]
        owners = [i for i, each in enumerate(frames) for _ in range(len(each))]
        frame = pandas.concat(frames, ignore_index=True)
        compared = any(e.against is not None for e in self)
        for name in ("against", "target") if compared else ("target",):
            values = [getattr(explanations[i], name) for i in owners]
            frame.insert(0, name, pandas.Series(values, dtype=object))
        documents = [ids[i] for i in owners]
        frame.insert(0, "document", pandas.Series(documents, dtype=column_dtype(documents)))
        return frame

    def _frame_of_documents(self) -> DataFrame:
        strongest = [explanation.top(1, level="sentence") for explanation in self]
        columns = {
            "document": self.ids,
            "text": [e.text for e in self],
            "predicted": [e.answer for e in self],
        }
        y_true, are_numbers = self.y_true, any(e.is_number for e in self)
        if not are_numbers:
            columns["probability"] = [e.predicted_probability for e in self]
        if y_true is not None:
            columns["true"] = y_true.tolist()
        if y_true is not None and not are_numbers:
            columns["correct"] = [
                bool(e.answer == true) for e, true in zip(self, y_true, strict=True)
            ]
        if not are_numbers:
            columns["target"] = [e.target for e in self]
        if any(e.labels is not None for e in self):
            columns["target_probability"] = [
                float(e.probabilities[e.classes.tolist().index(e.target)]) for e in self
            ]
        if any(e.against is not None for e in self):
            columns["against"] = [e.against for e in self]
        return make_frame(
            columns
            | {
                "sentences": [len(e.sentence_spans) for e in self],
                "words": [len(e.word_spans) for e in self],
                "truncated": [e.truncated for e in self],
                "strongest_sentence": [top[0].text if top else "" for top in strongest],
                "strongest_contribution": [top[0].score if top else 0.0 for top in strongest],
            }
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Return `DocumentExplanation.to_dict` of all, with ``document`` and ``true`` label."""
        true = [None] * len(self) if self._y_true is None else self._y_true
        return [
            {"document": plain(each), "true": plain(label)} | explanation.to_dict()
            for each, label, explanation in zip(self.ids, true, self, strict=True)
        ]

    def to_text(
        self, *, width: int | None = None, max_documents: int | None = SHOWN_AS_TEXT
    ) -> str:
        """Return the first documents as lines for a terminal, and the legend once.

        Parameters
        ----------
        width
            As of `Result.to_text`.
        max_documents : int or None, default=10
            Largest number of documents to show; None for all. The others are counted.
        """
        if max_documents is not None:
            check_count("max_documents", max_documents)
        return format_lines(self._blocks("terminal", max_documents=max_documents), width=width)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, full_page: bool = True
    ) -> str | Any:
        """Return all documents as one HTML page, the first ones open and the others folded.

        The heading of each document is its number, what is predicted and its probability; with true
        labels also the true one, misclassified ones are marked, and the page begins with their
        count. Explanations of one document for several classes stand side by side.

        Parameters
        ----------
        path, full_page
            As of `Result.to_html`.
        """
        return self._render_page(path, full_page, max_documents=None)

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
            ids=self._ids,
        )

    def _labelled(self, y_true: ArrayLike | None) -> ExplanationList:
        """Return the list with these true labels, or with its own."""
        if y_true is not None:
            return ExplanationList(self, y_true=y_true, numbers=self._numbers, ids=self._ids)
        if self._y_true is None:
            raise ValueError(
                "mistakes needs to know which documents are misclassified; pass their true labels "
                "as y_true, here or to explain."
            )
        return self

    def _blocks(
        self,
        extent: Extent,
        *,
        max_documents: int | None = SHOWN_IN_NOTEBOOK,
        **options: Any,
    ) -> Iterator[Block]:
        documents = list(self.by_document())
        wrong = [each._is_wrong() for each in documents]
        shown = [*zip(documents, wrong, strict=True)][:max_documents]
        explained = [explanation for document, _ in shown for explanation in document]
        in_terminal = extent == "terminal"
        if not in_terminal:
            yield Heading(f"Explanations of {counted(len(documents))}", 1)
        if not documents:
            yield Sentence("No documents.")
        are_classes = not any(each.is_number for each in self)
        if documents and self._y_true is not None and are_classes and not in_terminal:
            n = self._n_selected_from or len(documents)
            verb = "is" if 1 in (sum(wrong), n) else "are"
            share = percent(sum(wrong) / n)
            yield Sentence(
                f"{sum(wrong)} of {counted(n)} {verb} misclassified ({share}).", "han-count"
            )
        if not in_terminal:
            yield from legend(explained)
        for position, (document, is_wrong) in enumerate(shown):
            if in_terminal:
                yield from document._terminal_blocks()
                continue
            kind = "han-document han-wrong" if is_wrong else "han-document"
            content = document_blocks(list(document), document._true())
            title = [*document._title(is_wrong), *excerpt(document[0].text)]
            yield Fold(title, content, position < OPEN_DOCUMENTS, kind)
        if in_terminal and shown:
            yield Sentence("")
            yield from legend(explained, on_page=False)
        n_more = len(documents) - len(shown)
        if n_more and in_terminal:
            yield Heading(f"... and {counted(n_more, 'more document')}", 3)
        elif n_more:
            rest = counted(n_more, "more document")
            yield Sentence(f"and {rest}; to_html(path) writes all of them.", "han-small")

    def _terminal_blocks(self) -> Iterator[Block]:
        """Yield the explanations of one document below each other."""
        true, columns = self._true(), shade_document(list(self))
        for explanation, column in zip(self, columns.shadings, strict=True):
            known = [] if true is None else [", true: ", *label_spans(true, explanation)]
            head = [f"[{self.ids[0]}] ", *prediction(explanation, true), *known]
            yield Heading(head, 3)
            yield dataclasses.replace(columns, shadings=[column])

    def _true(self) -> Any:
        """Return the true label, or labels, of the one document of this list; None if unknown."""
        return None if self._y_true is None else self._y_true[0]

    def _is_wrong(self) -> bool:
        is_known = self._y_true is not None and not self[0].is_number
        return is_known and bool(self[0].answer != self._true())

    def _title(self, is_wrong: bool) -> list[Any]:
        """Return number, prediction and true label of the one document of this list."""
        first, true = self[0], self._true()
        is_class = first.labels is None and not first.is_number
        sure = f" ({percent(first.predicted_probability)})" if is_class else ""
        name = document_name(self._numbers[0], self._ids)
        title = [f"Document {name}: predicted ", *label_spans(first.answer, first), sure]
        if true is not None:
            title += [", true " if first.is_number else ", labelled ", *label_spans(true, first)]
        return [*title, " ", Span("wrong", "verdict")] if is_wrong else title

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


def _confidence(explanation: DocumentExplanation) -> float:
    """Return how sure a model is of its answer, as `by_confidence` sorts."""
    if explanation.is_number:
        p, knots = explanation.probabilities, explanation.classes
        return -float(np.sqrt(p @ knots**2 - (p @ knots) ** 2))
    if explanation.labels is None:
        return explanation.predicted_probability
    thresholds = 0.5 if explanation.thresholds is None else explanation.thresholds
    away = log_odds(explanation.probabilities) - log_odds(thresholds)
    return float(np.abs(away).min())


def _error(explanation: DocumentExplanation, true: Any) -> float:
    """Return how sure a mistake is, as `mistakes` sorts; several labels come as a tuple."""
    given = explanation.labels
    if explanation.is_number:
        return float(abs(explanation.predicted - true))
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
    if n_documents and explanations[0].is_number:
        return check_numbers(y_true, n_documents, "y_true").tolist()
    refuse_collections(y_true, "y_true")
    true = label_list(y_true)
    if len(true) != n_documents or any(map(np.ndim, true)):
        raise ValueError(
            f"y_true must hold a label for each of {counted(n_documents)}, "
            f"shape ({n_documents},); got the shape {np.asarray(y_true, dtype=object).shape}."
        )
    for i, (label, explanation) in enumerate(zip(true, explanations, strict=True)):
        classes = explanation.classes.tolist()
        number = ClassNames(classes).number(label)
        if number is None:
            raise ValueError(
                f"y_true[{i}] is {label!r}, which is none of the classes "
                f"{listed(classes, 20)}. Give labels of classes_, and leave out documents of "
                "classes that the classifier was not fitted on."
            )
        true[i] = classes[number]
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
    refuse_collections(y_true, "y_true")
    if not is_indicator(y_true):
        raise ValueError(
            "A model of several labels a document has an indicator as y_true, of shape "
            f"({n_documents}, {len(classes)}): 1 where a document has the label of the column, "
            f"else 0; got {a_kind(y_true)}."
        )
    t = in_label_order(*check_indicator(y_true, n_documents, "y_true"), classes, "y_true")
    return [tuple(classes[row].tolist()) for row in t]
