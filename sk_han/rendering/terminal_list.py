"""Explanations of several documents as lines for a terminal."""

from __future__ import annotations

import shutil

from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import ExplainedDocuments, Quantity
from sk_han.rendering.shading import side_by_side
from sk_han.rendering.terminal import (
    NARROWEST,
    document_lines,
    head_of,
    legend_lines,
    terminal_has_color,
)
from sk_han.utils.argument_checks import check_count
from sk_han.utils.visible_text import in_one_line

__all__ = ["render_text_list"]


def render_text_list(
    explanations: ExplainedDocuments,
    *,
    show: Quantity = "contributions",
    color: bool | None = None,
    width: int | None = None,
    max_documents: int | None = 10,
) -> str:
    """Return the documents below each other, their classes below each other, and one legend.

    The parameters are those of `ExplanationList.to_text`.
    """
    if max_documents is not None:
        check_count("max_documents", max_documents)
    color = terminal_has_color() if color is None else color
    width = max(NARROWEST, shutil.get_terminal_size().columns if width is None else width)
    documents = list(explanations.by_document())
    shown = documents[:max_documents]
    blocks = []
    for document in shown:
        true = "" if document.y_true is None else f", true: {in_one_line(document.y_true[0])}"
        for explanation, shading in zip(document, side_by_side(list(document), show), strict=True):
            head = f"[{document.numbers[0]}] {head_of(explanation)}{true}"
            blocks.append("\n".join(document_lines(explanation, shading, color, width, head)))
    if shown:
        found = [explanation for document in shown for explanation in document]
        blocks.append("\n".join(legend_lines(found, show, color, width)))
    if len(shown) < len(documents):
        blocks.append(f"... and {counted(len(documents) - len(shown), 'more document')}")
    return "\n\n".join(blocks) or "No documents."
