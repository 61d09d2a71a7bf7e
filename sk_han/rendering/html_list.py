"""Explanations of several documents as one HTML page."""

from __future__ import annotations

from typing import Any

from sk_han.rendering.html import classes_markup, document_markup
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import escaped, isolated, page
from sk_han.rendering.protocols import ExplainedDocuments, Quantity

__all__ = ["render_html_list"]

OPEN_DOCUMENTS = 3
EXCERPT = 100

_WRONG = '<span class="han-verdict">\N{BALLOT X} wrong</span>'


def render_html_list(
    explanations: ExplainedDocuments,
    *,
    misclassified_first: bool = False,
    show: Quantity = "contributions",
    full_page: bool = True,
    max_documents: int | None = None,
) -> str:
    """Return several documents as HTML, the first three open and the others folded.

    The parameters are those of `ExplanationList.to_html`. Of more than `max_documents`, the first
    ones are shown, and a note at the end counts the others.
    """
    documents = list(explanations.by_document())
    wrong = [_is_wrong(document) for document in documents]
    order = list(range(len(documents)))
    if misclassified_first:
        order.sort(key=lambda i: not wrong[i])
    shown = order[:max_documents]
    blocks = []
    if documents:
        blocks.append(legend_markup([e for i in shown for e in documents[i]], show))
    if documents and explanations.y_true is not None:
        blocks.append(_count(wrong))
    for position, i in enumerate(shown):
        blocks.append(
            f'<details class="han-document{" han-wrong" if wrong[i] else ""}"'
            f"{' open' if position < OPEN_DOCUMENTS else ''}>"
            f"<summary>{_summary(documents[i], wrong[i])}</summary>"
            f"{_markup(documents[i], show)}</details>"
        )
    if len(shown) < len(order):
        blocks.append(
            f'<p class="han-small">and {len(order) - len(shown)} more documents; '
            "<code>to_html(path)</code> writes all of them.</p>"
        )
    title = f"{len(documents)} document{'' if len(documents) == 1 else 's'}"
    return page("".join(blocks) or '<p class="han-small">No documents.</p>', title, full_page)


def _is_wrong(document: ExplainedDocuments) -> bool:
    return document.y_true is not None and bool(document[0].predicted != document.y_true[0])


def _markup(document: ExplainedDocuments, show: Quantity) -> str:
    if len(document) == 1:
        return document_markup(document[0], show)
    return classes_markup(list(document), show)


def _count(wrong: list[bool]) -> str:
    n_wrong = sum(wrong)
    mark = f", marked {_WRONG}" if n_wrong else ""
    return (
        f'<p class="han-count">{n_wrong} of {len(wrong)} documents misclassified '
        f"({n_wrong / len(wrong):.1%}){mark}</p>"
    )


def _verdict(true: Any, is_wrong: bool) -> str:
    mark = f"{_WRONG} " if is_wrong else ""
    return f'{mark}<span class="han-small">true: {isolated(true)}</span> '


def _summary(document: ExplainedDocuments, is_wrong: bool) -> str:
    explanation = document[0]
    verdict = "" if document.y_true is None else _verdict(document.y_true[0], is_wrong)
    excerpt = " ".join(explanation.text[: 2 * EXCERPT].split())
    cut = excerpt[:EXCERPT] + ("\N{HORIZONTAL ELLIPSIS}" if len(excerpt) > EXCERPT else "")
    return (
        f'<span class="han-number">{document.numbers[0]}</span> '
        f"<b>{isolated(explanation.predicted)}</b> "
        f'<span class="han-number">{explanation.predicted_probability:.3f}</span> {verdict}'
        f'<span class="han-small han-excerpt"><bdi>{escaped(cut)}</bdi></span>'
    )
