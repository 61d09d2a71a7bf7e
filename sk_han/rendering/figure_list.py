"""Explanations of several documents as one matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sk_han.rendering.explanation_figure import (
    GAP,
    LINE,
    SMALL,
    Sheet,
    broken,
    paint_head,
    paint_legend,
    paint_sentences,
    sheet_on,
)
from sk_han.rendering.notes import comparison, explains_its_answer, named, true_of
from sk_han.rendering.protocols import ExplainedDocuments, Quantity
from sk_han.rendering.shading import Shading, side_by_side
from sk_han.utils.argument_checks import check_count
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches, and points between two classes.
WIDTH, WIDTH_OF_CLASS, GUTTER = 8.0, 4.5, 18.0
MOST_CLASSES = 10


def plot_explanations(
    explanations: ExplainedDocuments,
    ax: Axes | None,
    *,
    show: Quantity,
    max_documents: int,
    max_sentences: int,
) -> Axes:
    """Draw documents below each other, and the classes of one document side by side.

    The parameters are those of `ExplanationList.plot`. On given axes, documents that do not fit
    are left out and counted, the first one excepted.
    """
    check_count("max_documents", max_documents)
    check_count("max_sentences", max_sentences)
    documents = list(explanations.by_document())
    shown = documents[:max_documents]
    found = [explanation for document in shown for explanation in document]
    n_columns = max((len(document) for document in shown), default=1)
    if n_columns > MOST_CLASSES:
        raise ValueError(
            f"A figure has room for {MOST_CLASSES} classes of a document side by side; here are "
            f"{n_columns}. Choose some by explain_classes(..., classes=[...]), or use to_html()."
        )
    width = WIDTH if n_columns == 1 else WIDTH_OF_CLASS * n_columns
    sheet = sheet_on(ax, width, found, "ExplanationList.plot")
    drawn = 0
    for document in shown:
        before = sheet.state()
        shadings = side_by_side(list(document), show)
        _paint_document(sheet, document, shadings, max_sentences)
        if drawn and sheet.y > sheet.height - 4 * LINE:  # room for the legend
            sheet.undo(before)
            break
        sheet.y += 2 * GAP
        drawn += 1
    left_out = len(documents) - drawn
    if left_out or not documents:
        note = counted(left_out, "more document")
        sheet.text(0, note if documents else "No documents.", color=sheet.theme.muted)
        sheet.y += LINE
    if found:
        paint_legend(sheet, found, side_by_side(list(shown[0]), show)[0])
    return sheet.finished()


def _paint_document(
    sheet: Sheet, document: ExplainedDocuments, shadings: list[Shading], max_sentences: int
) -> None:
    first = document[0]
    marked = true_of(document)
    true = "" if document.y_true is None else f"true {named(marked, in_one_line)}, "
    paint_head(sheet, first, f"{document.numbers[0]}  {true}", marked)
    width = (sheet.width - GUTTER * (len(document) - 1)) / len(document)
    columns = [
        Sheet(
            sheet.ax,
            sheet.height,
            left=i * (width + GUTTER),
            width=width,
            families=sheet.families,
        )
        for i in range(len(document))
    ]
    if len(document) > 1 or not explains_its_answer(first):
        for column, explanation in zip(columns, document, strict=True):
            column.y = sheet.y - GAP
            title = f"for or against {comparison(explanation, in_one_line)}"
            for line in broken(column, title, size=SMALL):
                column.text(0, line, size=SMALL)
                column.y += LINE
        sheet.y = max(column.y for column in columns) + GAP
    paint_sentences(sheet, columns, first, shadings, max_sentences)
