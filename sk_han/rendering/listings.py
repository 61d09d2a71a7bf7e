"""The audit of labels as text and page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sk_han.rendering.explanation_html import document_markup
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import EXCERPT, entry, escaped, excerpt, isolated, more, page, table
from sk_han.rendering.protocols import Audited
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line

Write = Callable[[object], str]

FIRST = 100
_LINES, _IN_A_NOTEBOOK, _PAIRS, _CONFLICTS = 20, 20, 10, 20
_DOUBTS_ON_A_PAGE = 200
_HOW = (
    "Up to five models were fitted, each without a part of the documents, and predicted these. A "
    "doubt is an estimate of the chance that a label is wrong. It takes what the models are surest "
    "of for right, and cannot tell a wrong label from a mistake that they share: a person has to "
    "look. Of errors that go one way, as labels that are missing, too few may be expected."
)


def audit_text(audit: Audited) -> str:
    """Return the lines of `LabelAudit.to_text`."""
    lines = [
        f"{one.doubt:.3f}  document {one.document}: {_verdict(audit, one, in_one_line)}"
        f"{_beginning(_text_of(audit, one))}"
        for one in audit[:_LINES]
    ]
    rest = len(audit) - len(lines)
    left_out = [f"... and {rest:,} more"] if rest else []
    return "\n".join([*audit.notes, _expected(audit, in_one_line), *lines, *left_out])


def audit_page(audit: Audited, full_page: bool) -> str:
    """Return the page of an audit, or a fragment of one."""
    parts = []
    pairs = [found for found in audit.confused()[:_PAIRS] if found[2] >= 0.5]
    if pairs:
        rather, write = ("Rather", isolated) if audit.marked is None else ("Doubt", _mark)
        rows = [(isolated(label), write(other), f"{n:.0f}") for label, other, n in pairs]
        markup = table(("Label", rather, "Expected wrong"), rows)
        parts.append(f"<h2>Most confused labels</h2>{markup}")
    if audit.conflicts:
        parts.append(f"<h2>The same words with different labels</h2>{_conflicts(audit)}")
    parts.append("<h2>The most doubtful labels</h2>")
    if len(audit.explanations):
        parts.append(legend_markup(list(audit.explanations), "contributions"))
    shown = _DOUBTS_ON_A_PAGE if full_page else _IN_A_NOTEBOOK
    for place, one in enumerate(audit[:shown]):
        head = (
            f'<span class="han-number">{one.doubt:.3f}</span> document {one.document:,}: '
            f"{_verdict(audit, one, isolated)}"
        )
        content = None
        if place < len(audit.explanations):
            explained = document_markup(audit.explanations[place], "contributions")
            content = f'<div class="han-explained">{explained}</div>'
        parts.append(entry(head, _text_of(audit, one), content, is_open=not place))
    parts.append(more(len(audit) - shown))
    title = f"Labels of {counted(audit.n_documents)}"
    # How far the models can be asked comes first: where they say nothing, so does the number.
    notes = "".join(f"<p>{escaped(note)}</p>" for note in audit.notes)
    head = f"{notes}<p><b>{_expected(audit, isolated)}</b></p><p>{_HOW}</p>"
    content = f"{head}{''.join(parts)}"
    return page(f"<main>{content}</main>" if full_page else content, title, full_page, "report")


def _beginning(text: str | None) -> str:
    return "" if text is None else f"  {in_one_line(text)[:60]}"


def _text_of(audit: Audited, one: Any) -> str | None:
    return None if audit.texts is None else audit.texts[one.document]


def _expected(audit: Audited, write: Write) -> str:
    """Say how many labels are expected to be wrong, and which are most often."""
    first = min(FIRST, len(audit))
    n_wrong = f"{audit.n_expected():,.0f}"
    labels = "label is" if n_wrong == "1" else "labels are"
    found = f"{counted(audit.n_documents)}: about {n_wrong} {labels} expected to be wrong"
    if first:
        found += f", {audit.n_expected(first):,.0f} of the {first} most doubtful"
    for label, other, n in audit.confused()[:1]:
        rather = f" for {write(other)}" if audit.marked is None else f", {_mark(other)}"
        if n >= 1:
            found += f"; most often {write(label)}{rather} ({n:,.0f})"
    return f"{found}."


def _mark(marked: object) -> str:
    return "marked where it is wrong" if marked else "missing where it is right"


def _verdict(audit: Audited, one: Any, write: Write) -> str:
    if audit.marked is None:
        return f"labelled {write(one.label)}, rather {write(one.suggested)}"
    return f"{write(one.label)} is {'marked, rather not' if one.marked else 'missing, perhaps'}"


def _conflicts(audit: Audited) -> str:
    found = []
    for group in audit.conflicts[:_CONFLICTS]:
        rows = ", ".join(f"{row:,}" for row in group)
        beginning = "" if audit.texts is None else excerpt(audit.texts[group[0]], EXCERPT)
        found.append(f"<p>Documents {rows}: <bdi>{beginning}</bdi></p>")
    return "".join(found) + more(len(audit.conflicts) - _CONFLICTS)
