"""Alignments of texts with their translations, and how words of a translation are written."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._documents import DocumentArray
from sk_han._rendering.blocks import Block, Heading, Matrix, Span, Table
from sk_han._rendering.figures import plot_matrix
from sk_han._rendering.result import Extent, Result, plain
from sk_han._text.sentences import CHARACTER_MARKS, CHARACTER_WORDS, WORD_CHARACTERS
from sk_han._utils.messages import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Alignment(Result):
    """A text, its translation, and the attention of each translated word to the words of the text.

    Parameters
    ----------
    source_text, target_text : str
    source_words, target_words : iterable of str
        Words as written in the texts.
    weights : array-like of shape (n_target_words, n_source_words)
        Attention of each target word to the source words, kept read-only. A row sums to at most 1:
        the rest is attention to the end of the text.

    Raises
    ------
    ValueError
        If the shape of the weights does not match the words, or a weight is not from 0 to 1.

    Notes
    -----
    Attention shows which source words the network used when it chose a word. Usually that is the
    translated word, but an article may attend to its noun, for example.

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
        matrix: NDArray[np.float64] = np.array(weights, dtype=np.float64)
        if matrix.shape != shape:
            raise ValueError(
                f"weights must have the shape {shape}, target by source; got {matrix.shape}."
            )
        if not ((matrix >= 0) & (matrix <= 1 + 1e-6)).all():
            raise ValueError("weights must be numbers from 0 to 1.")
        matrix.setflags(write=False)
        self.weights = matrix

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
        import pandas

        rows, columns = (
            pandas.Index(words, dtype=object) for words in (self.target_words, self.source_words)
        )
        return pandas.DataFrame(self.weights, rows, columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix as a heat-map, as Bahdanau et al. (2015) do."""
        return plot_matrix(self._matrix(), ax, "Alignment.plot")

    def _matrix(self) -> Matrix:
        return Matrix(self.target_words, self.source_words, self.weights, ("", ""))

    def _blocks(self, extent: Extent, **options: Any) -> list[Block]:
        title = Heading("Where each word of the translation looked", 1)
        if extent != "terminal":
            return [title, self._matrix()]
        pairs = [
            [Span(word), Span(source or "nothing"), f"{weight:.2f}"]
            for word, source, weight in self.pairs()
        ]
        return [title, Table(pairs, kind="facts")]

    def __repr__(self) -> str:
        targets, sources = (plural(len(w), "word") for w in (self.target_words, self.source_words))
        return f"Alignment({targets} to {sources})"


# A translation must contain every sign of a text, so each sign is a word, even the hyphen of
# "T-shirt". An apostrophe starts a new word, so that "man's" and "woman's" share the word "'s".
SIGN_PATTERN = (
    f"(?<=[{WORD_CHARACTERS}])['’][{WORD_CHARACTERS}]+|[{WORD_CHARACTERS}]+"
    f"|[{CHARACTER_WORDS}](?:[{CHARACTER_MARKS}])*|[^\\s]"
)

GLUED_BEFORE, GLUED_AFTER = 1, 2
_ENDS = ".!?…。！？"
_WORD = re.compile(f"[{WORD_CHARACTERS}]+")


def learn_forms(
    texts: Sequence[str],
    documents: DocumentArray,
    spans: Sequence[NDArray[np.int64]],
    vocabulary: Mapping[str, int],
) -> tuple[list[str], NDArray[np.int64], bool]:
    """Learn how each word of a vocabulary is written, from texts, ids and spans (n_words, 2).

    Return, by word id, the most frequent form within sentences ("" for ids without a word), and for
    signs whether they are written without a space before (`GLUED_BEFORE`) or after them
    (`GLUED_AFTER`). The third result is whether most texts start with a capital.
    """
    vocabulary_size = max(vocabulary.values()) + 1
    bounds = documents.word_starts
    ids = [documents.word_ids[a:b] for a, b in pairwise(bounds)]
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    first: dict[int, Counter[str]] = defaultdict(Counter)
    # Columns are the number of occurrences with a word before, of those without white space
    # between, and the same two numbers for the word after.
    counts = np.zeros((vocabulary_size, 4), dtype=np.int64)
    n_capital = n_cased = 0
    for text, numbers, places in zip(texts, ids, spans, strict=True):
        starts, ends = places[:, 0].tolist(), places[:, 1].tolist()
        words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
        if words and words[0][:1].lower() != words[0][:1].upper():
            n_cased += 1
            n_capital += words[0][0] == words[0][0].upper()
        for i, (number, word) in enumerate(zip(numbers.tolist(), words, strict=True)):
            begins = i == 0 or words[i - 1] in _ENDS
            # Words of a custom tokenizer may not occur in the text.
            if word:
                (first if begins else inside)[number][word] += 1
            if i > 0:
                glued = ends[i - 1] == starts[i]
                counts[number] += (1, glued, 0, 0)
                counts[numbers[i - 1]] += (0, 0, 1, glued)
    forms = [""] * vocabulary_size
    for word, number in vocabulary.items():
        counter = inside.get(number) or first.get(number) or Counter([word])
        forms[number] = min(counter.items(), key=lambda item: (-item[1], item[0]))[0]
    glued = GLUED_BEFORE * (2 * counts[:, 1] > counts[:, 0])
    glued = glued + GLUED_AFTER * (2 * counts[:, 3] > counts[:, 2])
    # Only signs are glued; words next to a sign are not, even if that is where they usually occur.
    glued[[not form or _WORD.fullmatch(form) is not None for form in forms]] = 0
    return forms, glued, 2 * n_capital > n_cased


def detokenize(words: Iterable[tuple[str, int]], capitals: bool) -> str:
    """Join words to a text, given the form of each and whether it is glued to its neighbours."""
    text, joins, begins = "", True, capitals
    for word, glued in words:
        if begins:
            word = word[:1].upper() + word[1:]
        text += word if joins or glued & GLUED_BEFORE else f" {word}"
        joins, begins = bool(glued & GLUED_AFTER), capitals and word in _ENDS
    return text
