"""A faithfulness report as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sk_han.rendering.colors import themed_axes
from sk_han.rendering.fonts import written
from sk_han.rendering.protocols import Measured
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_faithfulness(report: Measured, ax: Axes | None = None) -> Axes:
    """Draw comprehensiveness and sufficiency of each method, with their intervals."""
    size = 8, 1.2 + 0.4 * len(report.methods)
    ax, theme = themed_axes(ax, "FaithfulnessReport.plot", size)
    rows = np.arange(len(report.methods))
    # Marker and offset distinguish the two without colour.
    for metric, color, marker, shift, better in (
        ("comprehensiveness", theme.toward[1], "o", -0.12, "higher"),
        ("sufficiency", theme.against[1], "s", 0.12, "lower"),
    ):
        means = np.array([report.means[metric][method] for method in report.methods])
        intervals = np.array([report.intervals[metric][method] for method in report.methods])
        ax.errorbar(
            means,
            rows + shift,
            # A percentile interval of a skewed sample may miss its own mean.
            xerr=np.maximum([means - intervals[:, 0], intervals[:, 1] - means], 0),
            fmt=marker,
            color=color,
            capsize=3,
            label=f"{metric} ({better} is better)",
        )
    ax.axvline(0, color=theme.rule, zorder=0)
    names, style = written([in_one_line(method) for method in report.methods])
    ax.set_yticks(rows, names, **style)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("fall in the probability of the likeliest class or label")
    ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return ax
