"""The confusion matrix of a report as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sk_han.rendering.colors import theme_of
from sk_han.rendering.matrix import plot_matrix
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.confusion import labels_shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_confusion"]


def plot_confusion(report: Reported, ax: Axes | None = None) -> Axes:
    """Draw numbers of documents by label and prediction, shaded by their share of the label."""
    shown = labels_shown(report)
    columns = [j for j in shown if j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)
    rows, predicted = ([report.labels[i] for i in labels] for labels in (shown, columns))
    ax = plot_matrix(counts / of_label[:, None], rows, predicted, ax, "Report.plot")
    color = theme_of(ax).text
    for row, column in np.argwhere(counts).tolist():
        number = f"{counts[row, column]:,}"
        ax.text(column, row, number, ha="center", va="center", size="small", color=color)
    ax.set_xlabel("predicted")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("label")
    return ax
