"""An audit of labels as text, page and figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sk_han.rendering.colors import themed_axes
from sk_han.rendering.explanation_html import document_markup
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import (
    escaped,
    excerpt,
    fold,
    isolated,
    page,
    table,
    whole_text,
)
from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import Audited
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST = 100
_LINES, _ON_A_PAGE, _IN_A_NOTEBOOK, _PAIRS, _CONFLICTS = 20, 200, 20, 10, 20
_EXCERPT = 160
_HOW = (
    "Five models were fitted, each without a fifth of the documents, and predicted these. A doubt "
    "is an estimate of the chance that a label is wrong. It takes what the models are surest of "
    "for right, and cannot tell a wrong label from a mistake that they share: a person has to look."
)


def audit_text(audit: Audited) -> str:
    """Return the lines of `LabelAudit.to_text`."""
    lines = [_summary(audit, in_one_line), *audit.notes]
    for number, entry in enumerate(audit):
        if number == _LINES:
            lines.append(f"... and {len(audit) - _LINES:,} more")
            break
        text = "" if audit.texts is None else f"  {in_one_line(audit.texts[entry.document])[:60]}"
        verdict = _verdict(audit, entry, in_one_line)
        lines.append(f"{entry.doubt:.3f}  document {entry.document}: {verdict}{text}")
    return "\n".join(lines)


def audit_page(audit: Audited, full_page: bool) -> str:
    """Return the page of an audit, or a fragment of one."""
    shown = _ON_A_PAGE if full_page else _IN_A_NOTEBOOK
    pairs = [found for found in audit.confused()[:_PAIRS] if found[2] >= 0.5]
    parts = [f"<p><b>{_summary(audit, isolated)}</b></p><p>{_HOW}</p>"]
    parts += [f"<p>{escaped(note)}</p>" for note in audit.notes]
    if pairs:
        rows = [(*_pair(audit, label, other), f"{n:.0f}") for label, other, n in pairs]
        head = ("Label", "Rather" if audit.marked is None else "Doubt", "Expected wrong")
        parts.append(f"<h2>Most confused labels</h2>{table(head, rows)}")
    if audit.conflicts:
        parts.append(f"<h2>The same words with different labels</h2>{_conflicts(audit)}")
    parts.append("<h2>The most doubtful labels</h2>")
    if len(audit.explanations):
        parts.append(legend_markup(list(audit.explanations), "contributions"))
    parts += [_entry(audit, place) for place in range(min(shown, len(audit)))]
    if len(audit) > shown:
        parts.append(f'<p class="han-small">and {len(audit) - shown:,} more</p>')
    content = "".join(parts)
    title = f"Labels of {counted(audit.n_documents)}"
    return page(f"<main>{content}</main>" if full_page else content, title, full_page, "report")


def plot_audit(audit: Audited, ax: Axes | None) -> Axes:
    """Draw how many of the first labels are expected to be wrong."""
    ax, theme = themed_axes(ax, "LabelAudit.plot", (6, 4))
    sums = np.concatenate([[0.0], np.cumsum(audit.doubts)])
    ax.plot(np.arange(len(sums)), sums, color=theme.toward[1])
    ax.set_xlabel("labels, the most doubtful first")
    ax.set_ylabel("of these expected to be wrong")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _summary(audit: Audited, write: Callable[[object], str]) -> str:
    first = min(FIRST, len(audit))
    n_wrong = f"{audit.n_expected():,.0f}"
    labels = "label is" if n_wrong == "1" else "labels are"
    found = f"{counted(audit.n_documents)}: about {n_wrong} {labels} expected to be wrong"
    if first:
        found += f", {audit.n_expected(first):,.0f} of the {first} most doubtful"
    pairs = audit.confused()[:1]
    if pairs and pairs[0][2] >= 1:
        label, other, n = pairs[0]
        named, rather = (write(part) for part in (label, other))
        if audit.marked is None:
            found += f"; most often {named} for {rather} ({n:,.0f})"
        else:
            found += f"; most often {named}, {_mark(other)} ({n:,.0f})"
    return f"{found}."


def _mark(marked: object) -> str:
    return "marked where it is wrong" if marked else "missing where it is right"


def _pair(audit: Audited, label: object, other: object) -> tuple[str, str]:
    return isolated(label), isolated(other) if audit.marked is None else _mark(other)


def _verdict(audit: Audited, entry: object, write: Callable[[object], str]) -> str:
    label = write(entry.label)  # type: ignore[attr-defined]
    if audit.marked is None:
        return f"labelled {label}, rather {write(entry.suggested)}"  # type: ignore[attr-defined]
    is_marked = entry.marked  # type: ignore[attr-defined]
    return f"{label} is marked, rather not" if is_marked else f"{label} is missing, perhaps"


def _entry(audit: Audited, place: int) -> str:
    """Return a label that opens to its document, explained if it is."""
    entry = audit[place]
    head = (
        f'<span class="han-number">{entry.doubt:.3f}</span> document {entry.document:,}: '
        f"{_verdict(audit, entry, isolated)}"
    )
    if place < len(audit.explanations):
        markup = document_markup(audit.explanations[place], "contributions")
        content = f'<div class="han-explained">{markup}</div>'
    elif audit.texts is not None:
        content = f'<div class="han-whole">{whole_text(audit.texts[entry.document])}</div>'
    else:
        return f'<div class="han-entry">{head}</div>'
    beginning = "" if audit.texts is None else excerpt(audit.texts[entry.document], _EXCERPT)
    told = f'{head} <span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>'
    return fold(told, content, "han-entry", is_open=not place)


def _conflicts(audit: Audited) -> str:
    found = []
    for group in audit.conflicts[:_CONFLICTS]:
        rows = ", ".join(f"{row:,}" for row in group)
        beginning = "" if audit.texts is None else excerpt(audit.texts[group[0]], _EXCERPT)
        found.append(f"<p>Documents {rows}: <bdi>{beginning}</bdi></p>")
    more = len(audit.conflicts) - _CONFLICTS
    return "".join(found) + (f'<p class="han-small">and {more:,} more</p>' if more > 0 else "")
