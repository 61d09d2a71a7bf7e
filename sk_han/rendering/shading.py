"""The value that each word and sentence is drawn with, and its colour scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sk_han.explanation.document import DocumentExplanation, Quantity
from sk_han.utils.caching import cached_property

__all__ = ["LEVELS", "Shading", "brief", "number", "shading_of"]

# Shades on each side of zero: about as many as readers can distinguish side by side.
LEVELS = 8


@dataclass(frozen=True, eq=False)
class Shading:
    """Values of words, shape (n_words,), and of sentences, shape (n_sentences,), to draw."""

    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    signed: bool

    @cached_property
    def word_limit(self) -> float:
        """Largest magnitude of a word in the document: the end of the colour scale."""
        return float(np.abs(self.words).max(initial=0.0))

    @cached_property
    def sentence_limit(self) -> float:
        """Largest magnitude of a sentence in the document: the length of a full bar."""
        return float(np.abs(self.sentences).max(initial=0.0))

    @cached_property
    def levels(self) -> list[int]:
        """Shade of each word, from -LEVELS to LEVELS, relative to the limit."""
        limit = self.word_limit or 1.0
        return np.rint(LEVELS * (self.words / limit)).astype(int).tolist()

    def scale(self, value: float) -> str:
        """Return the name of the colour scale of a value."""
        if not self.signed:
            return "attention"
        return "against" if value < 0 else "toward"

    def written(self, sentence: int) -> str:
        """Return the value of a sentence, as `number` writes it."""
        return number(float(self.sentences[sentence]), self.signed)

    def share(self, sentence: int) -> float:
        """Return the share of a full bar that a sentence fills, from 0 to 1."""
        return abs(float(self.sentences[sentence])) / (self.sentence_limit or 1.0)


def number(value: float, signed: bool) -> str:
    """Write a value with three decimals, or with two or three digits if it is small or large.

    Examples
    --------
    >>> from sk_han.rendering.shading import number
    >>> [number(value, signed=True) for value in (0.25, -0.00047, 0.0, 1234.5)]
    ['+0.250', '-0.00047', '0', '+1.23e+03']
    """
    # Below, three decimals round to one significant digit or none.
    if abs(value) < 0.00995:
        return brief(value, signed)
    sign = "+" if signed else ""
    return format(value, f"{sign}.3f" if abs(value) < 99.95 else f"{sign}.3g")


def brief(value: float, signed: bool = False) -> str:
    """Write a value with two significant digits, and zero without a sign.

    Examples
    --------
    >>> from sk_han.rendering.shading import brief
    >>> brief(0.123), brief(0.5, signed=True), brief(-0.0, signed=True)
    ('0.12', '+0.5', '0')
    """
    if not value:
        return "0"
    return format(value, "+.2g" if signed else ".2g")


def shading_of(explanation: DocumentExplanation, show: Quantity) -> Shading:
    """Return the values of an explanation to draw: its contributions or the attention."""
    if show == "contributions":
        return Shading(
            explanation.contributions, explanation.sentence_contributions, explanation.signed
        )
    if show == "attention":
        return Shading(explanation.combined_attention, explanation.sentence_attention, False)
    raise ValueError(f"show must be 'contributions' or 'attention'; got {show!r}.")
