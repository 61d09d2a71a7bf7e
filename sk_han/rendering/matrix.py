"""A matrix with named rows and columns as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.colors import shades, themed_axes
from sk_han.utils.visible_text import in_one_line, shortened_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES_PER_NAME = 0.32
_LONGEST_NAME = 40  # characters
LARGEST_FIGURE = 40.0  # inches: beyond it, names of giants are drawn smaller


def plot_matrix(
    shares: NDArray[np.float64],
    rows: Sequence[Any],
    columns: Sequence[Any],
    ax: Axes | None,
    door: str,
) -> Axes:
    """Draw shares from 0 to 1, (n_rows, n_columns), as shades; `door` asks for matplotlib."""
    shown = shortened_apart([in_one_line(name) for name in (*columns, *rows)], _LONGEST_NAME)
    margin = 1.5 + 0.1 * max(map(len, shown), default=0)  # inches, for names beside the shades
    size = [min(margin + INCHES_PER_NAME * len(names), LARGEST_FIGURE) for names in (columns, rows)]
    ax, theme = themed_axes(ax, door, size)
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list(
        "attention", [theme.page, *shades(theme, "attention")]
    )
    if shares.size:
        ax.imshow(shares, cmap=scale, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(columns)), shown[: len(columns)], rotation=90, parse_math=False)
    ax.set_yticks(range(len(rows)), shown[len(columns) :], parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelcolor=theme.text)
    ax.spines[:].set_color(theme.rule)
    return ax
