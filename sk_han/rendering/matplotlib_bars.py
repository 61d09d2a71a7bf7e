"""A few named numbers as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sk_han.rendering.colors import themed_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES_PER_BAR = 0.32


def plot_bars(bars: Mapping[str, float], label: str, ax: Axes | None, door: str) -> Axes:
    """Draw a bar for each number, with its name and value; `door` is named if matplotlib lacks."""
    ax, theme = themed_axes(ax, door, (6, 1 + INCHES_PER_BAR * len(bars)))
    drawn = ax.barh(range(len(bars)), list(bars.values()), color=theme.toward[1], height=0.7)
    ax.bar_label(drawn, [f"{value:,.4g}" for value in bars.values()], padding=3, size="small")
    ax.set_yticks(range(len(bars)), list(bars), parse_math=False)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(label)
    return ax
