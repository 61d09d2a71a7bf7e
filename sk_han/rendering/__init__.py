"""Explanations as HTML, terminal text, figures and tables; tagged sentences: functions of data."""

from sk_han.rendering.alignment import plot_alignment
from sk_han.rendering.figure import plot_explanation
from sk_han.rendering.fonts import families_for
from sk_han.rendering.history import plot_history
from sk_han.rendering.tags import tagged_html, tagged_text

__all__ = [
    "families_for",
    "plot_alignment",
    "plot_explanation",
    "plot_history",
    "tagged_html",
    "tagged_text",
]
