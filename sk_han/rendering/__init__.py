"""Explanations as HTML, terminal text, figures and tables: functions of data."""

from sk_han.rendering.figures import plot_explanation, plot_history

__all__ = [
    "plot_explanation",
    "plot_history",
]
