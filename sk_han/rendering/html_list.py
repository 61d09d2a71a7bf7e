"""Explanations of several documents as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_han.explanation.document import DocumentExplanation, Quantity
from sk_han.rendering.html import document_markup
from sk_han.rendering.markup import escaped, isolated, page

__all__ = ["render_html_list"]

OPEN_DOCUMENTS = 3
EXCERPT = 100

_WRONG = '<span class="han-verdict">\N{BALLOT X} wrong</span>'


def render_html_list(
    explanations: Sequence[DocumentExplanation],
    *,
    y_true: Any = None,
    misclassified_first: bool = False,
    show: Quantity = "contributions",
    full_page: bool = True,
    n_left_out: int = 0,
) -> str:
    """Return several documents as HTML, the first three open and the others folded.

    The parameters are those of `ExplanationList.to_html`; `n_left_out` is the number of
    documents that are not shown, for a note at the end.
    """
    true = None if y_true is None else _checked(y_true, explanations)
    wrong = [
        true is not None and bool(explanation.predicted != true[i])
        for i, explanation in enumerate(explanations)
    ]
    order = list(range(len(explanations)))
    if misclassified_first:
        if true is None:
            raise ValueError(
                "misclassified_first=True needs to know which documents are misclassified; "
                "pass their true labels as y_true."
            )
        order.sort(key=lambda i: not wrong[i])
    blocks = [_count(wrong)] if true else []
    for position, i in enumerate(order):
        verdict = "" if true is None else _verdict(true[i], wrong[i])
        blocks.append(
            f'<details class="han-document{" han-wrong" if wrong[i] else ""}"'
            f"{' open' if position < OPEN_DOCUMENTS else ''}>"
            f"<summary>{_summary(explanations[i], i, verdict)}</summary>"
            f"{document_markup(explanations[i], show)}</details>"
        )
    if n_left_out:
        blocks.append(
            f'<p class="han-small">and {n_left_out} more documents; '
            "<code>to_html(path)</code> writes all of them.</p>"
        )
    title = f"{len(explanations)} document{'' if len(explanations) == 1 else 's'}"
    return page("".join(blocks) or '<p class="han-small">No documents.</p>', title, full_page)


def _checked(y_true: Any, explanations: Sequence[DocumentExplanation]) -> list[Any]:
    n_documents = len(explanations)
    labels = np.asarray(y_true, dtype=object)
    if labels.shape != (n_documents,):
        raise ValueError(
            f"y_true must hold one label for each of the {n_documents} documents, "
            f"shape ({n_documents},); got the shape {labels.shape}."
        )
    true: list[Any] = labels.tolist()
    for i, (label, explanation) in enumerate(zip(true, explanations, strict=True)):
        classes = explanation.classes.tolist()
        if label not in classes:
            raise ValueError(
                f"y_true[{i}] is {label!r}, which is none of the classes {classes}. Give labels of "
                "classes_, and leave out documents of classes that the classifier was not fitted "
                "on."
            )
    return true


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


def _summary(explanation: DocumentExplanation, number: int, verdict: str) -> str:
    excerpt = " ".join(explanation.text[: 2 * EXCERPT].split())
    cut = excerpt[:EXCERPT] + ("\N{HORIZONTAL ELLIPSIS}" if len(excerpt) > EXCERPT else "")
    return (
        f'<span class="han-number">{number}</span> <b>{isolated(explanation.predicted)}</b> '
        f'<span class="han-number">{explanation.predicted_probability:.3f}</span> {verdict}'
        f'<span class="han-small han-excerpt"><bdi>{escaped(cut)}</bdi></span>'
    )
