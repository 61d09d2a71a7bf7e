"""Explanations as HTML, terminal text, figures and tables: functions of data."""

from sk_han.rendering.explanation_figure import plot_explanation
from sk_han.rendering.history import plot_history

__all__ = [
    "plot_explanation",
    "plot_history",
]
