"""Weights between the words of two texts as a heat-map: matplotlib figure and HTML table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.colors import shades, theme_of
from sk_han.rendering.fonts import drawable, families_for
from sk_han.rendering.markup import isolated, page
from sk_han.rendering.rows import in_one_line
from sk_han.rendering.shading import LEVELS
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_weights", "weights_html"]

Words = tuple[str, ...]
Weights = NDArray[np.float64]

INCHES_PER_WORD = 0.32
LARGEST_FIGURE = 40.0  # inches: beyond it, words of giants are drawn smaller


def plot_weights(sources: Words, targets: Words, weights: Weights, ax: Axes | None) -> Axes:
    """Draw a row for each target word and a column for each source word, shaded by weight."""
    pyplot = import_optional("matplotlib.pyplot", "plot", "Alignment.plot")
    colors = import_optional("matplotlib.colors", "plot", "Alignment.plot")
    n_rows, n_columns = weights.shape
    if ax is None:
        size = [min(1.5 + INCHES_PER_WORD * n, LARGEST_FIGURE) for n in (n_columns, n_rows)]
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    theme = theme_of(ax)
    scale = colors.LinearSegmentedColormap.from_list(
        "attention", [theme.page, *shades(theme, "attention")]
    )
    if weights.size:
        ax.imshow(weights, cmap=scale, vmin=0, vmax=1, aspect="auto")
    source, target = ([in_one_line(word) for word in words] for words in (sources, targets))
    families = families_for([*source, *target])
    style: Any = {"parse_math": False} | ({} if families is None else {"family": families})
    shown = [[drawable(word, families) for word in words] for words in (source, target)]
    ax.set_xticks(range(n_columns), shown[0], rotation=90, **style)
    ax.set_yticks(range(n_rows), shown[1], **style)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelcolor=theme.text)
    ax.spines[:].set_color(theme.rule)
    return ax


def weights_html(sources: Words, targets: Words, weights: Weights, *, full_page: bool) -> str:
    """Return a table with a row for each target word and a column for each source word."""
    head = "".join(
        f'<th scope="col" style="writing-mode:vertical-rl">{isolated(word)}</th>'
        for word in sources
    )
    rows = "".join(
        f'<tr><th scope="row" style="text-align:end">{isolated(word)}</th>'
        + "".join(_cell(weight) for weight in row)
        + "</tr>"
        for word, row in zip(targets, weights.tolist(), strict=True)
    )
    table = (
        f'<table class="han-alignment"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return page(f'<div style="overflow-x:auto">{table}</div>', "alignment", full_page)


def _cell(weight: float) -> str:
    level = round(LEVELS * weight)
    shade = f' style="background:var(--attention-{level})"' if level else ""
    return f'<td{shade} title="{weight:.2f}">&nbsp;&nbsp;</td>'
