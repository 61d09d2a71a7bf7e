"""What words and sentences of a document brought to a class: frozen data, no model inside."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.explanation.checks import (
    check_finite,
    check_nesting,
    check_spans,
    check_sum,
    check_sum_by_group,
    frozen,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["COMBINATIONS", "DocumentExplanation", "ScoredText", "combine_attention", "written"]

Level = Literal["word", "sentence"]
Quantity = Literal["contributions", "attention"]

COMBINATIONS = ("product", "sqrt")


def combine_attention(
    of_word: NDArray[np.float64], of_sentence: NDArray[np.float64], combine: str
) -> NDArray[np.float64]:
    """Make one number of the attention of each word and that of the sentence it stands in."""
    return of_word * (np.sqrt(of_sentence) if combine == "sqrt" else of_sentence)


class ScoredText(NamedTuple):
    """A word or a sentence with its score, as `DocumentExplanation.top` gives them.

    `attention` of a word is the combined attention, its share of the whole document.
    """

    text: str
    start: int
    end: int
    score: float
    attention: float


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DocumentExplanation:
    """The words and sentences of one document, and what they brought to the score of a class.

    Attention is what the model's pooling did: the share each word had in the vector of its
    sentence, and each sentence in the vector of its document. It is not a measure of
    importance: a word of high attention may change nothing when it is removed. How much words
    and sentences moved the score of `target` is what `contributions` estimate, by `method`.

    Parameters
    ----------
    text : str
        The raw document. All offsets count its characters (code points).
    word_spans : ndarray of int64, shape (n_words, 2)
        Start and end of each word the network read: ``text[start:end]`` is the word.
    sentence_spans : ndarray of int64, shape (n_sentences, 2)
        Start and end of each sentence.
    sentence_of_word : ndarray of int64, shape (n_words,)
        Number of the sentence that each word belongs to.
    word_attention : ndarray of float64, shape (n_words,)
        Weight of each word within its sentence; sums to 1 over each sentence.
    sentence_attention : ndarray of float64, shape (n_sentences,)
        Weight of each sentence within the document; sums to 1.
    contributions : ndarray of float64, shape (n_words,)
        What each word did toward (positive) or against (negative) `target`. With
        ``method="attention"`` the combined attention, which has no sign and no target.
    sentence_contributions : ndarray of float64, shape (n_sentences,)
        What each sentence did: by gradients and by "random" the sum over its words, by
        "occlusion" what is lost when the sentence is left out, by "attention" the sentence
        attention.
    method : str
        How the contributions were found.
    classes : ndarray, shape (n_classes,)
        Class labels, in the order of `probabilities`.
    probabilities : ndarray of float64, shape (n_classes,)
        Probability of each class.
    predicted : object
        The label that was predicted.
    target : object
        The label that the contributions are about.
    unknown : ndarray of bool, shape (n_words,)
        Whether a word is outside the vocabulary; all such words look alike to the network.
    truncated : bool
        Whether a limit on sentences or words kept the network from reading the whole text.
    combine : {"product", "sqrt"}, default="product"
        How the attention of a word and of its sentence make its `combined_attention`.
    ngram_contributions : ndarray of float64, shape (n_words,), default=None
        What each word did through the n-gram channel alone, exactly with two classes; zeros where
        there is none. Methods by gradients have it in `contributions` as well.
    completeness_error : float, default=None
        How far the contributions of "integrated_gradients" are from summing to the change of the
        score; None for other methods.
    spread : float, default=None
        Share of what a sentence gets from the network that "gradient_attention" divided evenly
        among its words; None for other methods.

    Raises
    ------
    TypeError
        If offsets are not integers.
    ValueError
        If shapes disagree, spans lie outside the text, out of order or outside their sentence,
        weights do not sum to 1, `spread` is no share, or a label is not one of `classes`.

    Notes
    -----
    Arrays are copied and made read-only. Two explanations are equal when all their fields are.
    An object takes about 60 bytes a word beside its text, pickles, and needs only numpy to load.

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
    >>> print(explanation.to_text(width=60, color=False))
    predicted pos (pos 0.900, neg 0.100)
    0.400 ████   *Great* film.
    0.600 ██████ I *loved* it!
    attention: weights of the model's pooling, not a measure of
    importance (*marked*: 0.24 to 0.48, weaker words unmarked)
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
    combine: str = "product"
    ngram_contributions: NDArray[np.float64] | None = None
    completeness_error: float | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        n_words, n_sentences = len(self.word_spans), len(self.sentence_spans)
        if self.ngram_contributions is None:
            object.__setattr__(self, "ngram_contributions", np.zeros(n_words))
        shapes: dict[str, tuple[tuple[int | None, ...], type[np.generic] | None]] = {
            "word_spans": ((n_words, 2), np.int64),
            "sentence_spans": ((n_sentences, 2), np.int64),
            "sentence_of_word": ((n_words,), np.int64),
            "word_attention": ((n_words,), np.float64),
            "sentence_attention": ((n_sentences,), np.float64),
            "contributions": ((n_words,), np.float64),
            "ngram_contributions": ((n_words,), np.float64),
            "sentence_contributions": ((n_sentences,), np.float64),
            "classes": ((None,), None),
            "probabilities": ((len(self.classes),), np.float64),
            "unknown": ((n_words,), np.bool_),
        }
        for name, (shape, dtype) in shapes.items():
            object.__setattr__(self, name, frozen(getattr(self, name), name, shape, dtype))
        object.__setattr__(self, "truncated", bool(self.truncated))
        self._check()

    @property
    def words(self) -> tuple[str, ...]:
        """The words the network read, as they stand in the text."""
        return tuple(self.text[start:end] for start, end in self.word_spans.tolist())

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, as they stand in the text."""
        return tuple(self.text[start:end] for start, end in self.sentence_spans.tolist())

    @property
    def combined_attention(self) -> NDArray[np.float64]:
        """Attention of each word in the document, shape (n_words,), by `combine`.

        With "product" its share, sentence times word attention, which sums to 1. With "sqrt" the
        square root of the sentence's times the word's, as Yang et al. (2016) draw it: it sums to
        no fixed number, and words of unimportant sentences remain visible.
        """
        of_sentence = self.sentence_attention[self.sentence_of_word]
        return combine_attention(self.word_attention, of_sentence, self.combine)

    @property
    def predicted_probability(self) -> float:
        """Probability of the predicted class."""
        return float(self.probabilities[self.classes.tolist().index(self.predicted)])

    @property
    def signed(self) -> bool:
        """Whether contributions have a sign; those of ``method="attention"`` have none."""
        return self.method != "attention"

    def top(self, k: int | None = 10, level: Level = "word") -> list[ScoredText]:
        """Give the words or sentences of the largest contributions.

        Parameters
        ----------
        k : int or None, default=10
            How many at most; None for all.
        level : {"word", "sentence"}, default="word"

        Returns
        -------
        list of ScoredText
            The largest first, by magnitude: what speaks against `target` counts as much as what
            speaks for it, and keeps its minus. Ties stand in reading order.
        """
        if k is not None and k < 0:
            raise ValueError(f"k must be None or at least 0; got {k!r}.")
        spans, scores, attention = self._at(level)
        order = np.argsort(-np.abs(scores), kind="stable")[:k]
        return [
            ScoredText(self.text[start:end], start, end, float(scores[i]), float(attention[i]))
            for i, (start, end) in zip(order, spans[order].tolist(), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as dicts, lists, strings and numbers: what JSON can hold.

        Labels that JSON has no type for become their `str`.
        """
        from sk_han.rendering.data import as_dict

        return as_dict(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give `to_dict` as JSON, and write it to a file if asked.

        Parameters
        ----------
        path : path-like, optional

        Returns
        -------
        str
            ASCII, with every other character escaped, so that any text survives any transport.
        """
        return written(json.dumps(self.to_dict()), path)

    def to_frame(self, level: Level = "word") -> DataFrame:
        """Give a pandas DataFrame with one row for each word or each sentence.

        Parameters
        ----------
        level : {"word", "sentence"}, default="word"

        Returns
        -------
        pandas.DataFrame
        """
        from sk_han.rendering.data import as_frame

        return as_frame(self, level)

    def to_text(
        self,
        *,
        show: Quantity = "contributions",
        color: bool | None = None,
        width: int | None = None,
    ) -> str:
        """Give the explanation as lines for a terminal.

        Of a long document the 20 sentences with the largest weights; where these have more than
        1,000 words, of long sentences the heaviest words with those around them.

        Parameters
        ----------
        show : {"contributions", "attention"}, default="contributions"
            What shades, marks and bars show.
        color : bool, optional
            Whether to shade words with ANSI codes. By default where standard output is a
            terminal, unless the environment sets ``NO_COLOR`` or ``TERM=dumb``.
        width : int, optional
            Columns to wrap at; by default those of the terminal.

        Returns
        -------
        str
        """
        from sk_han.rendering.text import render_text

        return render_text(self, show=show, color=color, width=width)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        show: Quantity = "contributions",
        full_page: bool = True,
    ) -> str:
        """Give the text, coloured in place, as HTML without scripts or outside assets.

        Light or dark as the reader's system is. Of a document of more than 30 sentences, the 30
        with the largest weights stay open, in their place; the others are folded. Sentences are
        whole.

        Parameters
        ----------
        path : path-like, optional
            File to write, in UTF-8.
        show : {"contributions", "attention"}, default="contributions"
            What colours and bars show.
        full_page : bool, default=True
            Whether to give a whole page, or a fragment to put into one.

        Returns
        -------
        str
        """
        from sk_han.rendering.html import render_html

        return written(render_html(self, show=show, full_page=full_page), path)

    def plot(self, ax: Axes | None = None, *, show: Quantity = "contributions") -> Axes:
        """Draw sentences as rows of shaded words; `rendering.plot_explanation` says more.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        show : {"contributions", "attention"}, default="contributions"
            What shades and bars show.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from sk_han.rendering.figure import plot_explanation

        return plot_explanation(self, ax=ax, show=show)

    def _repr_html_(self) -> str:
        return self.to_html(full_page=False)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return (
            f"DocumentExplanation({self.predicted!s} {self.predicted_probability:.3f}, "
            f"{len(self.sentence_spans)} sentences, {len(self.word_spans)} words, "
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        # NumPy forgets in a pickle that an array was read-only.
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)

    def _check(self) -> None:
        check_spans(self.word_spans, "word_spans", len(self.text))
        check_spans(self.sentence_spans, "sentence_spans", len(self.text))
        check_nesting(self.word_spans, self.sentence_spans, self.sentence_of_word)
        for name in ("word_attention", "sentence_attention", "probabilities"):
            check_finite(getattr(self, name), name, lowest=0)
        if self.combine not in COMBINATIONS:
            raise ValueError(f"combine must be one of {COMBINATIONS}; got {self.combine!r}.")
        if self.spread is not None and not 0 <= self.spread <= 1:
            raise ValueError(f"spread must be None or a share from 0 to 1; got {self.spread!r}.")
        check_finite(np.asarray(self.ngram_contributions), "ngram_contributions", lowest=-np.inf)
        for name in ("contributions", "sentence_contributions"):
            check_finite(getattr(self, name), name, lowest=-np.inf if self.signed else 0)
        check_sum(self.sentence_attention, "sentence_attention")
        check_sum(self.probabilities, "probabilities")
        check_sum_by_group(self.word_attention, self.sentence_of_word, "word_attention", "sentence")
        labels = self.classes.tolist()
        for name in ("predicted", "target"):
            if getattr(self, name) not in labels:
                raise ValueError(f"{name} must be one of {labels}; got {getattr(self, name)!r}.")

    def _at(
        self, level: Level
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Spans, contributions and shares of the document's attention, of words or sentences."""
        if level == "word":
            return self.word_spans, self.contributions, self.combined_attention
        if level == "sentence":
            return self.sentence_spans, self.sentence_contributions, self.sentence_attention
        raise ValueError(f"level must be 'word' or 'sentence'; got {level!r}.")


def written(content: str, path: str | os.PathLike[str] | None) -> str:
    """Give the content back, written to a file in UTF-8 if there is a path."""
    if path is not None:
        Path(path).write_text(content, encoding="utf-8")
    return content
