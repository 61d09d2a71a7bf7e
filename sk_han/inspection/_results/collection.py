"""Lists of explanations: selection, sorting, tables, text and pages."""

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
from sk_han._utils.messages import a_kind, check_count, in_one_line, plural
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
        True labels, if they are known. With several labels per document, an indicator of shape
        (n_explanations, n_labels), or a list of tuples of names.
    numbers : array-like of int, shape (n_explanations,), default=None
        Number of the document that each explanation is about, which names it in tables and on
        pages; None for 0, 1, 2, ...
    ids : sequence, default=None
        Ids of all documents, in the order of their numbers, which name them instead.

    Raises
    ------
    ValueError
        If `y_true` or `numbers` does not have an entry for each explanation, if a number has no id,
        or if a label is not a class.

    Notes
    -----
    Indexing by an integer returns an explanation; by a slice, integers or booleans (a list, an
    array or a column of pandas) it returns an `ExplanationList`. Consecutive explanations with the
    same number are about one document, and pages show them side by side (see
    `sk_han.explain_classes`). Two lists are equal if their explanations and true labels are equal.
    Text and notebooks show the first documents and the number of the others; `to_html` writes all
    of them.

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
        self._numbers = _check_document_numbers(numbers, len(self))
        self._ids = None if ids is None else tuple(ids)
        if self._ids is not None and max(self._numbers, default=-1) >= len(self._ids):
            raise ValueError(f"ids must name all documents; got {len(self._ids)}.")
        self._y_true = None if y_true is None else tuple(_check_true_labels(y_true, self))
        # For a list of mistakes, the number of documents among which they were found.
        self._n_selected_from: int | None = None

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of each document among those explained, which selecting and sorting keep."""
        return np.array(self._numbers, dtype=np.int64)

    @property
    def ids(self) -> list[Any]:
        """The ids of the documents or, without ids, their numbers."""
        return [number if self._ids is None else self._ids[number] for number in self._numbers]

    @property
    def y_true(self) -> NDArray[np.object_] | None:
        """True labels, or None; with several labels per document, tuples of names."""
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
            return self._select(range(len(self))[index])
        chosen: NDArray[Any] = np.asarray(index)
        if chosen.ndim > 1:
            raise IndexError(f"An ExplanationList has one dimension; got the index {index!r}.")
        if not chosen.size:
            chosen = chosen.astype(int)
        elif chosen.dtype == object or (chosen.dtype == bool and not chosen.ndim):
            kinds = {type(item) for item in chosen.ravel().tolist()}
            if not chosen.ndim or kinds not in ({bool}, {int}):
                raise TypeError(
                    "An index of an ExplanationList is an integer, a slice, or integers or "
                    f"booleans for some of its documents; got {in_one_line(repr(index), 60)}."
                )
            # This may be a nullable column of pandas, for example.
            chosen = chosen.astype(kinds.pop())
        positions = np.arange(len(self))[chosen]
        return self._select(positions.tolist()) if chosen.ndim else self._explanations[positions]

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[DocumentExplanation]:
        return iter(self._explanations)

    def mistakes(self, y_true: ArrayLike | None = None) -> ExplanationList:
        """Return the misclassified documents; with several labels, those with any wrong label.

        Parameters
        ----------
        y_true : array-like of shape (n_explanations,), default=None
            True labels; None for those of the list, for example from
            ``explain(..., y_true=labels)``.

        Returns
        -------
        ExplanationList
            The mistakes, with true labels and numbers of documents, in the order of `report`. The
            surest mistakes come first: those with the highest probability of `predicted` or, with
            several labels per document, with the most wrong probability of a label. For predicted
            numbers, the largest errors come first.
        """
        with_labels = self._with_labels(y_true)
        pairs = enumerate(zip(self, with_labels._y_true or (), strict=True))
        wrong = [i for i, (explanation, true) in pairs if bool(explanation.answer != true)]
        selected = with_labels._select(wrong)
        errors = [_error(*pair) for pair in zip(selected, selected._y_true or (), strict=True)]
        mistakes = selected._select(np.argsort(np.negative(errors), kind="stable"))
        mistakes._n_selected_from = len(list(self.by_document()))
        return mistakes

    def by_confidence(self, *, ascending: bool = False) -> ExplanationList:
        """Return the same explanations, sorted by the confidence of the predictions.

        The confidence is the probability of `predicted`; with several labels per document, the
        smallest distance of a label from its threshold, in log-odds; for a number, minus the
        standard deviation of its distribution. The sort is stable.

        Parameters
        ----------
        ascending : bool, default=False
            Whether the least confident come first.
        """
        confidence = np.array([_confidence(explanation) for explanation in self])
        order = np.argsort(confidence if ascending else -confidence, kind="stable")
        result = self._select(order)
        result._n_selected_from = self._n_selected_from
        return result

    def to_frame(self, level: Literal["document"] | Level = "document") -> DataFrame:
        """Return a pandas DataFrame with one row for each document, sentence or word.

        Parameters
        ----------
        level : {"document", "sentence", "word"}, default="document"

        Returns
        -------
        pandas.DataFrame
            The column ``document`` has the id or the number of the document. Rows of documents have
            the prediction, the lengths, and the sentence with the largest contribution; with true
            labels also ``true`` and ``correct``. With several labels per document, ``probability``
            is that of the most probable label, and ``target_probability`` that of the explained
            label. Rows of sentences and words have the columns of `DocumentExplanation.to_frame`
            and the explained class, ``target``.
        """
        if level == "document":
            return self._frame_of_documents()
        if level not in ("sentence", "word"):
            raise ValueError(f"level must be 'document', 'sentence' or 'word'; got {level!r}.")
        import pandas

        # A table without rows, such as that of no mistakes, has all columns.
        explanations, ids = list(self) or [_NOTHING], self.ids
        frames = [explanation.to_frame(level) for explanation in explanations]
        owners = [i for i, frame in enumerate(frames) for _ in range(len(frame))]
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
        """Return `DocumentExplanation.to_dict` of each, with ``document`` and ``true`` label."""
        true = [None] * len(self) if self._y_true is None else self._y_true
        return [
            {"document": plain(name), "true": plain(label)} | explanation.to_dict()
            for name, label, explanation in zip(self.ids, true, self, strict=True)
        ]

    def to_text(
        self, *, width: int | None = None, max_documents: int | None = SHOWN_AS_TEXT
    ) -> str:
        """Return the first documents as lines for a terminal, followed by one legend.

        Parameters
        ----------
        width
            See `Result.to_text`.
        max_documents : int or None, default=10
            Largest number of documents to show; None for all. The others are counted.
        """
        if max_documents is not None:
            check_count("max_documents", max_documents)
        return format_lines(self._blocks("terminal", max_documents=max_documents), width=width)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, full_page: bool = True
    ) -> str | Any:
        """Return all documents as one HTML page, on which the first ones are unfolded.

        The heading of a document has its number, its prediction and the probability. With true
        labels, it also has the true label, misclassified documents are marked, and the page begins
        with their count. Explanations of one document for several classes are side by side.

        Parameters
        ----------
        path, full_page
            See `Result.to_html`.
        """
        return self._render_page(path, full_page, max_documents=None)

    def by_document(self) -> Iterator[ExplanationList]:
        """Yield the explanations of each document: consecutive ones with equal number and text."""
        documents = [
            (number, e.text, e.word_spans.tobytes(), e.sentence_spans.tobytes())
            for number, e in zip(self._numbers, self, strict=True)
        ]
        for _, positions in groupby(range(len(self)), key=documents.__getitem__):
            yield self._select(positions)

    def _select(self, positions: Iterable[int]) -> ExplanationList:
        chosen = list(positions)
        return ExplanationList(
            [self._explanations[i] for i in chosen],
            y_true=None if self._y_true is None else [self._y_true[i] for i in chosen],
            numbers=[self._numbers[i] for i in chosen],
            ids=self._ids,
        )

    def _with_labels(self, y_true: ArrayLike | None) -> ExplanationList:
        """Return the list with these true labels or, without any, its own."""
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
        wrong = [document._is_wrong() for document in documents]
        shown = [*zip(documents, wrong, strict=True)][:max_documents]
        explained = [explanation for document, _ in shown for explanation in document]
        in_terminal = extent == "terminal"
        if not in_terminal:
            yield Heading(f"Explanations of {plural(len(documents))}", 1)
        if not documents:
            yield Sentence("No documents.")
        are_classes = not any(explanation.is_number for explanation in self)
        if documents and self._y_true is not None and are_classes and not in_terminal:
            n = self._n_selected_from or len(documents)
            verb = "is" if 1 in (sum(wrong), n) else "are"
            share = percent(sum(wrong) / n)
            yield Sentence(
                f"{sum(wrong)} of {plural(n)} {verb} misclassified ({share}).", "han-count"
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
            yield Heading(f"... and {plural(n_more, 'more document')}", 3)
        elif n_more:
            rest = plural(n_more, "more document")
            yield Sentence(f"and {rest}; to_html(path) writes all of them.", "han-small")

    def _terminal_blocks(self) -> Iterator[Block]:
        """Yield the explanations of one document below each other."""
        true, columns = self._true(), shade_document(list(self))
        for explanation, column in zip(self, columns.shadings, strict=True):
            label = [] if true is None else [", true: ", *label_spans(true, explanation)]
            head = [f"[{self.ids[0]}] ", *prediction(explanation, true), *label]
            yield Heading(head, 3)
            yield dataclasses.replace(columns, shadings=[column])

    def _true(self) -> Any:
        """Return the true label or labels of the only document of this list; None if unknown."""
        return None if self._y_true is None else self._y_true[0]

    def _is_wrong(self) -> bool:
        is_known = self._y_true is not None and not self[0].is_number
        return is_known and bool(self[0].answer != self._true())

    def _title(self, is_wrong: bool) -> list[Any]:
        """Return the number, prediction and true label of the only document of this list."""
        first, true = self[0], self._true()
        is_class = first.labels is None and not first.is_number
        sure = f" ({percent(first.predicted_probability)})" if is_class else ""
        name = document_name(self._numbers[0], self._ids)
        title = [f"Document {name}: predicted ", *label_spans(first.answer, first), sure]
        if true is not None:
            title += [", true " if first.is_number else ", labelled ", *label_spans(true, first)]
        return [*title, " ", Span("wrong", "verdict")] if is_wrong else title

    def __repr__(self) -> str:
        return f"ExplanationList({plural(len(self))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExplanationList):
            return NotImplemented
        return (self._explanations, self._y_true) == (other._explanations, other._y_true)

    def __hash__(self) -> int:
        return hash(self._explanations)


def _check_document_numbers(numbers: ArrayLike | None, n: int) -> tuple[int, ...]:
    if numbers is None:
        return tuple(range(n))
    array = np.asarray(numbers)
    if array.shape != (n,) or not (np.issubdtype(array.dtype, np.integer) or n == 0):
        raise ValueError(
            f"numbers must be {plural(n, 'integer')}, the number of the document of each "
            f"explanation; got the shape {array.shape} and the type {array.dtype}."
        )
    return tuple(array.tolist())


def _confidence(explanation: DocumentExplanation) -> float:
    """Return the confidence of a prediction, by which `by_confidence` sorts."""
    if explanation.is_number:
        p, knots = explanation.probabilities, explanation.classes
        return -float(np.sqrt(p @ knots**2 - (p @ knots) ** 2))
    if explanation.labels is None:
        return explanation.predicted_probability
    thresholds = 0.5 if explanation.thresholds is None else explanation.thresholds
    away = log_odds(explanation.probabilities) - log_odds(thresholds)
    return float(np.abs(away).min())


def _error(explanation: DocumentExplanation, true: Any) -> float:
    """Return the size of a mistake, by which `mistakes` sorts; `true` may be a tuple of labels."""
    predicted = explanation.labels
    if explanation.is_number:
        return float(abs(explanation.predicted - true))
    if predicted is None:
        return explanation.predicted_probability
    return max(
        float(1 - p if label in true else p)
        for label, p in zip(explanation.classes.tolist(), explanation.probabilities, strict=True)
        if (label in true) != (label in predicted)
    )


def _check_true_labels(y_true: Any, explanations: Sequence[DocumentExplanation]) -> list[Any]:
    """Check true labels; return a class or, with several labels, a tuple for each explanation."""
    n_documents = len(explanations)
    if n_documents and explanations[0].labels is not None:
        return _label_sets(y_true, explanations[0].classes, n_documents)
    if n_documents and explanations[0].is_number:
        return check_numbers(y_true, n_documents, "y_true").tolist()
    refuse_collections(y_true, "y_true")
    true = label_list(y_true)
    if len(true) != n_documents or any(map(np.ndim, true)):
        raise ValueError(
            f"y_true must hold a label for each of {plural(n_documents)}, "
            f"shape ({n_documents},); got the shape {np.asarray(y_true, dtype=object).shape}."
        )
    for i, (label, explanation) in enumerate(zip(true, explanations, strict=True)):
        classes = explanation.classes.tolist()
        number = ClassNames(classes).number(label)
        if number is None:
            raise ValueError(
                f"y_true[{i}] is {label!r}, which is none of the classes {listed(classes, 20)}. "
                "Give labels of classes_, and leave out documents of other classes."
            )
        true[i] = classes[number]
    return true


def _are_sets(y_true: Any, names: list[Any]) -> bool:
    """Return whether true labels are tuples of names, and not rows of an indicator."""
    if not isinstance(y_true, (list, np.ndarray)):
        return False
    if not all(isinstance(row, tuple) for row in y_true):
        return False
    rows_of_all = {row for row in y_true if len(row) == len(names) and set(row) <= {0, 1}}
    return len(rows_of_all) < len(set(y_true)) or rows_of_all <= {tuple(names)}


def _label_sets(y_true: Any, classes: NDArray[Any], n_documents: int) -> list[tuple[Any, ...]]:
    """Convert an indicator, or tuples of names, to a tuple of labels for each document."""
    if _are_sets(y_true, classes.tolist()):
        tuples = [tuple(map(plain_label, row)) for row in y_true]
        unknown = {label for row in tuples for label in row} - set(classes.tolist())
        if len(tuples) != n_documents or unknown:
            raise ValueError(
                f"y_true must hold the labels of each of {plural(n_documents)}, of "
                f"{listed(classes.tolist(), 20)}; got {plural(len(tuples), 'tuple')}"
                f"{', and unknown are ' * bool(unknown)}{listed(list(unknown))}."
            )
        return [tuple(label for label in classes.tolist() if label in row) for row in tuples]
    refuse_collections(y_true, "y_true")
    if not is_indicator(y_true):
        raise ValueError(
            "A model of several labels a document has an indicator as y_true, of shape "
            f"({n_documents}, {len(classes)}) with 0 and 1; got {a_kind(y_true)}."
        )
    t = in_label_order(*check_indicator(y_true, n_documents, "y_true"), classes, "y_true")
    return [tuple(classes[row].tolist()) for row in t]
