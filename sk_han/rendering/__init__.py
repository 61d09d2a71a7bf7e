"""Explanations as HTML, terminal text, figures and tables: functions of data."""

from sk_han.rendering.explanation_figure import plot_explanation
from sk_han.rendering.fonts import families_for
from sk_han.rendering.history import plot_history

__all__ = [
    "families_for",
    "plot_explanation",
    "plot_history",
]
