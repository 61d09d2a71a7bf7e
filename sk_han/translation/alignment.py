"""The words of a text and of its translation, and the attention between them, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han.inspection.results.result import Result, plain
from sk_han.rendering.markup import isolated, page
from sk_han.rendering.matrix import plot_matrix
from sk_han.rendering.shading import LEVELS
from sk_han.utils.counts import counted
from sk_han.utils.optional import import_optional
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Alignment(Result):
    """A text, its translation, and where each word of the translation looked in the text.

    Parameters
    ----------
    source_text, target_text : str
    source_words, target_words : iterable of str
        As they are written.
    weights : array-like of shape (n_target_words, n_source_words)
        Attention of each target word to the source words, kept read-only. A row sums to at most 1:
        the rest is attention to the end of the text.

    Raises
    ------
    ValueError
        If the shape of the weights is not that of the words, or a weight is not from 0 to 1.

    Notes
    -----
    Attention tells where the network looked when it chose a word. In most places that is the word
    that it translates; an article, say, may look at its noun.

    Examples
    --------
    >>> from sk_han.translation import Alignment
    >>> alignment = Alignment("ein Hund", "a dog", ["ein", "Hund"], ["a", "dog"],
    ...                       [[0.75, 0.25], [0.125, 0.875]])
    >>> alignment.pairs()
    [('a', 'ein', 0.75), ('dog', 'Hund', 0.875)]
    """

    __slots__ = ("source_text", "source_words", "target_text", "target_words", "weights")

    def __init__(
        self,
        source_text: str,
        target_text: str,
        source_words: Any,
        target_words: Any,
        weights: ArrayLike,
    ) -> None:
        self.source_text, self.target_text = source_text, target_text
        self.source_words, self.target_words = tuple(source_words), tuple(target_words)
        shape = len(self.target_words), len(self.source_words)
        found: NDArray[np.float64] = np.array(weights, dtype=np.float64)
        if found.shape != shape:
            raise ValueError(
                f"weights must have the shape {shape}, a row for each target word and a column for "
                f"each source word; got {found.shape}."
            )
        if not ((found >= 0) & (found <= 1 + 1e-6)).all():
            raise ValueError("weights must be numbers from 0 to 1.")
        found.setflags(write=False)
        self.weights = found

    def pairs(self) -> list[tuple[str, str | None, float]]:
        """Return each target word with the source word of its largest weight, and that weight.

        The source word is None where there are no source words.
        """
        if not self.source_words:
            return [(word, None, 0.0) for word in self.target_words]
        best = self.weights.argmax(axis=1)
        return [
            (word, self.source_words[i], float(self.weights[row, i]))
            for row, (word, i) in enumerate(zip(self.target_words, best.tolist(), strict=True))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as values that JSON can hold."""
        names = ("source_text", "target_text", "source_words", "target_words", "weights")
        return {name: plain(getattr(self, name)) for name in names}

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame: a row for each target word, a column for each source word."""
        pandas = import_optional("pandas", None, "Alignment.to_frame")
        rows, columns = (
            pandas.Index(words, dtype=object) for words in (self.target_words, self.source_words)
        )
        return pandas.DataFrame(self.weights, rows, columns)

    def to_text(self) -> str:
        """Return a line for each of `pairs`."""
        width = max((len(in_one_line(word)) for word in self.target_words), default=0)
        return "\n".join(
            f"{in_one_line(word):>{width}} <- {in_one_line(source or 'nothing')} ({weight:.2f})"
            for word, source, weight in self.pairs()
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat-map, as Bahdanau et al. (2015) do."""
        return plot_matrix(self.weights, self.target_words, self.source_words, ax, "Alignment.plot")

    def _markup(self, *, full_page: bool) -> str:
        """Return a table with a row for each target word and a column for each source word."""
        head = "".join(
            f'<th scope="col" style="writing-mode:vertical-rl">{isolated(word)}</th>'
            for word in self.source_words
        )
        rows = "".join(
            f'<tr><th scope="row" style="text-align:end">{isolated(word)}</th>'
            f"{''.join(map(_cell, row))}</tr>"
            for word, row in zip(self.target_words, self.weights.tolist(), strict=True)
        )
        table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return page(f'<div style="overflow-x:auto">{table}</div>', "alignment", full_page)

    def __repr__(self) -> str:
        targets, sources = (counted(len(w), "word") for w in (self.target_words, self.source_words))
        return f"Alignment({targets} to {sources})"


def _cell(weight: float) -> str:
    level = round(LEVELS * weight)
    shade = f' style="background:var(--attention-{level})"' if level else ""
    return f'<td{shade} title="{weight:.2f}">&nbsp;&nbsp;</td>'
