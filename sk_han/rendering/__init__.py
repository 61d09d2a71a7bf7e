"""Explanations as HTML, terminal text, figures and tables: functions of an explanation alone."""

from sk_han.rendering.alignment import plot_alignment
from sk_han.rendering.figure import plot_explanation
from sk_han.rendering.history import plot_history

__all__ = ["plot_alignment", "plot_explanation", "plot_history"]
