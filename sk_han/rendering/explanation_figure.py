"""An explanation as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sk_han.rendering.colors import themed_axes
from sk_han.rendering.notes import NO_WORDS, comparison, named, probabilities_of
from sk_han.rendering.protocols import Explained
from sk_han.rendering.shading import Shading, shading_of
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SENTENCES = 20
LONGEST = 50  # characters
CLASSES_SHOWN = 3
INCHES_PER_SENTENCE = 0.3


def plot_explanation(explanation: Explained, ax: Axes | None = None) -> Axes:
    """Draw the contribution of each sentence as a bar beside the beginning of its text.

    Of a long document, the 20 sentences of the largest contributions are drawn. Words are shaded on
    the page of an explanation (`DocumentExplanation.to_html`), not in a figure.

    Parameters
    ----------
    explanation : Explained
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    """
    shading = shading_of(explanation, "contributions")
    order = np.argsort(-np.abs(shading.sentences), kind="stable")
    shown = np.sort(order[:MOST_SENTENCES])
    size = 8, 1.2 + INCHES_PER_SENTENCE * max(len(shown), 1)
    ax, theme = themed_axes(ax, "DocumentExplanation.plot", size)
    probabilities = ", ".join(probabilities_of(explanation, CLASSES_SHOWN, None))
    title = f"predicted {named(explanation.answer, in_one_line)} ({probabilities})"
    ax.set_title(title, size="medium", parse_math=False)
    values = shading.sentences[shown]
    colors = [getattr(theme, shading.scale(value))[1] for value in values]
    bars = ax.barh(np.arange(len(shown)), values, color=colors, height=0.7)
    ax.bar_label(bars, [shading.written(i) for i in shown], padding=3, size="small")
    sentences = explanation.sentences
    beginnings = [_beginning(sentences[i]) for i in shown]
    ax.set_yticks(np.arange(len(shown)), beginnings, size="small", parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.margins(x=0.15)
    ax.axvline(0, color=theme.muted, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(_meaning(explanation, shading, len(shown)), parse_math=False)
    return ax


def _beginning(sentence: str) -> str:
    text = in_one_line(sentence)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _meaning(explanation: Explained, shading: Shading, n_shown: int) -> str:
    """Return what the bars are, and how many sentences are left out."""
    n = len(shading.sentences)
    if not n:
        return NO_WORDS
    if explanation.method == "random":
        meaning = "random numbers, a control"
    elif shading.signed:
        meaning = f"contribution to the log-odds of {comparison(explanation, in_one_line)}"
    else:
        meaning = "attention"
    return meaning if n == n_shown else f"{meaning}\n(the strongest {n_shown} of {n:,} sentences)"
