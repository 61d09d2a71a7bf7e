"""The confusion matrix: on the page of a report, where it leads to documents, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.colors import theme_of
from sk_han.rendering.markup import escaped, fold, isolated, more
from sk_han.rendering.matrix import plot_matrix
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.report_documents import Bounds, entries_of, names_markup, prefix_of
from sk_han.rendering.shading import LEVELS
from sk_han.utils.counts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 25
UPRIGHT_FROM = 6  # labels, from which on their names stand upright above the columns
SMALL_FROM = 11
KINDS_OPEN = 12  # kinds of mistakes that have a line before the others are folded


def confusion(report: Reported, bounds: Bounds) -> str:
    """Return the confusion matrix, whose numbers lead to their documents."""
    shown = _labels_shown(report)
    cells = [(i, j) for i in shown for j in shown if report.confusion[i, j]]
    cells.sort(key=lambda cell: (cell[0] == cell[1], -report.confusion[cell]))
    limit = _fair(
        [int(report.confusion[cell]) for cell in cells], bounds.documents, bounds.in_a_list
    )
    left_out = ""
    if len(shown) < len(report.labels):
        n_wrong = int(report.n_documents - np.trace(report.confusion))
        n_shown = sum(int(report.confusion[i, j]) for i, j in cells if i != j)
        left_out = (
            f"<p>These are the {len(shown)} labels with the most mistakes, of "
            f"{len(report.labels):,}: {n_shown:,} of {n_wrong:,} mistakes are between two of "
            "them.</p>"
            if n_wrong
            else f"<p>These are {len(shown)} of {len(report.labels):,} labels.</p>"
        )
    wrong = [_cell(report, i, j, limit, bounds) for i, j in cells if i != j]
    right = [_cell(report, i, i, limit, bounds) for i, j in cells if i == j]
    lists = "".join(wrong[:KINDS_OPEN])
    if wrong[KINDS_OPEN:]:
        kinds = counted(len(wrong) - KINDS_OPEN, "more kind")
        lists += _folded(f"{kinds} of mistakes", wrong[KINDS_OPEN:])
    if right:
        lists += _folded("Documents predicted right", right)
    return (
        "<p>A row is a label, a column what the model predicted; the blue diagonal is right. The "
        "stronger the orange, the larger the share of the label that is lost there. Each number "
        "leads to its documents.</p>"
        f"{left_out}{_matrix(report, shown)}<h3>The documents behind the numbers</h3>{lists}"
    )


def plot_confusion(report: Reported, ax: Axes | None) -> Axes:
    """Draw numbers of documents by label and prediction, shaded by their share of the label."""
    shown = _labels_shown(report)
    columns = [j for j in shown if j < report.n_classes]
    counts = report.confusion[np.ix_(shown, columns)]
    of_label = np.maximum(report.confusion.sum(axis=1)[shown], 1)
    rows, predicted = ([report.labels[i] for i in labels] for labels in (shown, columns))
    ax = plot_matrix(counts / of_label[:, None], rows, predicted, ax, "Report.plot")
    return _with_numbers(ax, counts, "label", "predicted")


def plot_taken(report: Reported, ax: Axes | None) -> Axes:
    """Draw numbers of documents by label missed and label wrongly given, shaded by row."""
    taken, last = report.taken, len(report.labels)
    order = np.argsort(-(taken.sum(axis=0) + taken.sum(axis=1))[:last], kind="stable")
    shown = [*sorted(order[:MOST_LABELS].tolist()), last]
    counts = taken[np.ix_(shown, shown)]
    shares = counts / np.maximum(taken.sum(axis=1)[shown], 1)[:, None]
    names = [report.labels[i] for i in shown[:-1]]
    ax = plot_matrix(
        shares, [*names, "none missed"], [*names, "none given"], ax, "MultilabelReport.plot"
    )
    return _with_numbers(ax, counts, "missed", "wrongly given")


def _with_numbers(ax: Axes, counts: NDArray[np.int64], rows: str, columns: str) -> Axes:
    """Write counts into the cells of a matrix, and what its rows and columns are."""
    color = theme_of(ax).text
    for row, column in np.argwhere(counts).tolist():
        number = f"{counts[row, column]:,}"
        ax.text(column, row, number, ha="center", va="center", size="small", color=color)
    ax.set_xlabel(columns)
    ax.xaxis.set_label_position("top")
    ax.set_ylabel(rows)
    return ax


def _labels_shown(report: Reported) -> list[int]:
    """Return the labels with the most mistakes, those that occur somewhere."""
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    n_mistakes = wrong.sum(axis=0) + wrong.sum(axis=1)
    n_documents = report.confusion.sum(axis=0) + report.confusion.sum(axis=1)
    order = np.lexsort((-n_documents, -n_mistakes))
    found = order[:MOST_LABELS]
    occurring = found[(n_documents[found] > 0) | (found < report.n_classes)]
    return sorted(occurring.tolist())


def _fair(counts: Sequence[int], most: int, most_of_one: int) -> int:
    """Return how many documents each list may show, so that all together are at most `most`."""
    limit = 1
    while limit < most_of_one and sum(min(limit + 1, count) for count in counts) <= most:
        limit += 1
    return limit


def _matrix(report: Reported, shown: list[int]) -> str:
    prefix = prefix_of(report)
    columns = [j for j in shown if j < report.n_classes]
    kinds = "han-confusion" + (" han-upright" if len(columns) >= UPRIGHT_FROM else "")
    kinds += " han-many" if len(columns) >= SMALL_FROM else ""
    names = names_markup(report.labels)
    head = "".join(f'<th scope="col">{names[j]}</th>' for j in columns)
    n_of_label = np.maximum(report.confusion.sum(axis=1, keepdims=True), 1)
    shares = report.confusion / n_of_label
    worst = max(0.1, float((shares - np.diag(np.diag(shares))).max()))
    rows = []
    for i in shown:
        tds = []
        for j in columns:
            count = int(report.confusion[i, j])
            if not count:
                tds.append('<td class="han-none">\N{MIDDLE DOT}</td>')
                continue
            level = max(1, round(LEVELS * shares[i, j] / (1 if i == j else worst)))
            title = f"{report.labels[i]}, predicted {report.labels[j]}: {counted(count)}"
            tds.append(
                f'<td class="{"p" if i == j else "m"}{level}">'
                f'<a href="#{prefix}-{i}-{j}" title="{escaped(title)}">{count:,}</a></td>'
            )
        rows.append(f'<tr><th scope="row">{names[i]}</th>{"".join(tds)}</tr>')
    corner = '<th class="han-small">label \\ predicted</th>'
    return (
        f'<div class="han-wide"><table class="{kinds}"><thead><tr>{corner}{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _folded(title: str, parts: Sequence[str]) -> str:
    return fold(title, f"<div>{''.join(parts)}</div>", "han-fold")


def _cell(report: Reported, i: int, j: int, limit: int, bounds: Bounds) -> str:
    rows, label = report.rows(i, j), isolated(report.labels[i])
    if i == j:
        rows = rows[::-1]
        title, order = f"{label}, predicted right", "the least sure first"
    else:
        title, order = f"{label} taken for {isolated(report.labels[j])}", "the surest first"
    order = f", {order}" if len(rows) > 1 else ""
    return fold(
        f'{title} <span class="han-small">{counted(len(rows))}{order}</span>',
        f'<div id="{prefix_of(report)}-{i}-{j}">{entries_of(report, rows[:limit], bounds)}'
        f"{more(len(rows) - limit, 'document')}</div>",
        "han-fold",
    )
