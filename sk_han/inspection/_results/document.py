"""The explanation of a document, as read-only data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import Block, Heading, Sentence, amount, percent
from sk_han._rendering.figures import plot_explanation
from sk_han._rendering.result import Extent, ReadOnlyResult, Shape, freeze, plain
from sk_han._rendering.shading import (
    document_blocks,
    label_spans,
    legend,
    prediction,
    shade_document,
)
from sk_han._utils.containers import plain_label
from sk_han._utils.messages import in_one_line, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from sk_han._rendering.shading import Level


class ScoredText(NamedTuple):
    """A word or a sentence with its score, an item of `DocumentExplanation.top`.

    The `attention` of a word is the combined attention, its share of the whole document.
    """

    text: str
    start: int
    end: int
    score: float
    attention: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DocumentExplanation(ReadOnlyResult):
    """The words and sentences of one document, and their contributions to the score of a class.

    Attention is a weight of the model's pooling: the share of each word in the vector of its
    sentence, and of each sentence in the vector of the document. It does not measure importance,
    since removing a word with high attention may change nothing. `contributions` estimate, by
    `method`, by how much words and sentences change the score of `target`.

    Parameters
    ----------
    text : str
        The raw document. All offsets count its characters (code points).
    word_spans : ndarray of int64, shape (n_words, 2)
        Start and end of each word that the network read: ``text[start:end]`` is the word. Words of
        a custom tokenizer that do not occur in the text have empty spans.
    sentence_spans : ndarray of int64, shape (n_sentences, 2)
        Start and end of each sentence.
    sentence_of_word : ndarray of int64, shape (n_words,)
        Number of the sentence that each word belongs to.
    word_attention : ndarray of float64, shape (n_words,)
        Weight of each word within its sentence; sums to 1 over each sentence.
    sentence_attention : ndarray of float64, shape (n_sentences,)
        Weight of each sentence within the document; sums to 1.
    contributions : ndarray of float64, shape (n_words,)
        Contribution of each word toward (positive) or against (negative) `target`. With
        ``method="attention"``, the combined attention, which has no sign and no target.
    sentence_contributions : ndarray of float64, shape (n_sentences,)
        Contribution of each sentence: the sum over its words or, by "attention", the sentence
        attention. By "shapley", they sum to the log-odds of `target` minus `base_value`.
    method : str
        How the contributions were computed.
    classes : ndarray, shape (n_classes,)
        Class labels, in the order of `probabilities`.
    probabilities : ndarray of float64, shape (n_classes,)
        Probability of each class.
    predicted : object
        The predicted class; with several labels per document, the most probable label; or the
        predicted number.
    target : object
        The label that the contributions speak for; None if a number is predicted.
    unknown : ndarray of bool, shape (n_words,)
        Whether a word is out of vocabulary; the network cannot distinguish such words.
    truncated : bool
        Whether a limit on sentences or words cut off a part of the text.
    ngram_contributions : ndarray of float64, shape (n_words,), default=None
        Contributions of the linear models alone, which `contributions` include by "shapley" and
        "gradient_attention". Exact with two classes; zeros without linear models.
    sentence_errors : ndarray of float64, shape (n_sentences,), default=None
        Standard error of the contribution of each sentence by "shapley"; in documents of more than
        64 sentences, that of its group; 0 if all sets were scored. None for other methods.
    base_value : float, default=None
        Log-odds of `target` in a document without words, to which contributions by "shapley" are
        added; None for other methods.
    labels : sequence, default=None
        The predicted labels of a model of several labels per document; None for a model of one
        class per document.
    against : object, default=None
        The class that `target` is compared with; None for all others together.
    thresholds : ndarray of float64, shape (n_classes,), default=None
        The least probabilities of predicted labels, of a model of several labels per document; None
        for a model of one class per document.
    expected : float, default=None
        The predicted number, or the expected number of ordered classes
        (``explain(..., targets="expected")``), if this is what is explained instead of the log-odds
        of `target`; then `base_value` is such a number, too.
    tokens : sequence of str, default=None
        The words as returned by the tokenizer, if some do not occur in the text or overlap others;
        None if all words follow each other in the text.
    network_share : float, default=1.0
        Share of the network in the decision, from 0 to 1: the mean size of its logits, relative to
        the sum of the sizes of the logits of the network and of the other parts together. With one
        class per document, logits are centred over the classes.
    column_names, column_values : tuple of str, default=()
        The columns of a table, and what the model reads in them: a value, or a bin of a number.
    column_contributions : ndarray of float64, shape (n_columns,), default=None
        Contribution of each column; zeros by "attention" and "random".
    sentence_fields : tuple of str, default=()
        The column of each sentence, if `text_column` has several; else empty.

    Raises
    ------
    TypeError, ValueError
        If the shapes of fields do not fit, numbers are not finite, or a label is not a class.

    Notes
    -----
    Arrays are copied and made read-only. Two explanations are equal if all their fields are equal.
    In addition to its text, an explanation takes about 60 bytes per word.

    Examples
    --------
    >>> from sk_han import DocumentExplanation
    >>> explanation = DocumentExplanation(
    ...     text="Great film. I loved it!",
    ...     word_spans=[[0, 5], [6, 10], [12, 13], [14, 19], [20, 22]],
    ...     sentence_spans=[[0, 11], [12, 23]],
    ...     sentence_of_word=[0, 0, 1, 1, 1],
    ...     word_attention=[0.7, 0.3, 0.1, 0.8, 0.1],
    ...     sentence_attention=[0.4, 0.6],
    ...     contributions=[0.28, 0.12, 0.06, 0.48, 0.06],
    ...     sentence_contributions=[0.4, 0.6],
    ...     method="attention",
    ...     classes=["neg", "pos"],
    ...     probabilities=[0.1, 0.9],
    ...     predicted="pos",
    ...     target="pos",
    ...     unknown=[False, False, False, False, False],
    ...     truncated=False,
    ... )
    >>> explanation
    DocumentExplanation(pos 0.900, 2 sentences, 5 words, method='attention')
    >>> [(word.text, round(word.score, 2)) for word in explanation.top(2)]
    [('loved', 0.48), ('Great', 0.28)]
    >>> explanation.top(1, level="sentence")[0].text
    'I loved it!'
    >>> print(explanation.to_text(width=60))
    predicted pos (pos 0.900, neg 0.100)
    0.400 ████   Great film.
    0.600 ██████ I loved it!
    Strongest words: Great 0.280, film 0.120, loved 0.480
    The number before a sentence is its attention, a weight of
    the model's pooling. Attention is not a reason: it speaks
    neither for a class nor against one.
    """

    text: str
    word_spans: NDArray[np.int64]
    sentence_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    word_attention: NDArray[np.float64]
    sentence_attention: NDArray[np.float64]
    contributions: NDArray[np.float64]
    sentence_contributions: NDArray[np.float64]
    method: str
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    predicted: Any
    target: Any
    unknown: NDArray[np.bool_]
    truncated: bool
    ngram_contributions: NDArray[np.float64] | None = None
    sentence_errors: NDArray[np.float64] | None = None
    base_value: float | None = None
    labels: tuple[Any, ...] | None = None
    against: Any = None
    thresholds: NDArray[np.float64] | None = None
    expected: float | None = None
    tokens: tuple[str, ...] | None = None
    network_share: float = 1.0
    column_names: tuple[str, ...] = ()
    column_values: tuple[str, ...] = ()
    column_contributions: NDArray[np.float64] | None = None
    sentence_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n_words, n_sentences, n_classes = map(
            len, (self.word_spans, self.sentence_spans, self.classes)
        )
        if self.ngram_contributions is None:
            object.__setattr__(self, "ngram_contributions", np.zeros(n_words))
        if self.column_contributions is None:
            object.__setattr__(self, "column_contributions", np.zeros(len(self.column_names)))
        for name in ("column_names", "column_values", "sentence_fields"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.column_names) != len(self.column_values):
            raise ValueError("column_names and column_values must have the same length.")
        if self.sentence_fields and len(self.sentence_fields) != n_sentences:
            raise ValueError("sentence_fields must name the field of each sentence, or be empty.")
        shapes: dict[str, Shape] = {
            "word_spans": ((n_words, 2), np.int64),
            "sentence_spans": ((n_sentences, 2), np.int64),
            "sentence_of_word": ((n_words,), np.int64),
            "word_attention": ((n_words,), np.float64),
            "sentence_attention": ((n_sentences,), np.float64),
            "contributions": ((n_words,), np.float64),
            "ngram_contributions": ((n_words,), np.float64),
            "sentence_contributions": ((n_sentences,), np.float64),
            "classes": ((None,), None),
            "probabilities": ((n_classes,), np.float64),
            "unknown": ((n_words,), np.bool_),
            "sentence_errors": ((n_sentences,), np.float64),
            "column_contributions": ((len(self.column_names),), np.float64),
            "thresholds": ((n_classes,), np.float64),
        }
        freeze(self, shapes)
        object.__setattr__(self, "truncated", bool(self.truncated))
        object.__setattr__(self, "network_share", float(self.network_share))
        if self.tokens is not None:
            object.__setattr__(self, "tokens", tuple(self.tokens))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(map(plain_label, self.labels)))
        classes = self.classes.tolist()
        against = () if self.against is None else (self.against,)
        named = (self.predicted, self.target, *against, *(self.labels or ()))
        for label in () if self.is_number else named:
            if label not in classes:
                raise ValueError(f"Labels must be of the classes {classes}; got {label!r}.")

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the network read, as in the text or, if they are not there, `tokens`."""
        words = (self.text[start:end] for start, end in self.word_spans.tolist())
        if self.tokens is None:
            return tuple(words)
        return tuple(word or token for word, token in zip(words, self.tokens, strict=True))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, as in the text."""
        return tuple(self.text[start:end] for start, end in self.sentence_spans.tolist())

    @property
    def combined_attention(self) -> NDArray[np.float64]:
        """Attention to each word in the document, (n_words,): the product of both levels."""
        return self.word_attention * self.sentence_attention[self.sentence_of_word]

    @property
    def is_number(self) -> bool:
        """Whether a number is predicted, not a class; `classes` are then knots of its range."""
        return self.target is None

    @property
    def answer(self) -> Any:
        """The prediction: `predicted` or, with several labels per document, the tuple `labels`."""
        return self.predicted if self.labels is None else self.labels

    @property
    def predicted_probability(self) -> float:
        """Probability of `predicted`; NaN for a number."""
        if self.is_number:
            return float("nan")
        return float(self.probabilities[self.classes.tolist().index(self.predicted)])

    @property
    def signed(self) -> bool:
        """Whether contributions have a sign, as by all methods except "attention"."""
        return self.method != "attention"

    def top(self, k: int | None = 10, level: Level = "word") -> list[ScoredText]:
        """Return the words or sentences with the largest contributions.

        Parameters
        ----------
        k : int or None, default=10
            Number of words or sentences; None for all.
        level : {"word", "sentence"}, default="word"

        Returns
        -------
        list of ScoredText
            By decreasing magnitude: contributions against `target` count as much as those toward
            it, and keep their minus. Ties are in the order of the text.
        """
        if not (k is None or (isinstance(k, Integral) and k >= 0)):
            raise ValueError(f"k must be an integer of at least 0, or None; got {k!r}.")
        table = self.columns(level)
        attention = table.get("combined_attention", table["attention"])
        columns = table["text"], table["start"], table["end"], table["contribution"], attention
        order = np.argsort(-np.abs(table["contribution"]), kind="stable")[:k]
        return [ScoredText(*(plain(column[i]) for column in columns)) for i in order.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return all data as values that JSON can hold, with words inside of their sentences."""
        words = _rows(self.columns("word"))
        sentences = _rows(self.columns("sentence"))
        first = np.searchsorted(self.sentence_of_word, np.arange(len(sentences) + 1))
        for i, sentence in enumerate(sentences):
            sentence["words"] = words[first[i] : first[i + 1]]
        of_document = (
            *("text", "method", "signed", "base_value", "expected"),
            *("classes", "probabilities", "thresholds", "predicted", "labels", "target", "against"),
            *("truncated", "tokens", "network_share"),
        )
        values = {name: plain(getattr(self, name)) for name in of_document}
        columns = {
            "name": self.column_names,
            "value": self.column_values,
            "contribution": self.column_contributions,
        }
        return values | {"sentences": sentences, "columns": _rows(columns)}

    def to_frame(self, level: Level = "word") -> DataFrame:
        """Return a pandas DataFrame with one row for each word or each sentence.

        Parameters
        ----------
        level : {"word", "sentence"}, default="word"
        """
        columns = self.columns(level)
        import pandas

        frame = pandas.DataFrame(
            {level: pandas.Series(columns.pop("text"), dtype=object)} | columns
        )
        if level == "word":
            frame.insert(3, "sentence", self.sentence_of_word)
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the contributions of sentences as bars; see `inspection.plot_explanation`."""
        return plot_explanation(self, ax)

    def columns(self, level: Level) -> dict[str, Any]:
        """Return the data of words or sentences, as columns of one length."""
        errors = self.sentence_errors
        if level == "sentence":
            fields = {"field": self.sentence_fields} if self.sentence_fields else {}
            return {
                "text": self.sentences,
                "start": self.sentence_spans[:, 0],
                "end": self.sentence_spans[:, 1],
                "attention": self.sentence_attention,
                "contribution": self.sentence_contributions,
                "error": [None] * len(self.sentences) if errors is None else errors,
                **fields,
            }
        if level != "word":
            raise ValueError(f"level must be 'word' or 'sentence'; got {level!r}.")
        return {
            "text": self.words,
            "start": self.word_spans[:, 0],
            "end": self.word_spans[:, 1],
            "attention": self.word_attention,
            "combined_attention": self.combined_attention,
            "contribution": self.contributions,
            "ngram_contribution": self.ngram_contributions,
            "unknown": self.unknown,
        }

    def _blocks(self, extent: Extent, **options: Any) -> Iterator[Block]:
        if extent == "terminal":
            yield Sentence(prediction(self))
            yield shade_document([self])
            yield from legend([self], on_page=False)
            return
        is_class = self.labels is None and not self.is_number
        sure = f", {percent(self.predicted_probability)}" if is_class else ""
        yield Heading(["Predicted ", *label_spans(self.answer, self), sure], 1)
        yield from legend([self])
        yield from document_blocks([self])

    def __repr__(self) -> str:
        label, sure = self.predicted, f" {self.predicted_probability:.3f}"
        if self.is_number:
            label, sure = amount(self.predicted), ""
        return (
            f"DocumentExplanation({in_one_line(label, 60)}{sure}, "
            f"{plural(len(self.sentence_spans), 'sentence')}, "
            f"{plural(len(self.word_spans), 'word')}, "
            f"method={self.method!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DocumentExplanation):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.text, self.method, self.truncated))


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a dict of plain values for each row of columns of one length."""
    rows = zip(*map(plain, columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
