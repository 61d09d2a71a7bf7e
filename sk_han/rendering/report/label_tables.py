"""A report on several labels a document as tables, and as a figure of what is taken for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han.rendering.colors import theme_of
from sk_han.rendering.matrix import plot_matrix
from sk_han.rendering.protocols import Reported
from sk_han.utils.frames import frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST_LABELS = 25


def label_report_frame(report: Reported, what: str) -> DataFrame:
    """Return a part of a report as a pandas DataFrame."""
    if what not in ("documents", "classes", "scores", "confusion"):
        raise ValueError(
            f"what must be 'documents', 'classes', 'scores' or 'confusion'; got {what!r}."
        )
    pandas = import_optional("pandas", None, "MultilabelReport.to_frame")
    if what == "documents":
        return frame_of(document_columns(report))
    if what == "scores":
        return pandas.DataFrame(report.scores).T
    if what == "classes":
        found = report.label_scores
        names = found[0]._fields
        return frame_of({n: [getattr(scores, n) for scores in found] for n in names}).set_index(
            "label"
        )
    pairs = report.taken_for()
    names = ("missed", "given", "n_documents")
    return frame_of({name: [pair[i] for pair in pairs] for i, name in enumerate(names)})


def document_columns(report: Reported) -> dict[str, list[Any]]:
    """Return columns of all documents."""
    rows = range(report.n_documents)
    suspects = set(report.suspects[:, 0].tolist())
    columns: dict[str, list[Any]] = {
        "labels": [report.marked(row) for row in rows],
        "predicted": [report.answer(row) for row in rows],
        "right": report.right.tolist(),
        "looks_mislabelled": [row in suspects for row in rows],
    }
    if report.n_words is not None:
        columns["n_words"] = report.n_words.tolist()
    if report.texts is not None:
        columns["text"] = list(report.texts)
    return columns


def plot_taken(report: Reported, ax: Axes | None = None) -> Axes:
    """Draw numbers of documents by label missed and label wrongly given, shaded by row."""
    taken, last = report.taken, len(report.labels)
    order = np.argsort(-(taken.sum(axis=0) + taken.sum(axis=1))[:last], kind="stable")
    shown = [*sorted(order[:MOST_LABELS].tolist()), last]
    counts = taken[np.ix_(shown, shown)]
    shares = counts / np.maximum(taken.sum(axis=1)[shown], 1)[:, None]
    names = [*(report.labels[i] for i in shown[:-1])]
    ax = plot_matrix(
        shares, [*names, "none missed"], [*names, "none given"], ax, "MultilabelReport.plot"
    )
    color = theme_of(ax).text
    for row, column in np.argwhere(counts).tolist():
        number = f"{counts[row, column]:,}"
        ax.text(column, row, number, ha="center", va="center", size="small", color=color)
    ax.set_xlabel("wrongly given")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("missed")
    return ax
