"""The value that each word and sentence is drawn with, and its colour scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.protocols import Explained, Quantity

# Shades on each side of zero: about as many as readers can distinguish side by side.
LEVELS = 8

# Words that together hold no more than this share of a document's contributions are not shaded: the
# largest of the shares measured at which taking all of them out at once, four of five words,
# changes at most 4 of 100 decisions (docs/benchmarks.md).
WEAK_SHARE = 0.2

_SHOWN = 5e-4  # of a probability


@dataclass(frozen=True, eq=False)
class Shading:
    """Values of words, shape (n_words,), and of sentences, shape (n_sentences,), to draw."""

    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    signed: bool
    base: float | None = None  # from which contributions start, where they add up to what is shown
    beside: tuple[Shading, ...] = ()  # of the same document, for other classes

    @cached_property
    def word_limit(self) -> float:
        """Largest magnitude of a word in the document: the end of the colour scale."""
        return max(float(np.abs(each.words).max(initial=0.0)) for each in (self, *self.beside))

    @cached_property
    def sentence_limit(self) -> float:
        """Largest magnitude of a sentence in the document: the length of a full bar."""
        return max(float(np.abs(each.sentences).max(initial=0.0)) for each in (self, *self.beside))

    @cached_property
    def levels(self) -> list[int]:
        """Shade of each word, from -LEVELS to LEVELS, relative to the limit; 0 if too weak."""
        limit = self.word_limit or 1.0
        steps = np.rint(LEVELS * (np.abs(self.words) / limit)).astype(int)
        shown = np.where(too_weak(self.words), 0, np.maximum(steps, 1))
        return np.where(self.words < 0, -shown, shown).tolist()

    def scale(self, value: float) -> str:
        """Return the name of the colour scale of a value."""
        if not self.signed:
            return "attention"
        return "against" if value < 0 else "toward"

    def written(self, sentence: int) -> str:
        """Return the value of a sentence, as `number` writes it."""
        return number(float(self.sentences[sentence]), self.signed)

    def sum_note(self) -> str:
        """Say what the sentences add up to, and from where; nothing where they do not add up."""
        if self.base is None:
            return ""
        total = self.base + float(self.sentences.sum())
        return f"{number(self.base, True)} without any word, {number(total, True)} in sum"

    def share(self, sentence: int) -> float:
        """Return the share of a full bar that a sentence fills, from 0 to 1."""
        return abs(float(self.sentences[sentence])) / (self.sentence_limit or 1.0)


def too_weak(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which words are too weak to matter, shape (n_words,).

    They are the weakest ones, as many as together hold no more than `WEAK_SHARE` of the sum of
    all magnitudes; words of equal magnitude are all weak, or none is.
    """
    magnitudes = np.abs(values)
    rising = np.sort(magnitudes)
    n_weak = int((np.cumsum(rising) <= WEAK_SHARE * magnitudes.sum()).sum())
    if n_weak == len(values):  # all are zero
        return np.ones(n_weak, dtype=bool)
    return magnitudes < rising[n_weak]


def number(value: float, signed: bool) -> str:
    """Write a value with three decimals, or with two or three digits if it is small or large."""
    # Below, three decimals round to one significant digit or none.
    if abs(value) < 0.00995:
        return brief(value, signed)
    sign = "+" if signed else ""
    return format(value, f"{sign}.3f" if abs(value) < 99.95 else f"{sign}.3g")


def brief(value: float, signed: bool = False) -> str:
    """Write a value with two significant digits, and zero without a sign."""
    if not value:
        return "0"
    return format(value, "+.2g" if signed else ".2g")


def shading_of(explanation: Explained, show: Quantity) -> Shading:
    """Return the values of an explanation to draw: its contributions or the attention."""
    if show == "contributions":
        return Shading(
            explanation.contributions,
            explanation.sentence_contributions,
            explanation.signed,
            explanation.base_value if adds_up(explanation) else None,
        )
    if show == "attention":
        return Shading(explanation.combined_attention, explanation.sentence_attention, False)
    raise ValueError(f"show must be 'contributions' or 'attention'; got {show!r}.")


def adds_up(explanation: Explained) -> bool:
    """Return whether sentences add up to the probability shown: not those before a calibration."""
    if explanation.base_value is None or not len(explanation.sentence_spans):
        return False
    labels = explanation.classes.tolist()
    share = float(explanation.probabilities[labels.index(explanation.target)])
    if explanation.against is not None:
        share /= share + float(explanation.probabilities[labels.index(explanation.against)]) or 1.0
    total = explanation.base_value + float(explanation.sentence_contributions.sum())
    return abs(1 / (1 + math.exp(min(-total, 700.0))) - share) < _SHOWN


def side_by_side(explanations: Sequence[Explained], show: Quantity) -> list[Shading]:
    """Return the values of one document for several classes, with one colour scale for all."""
    shadings = tuple(shading_of(explanation, show) for explanation in explanations)
    return [replace(shading, beside=shadings) for shading in shadings]
