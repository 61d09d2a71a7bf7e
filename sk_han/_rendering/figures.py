"""Figures of matplotlib: sentences of an explanation, matrices, faithfulness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han._rendering.blocks import Matrix, plain_text
from sk_han._rendering.colors import DARK, LIGHT, Theme, shades
from sk_han._rendering.shading import (
    NO_WORDS,
    Explained,
    Shading,
    comparison,
    make_shading,
    prediction,
)
from sk_han._utils.messages import import_optional, in_one_line, shorten_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SENTENCES = 20
# Longest beginning of a sentence, and longest label, in characters.
LONGEST, LONGEST_NAME = 50, 40
# Sizes in inches. A matrix of more rows than fit into the largest figure has smaller cells.
INCHES_PER_ROW, LARGEST_FIGURE = 0.3, 40.0


def choose_theme(ax: Axes) -> Theme:
    """Return the theme that fits the background of a figure."""
    from matplotlib.colors import to_rgb

    return DARK if sum(to_rgb(ax.figure.get_facecolor())) < 1.5 else LIGHT


def themed_axes(
    ax: Axes | None, caller: str, size: Sequence[float] | None = None
) -> tuple[Axes, Theme]:
    """Return the axes and their theme; without axes, create a figure of this size in inches.

    `caller` is the function that an error names if matplotlib is missing.
    """
    pyplot = import_optional("matplotlib.pyplot", "plot", caller)
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        got = type(ax).__name__
        # The result of plt.subplots(1, 2) is a likely mistake.
        if hasattr(ax, "flat"):
            got = f"an array of {ax.size}. Choose one of them, such as ax=axes.flat[0]"
        raise TypeError(f"ax must be one matplotlib.axes.Axes; got {got}.")
    return ax, choose_theme(ax)


def plot_explanation(explanation: Explained, ax: Axes | None = None) -> Axes:
    """Draw the contribution of each sentence as a bar next to the beginning of its text.

    For a long document, the 20 sentences with the largest contributions are drawn. Words are only
    shaded on pages (`DocumentExplanation.to_html`).

    Parameters
    ----------
    explanation : Explained
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    """
    shading = make_shading(explanation)
    order = np.argsort(-np.abs(shading.sentences), kind="stable")
    shown = np.sort(order[:MOST_SENTENCES])
    size = 8, 1.2 + INCHES_PER_ROW * max(len(shown), 1)
    ax, theme = themed_axes(ax, "DocumentExplanation.plot", size)
    ax.set_title(plain_text(prediction(explanation)), size="medium", parse_math=False)
    values = shading.sentences[shown]
    colors = [getattr(theme, shading.scale(value))[1] for value in values]
    bars = ax.barh(np.arange(len(shown)), values, color=colors, height=0.7)
    for bar, i in zip(bars, shown, strict=True):
        bar.set_alpha(0.35 if shading.is_unclear(i) else 1.0)
    ax.bar_label(bars, [shading.format_value(i) for i in shown], padding=3, size="small")
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
    """Return the label of the axis: the meaning of the bars, and how many of them are shown."""
    n = len(shading.sentences)
    if not n:
        return NO_WORDS
    if explanation.method == "random":
        meaning = "random numbers, a control"
    elif shading.signed:
        odds = "" if explanation.expected is not None else "the log-odds of "
        meaning = f"contribution to {odds}{plain_text(comparison(explanation))}"
    else:
        meaning = "attention"
    return meaning if n == n_shown else f"{meaning}\n(the strongest {n_shown} of {n:,} sentences)"


def plot_matrix(matrix: Matrix, ax: Axes | None, caller: str) -> Axes:
    """Draw shares as shades, counts as numbers in them, and the names of rows and columns."""
    rows, columns = matrix.rows, matrix.columns
    shown = shorten_apart([in_one_line(name) for name in (*columns, *rows)], LONGEST_NAME)
    margin = 1.5 + 0.1 * max(map(len, shown), default=0)  # inches, for names next to the shades
    size = [min(margin + INCHES_PER_ROW * len(names), LARGEST_FIGURE) for names in (columns, rows)]
    ax, theme = themed_axes(ax, caller, size)
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list(
        "attention", [theme.page, *shades(theme, "attention")]
    )
    if matrix.shares.size:
        ax.imshow(matrix.shares, cmap=scale, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(columns)), shown[: len(columns)], rotation=90, parse_math=False)
    ax.set_yticks(range(len(rows)), shown[len(columns) :], parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelcolor=theme.text)
    ax.spines[:].set_color(theme.rule)
    if matrix.counts is not None:
        for row, column in np.argwhere(matrix.counts).tolist():
            count = f"{matrix.counts[row, column]:,}"
            ax.text(column, row, count, ha="center", va="center", size="small", color=theme.text)
    ax.set_ylabel(matrix.axes[0])
    ax.set_xlabel(matrix.axes[1])
    ax.xaxis.set_label_position("top")
    return ax


def plot_faithfulness(report: Any, ax: Axes | None) -> Axes:
    """Draw comprehensiveness and sufficiency of each method, with their intervals."""
    size = 8, 1.2 + 0.4 * len(report.methods)
    ax, theme = themed_axes(ax, "FaithfulnessReport.plot", size)
    rows = np.arange(len(report.methods))
    # The two metrics also differ in marker and offset, for readers who do not see the colours.
    for metric, color, marker, shift, better in (
        ("comprehensiveness", theme.toward[1], "o", -0.12, "higher"),
        ("sufficiency", theme.against[1], "s", 0.12, "lower"),
    ):
        means = np.array([report.means[metric][method] for method in report.methods])
        intervals = np.array([report.intervals[metric][method] for method in report.methods])
        ax.errorbar(
            means,
            rows + shift,
            xerr=[means - intervals[:, 0], intervals[:, 1] - means],
            fmt=marker,
            color=color,
            capsize=3,
            label=f"{metric} ({better} is better)",
        )
    ax.axvline(0, color=theme.rule, zorder=0)
    names = [in_one_line(method) for method in report.methods]
    ax.set_yticks(rows, names, parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("fall in the probability of the likeliest class or label, or in the number")
    ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return ax
